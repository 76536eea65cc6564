// Owns: JSON Pointers (RFC 6901). Does not own: what they lead to.

/** One step, to be appended to a pointer. */
export const pointerStep = (key: string): string => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The keys of a pointer; none of the root. */
export const pointerSteps = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
