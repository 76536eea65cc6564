/** As no text of a number, a boolean or null is longer. */
const SHORT = 25;

/** By how many bytes JSON grows at most by a text, a number, a boolean or null. Undefined: it is none of these, or no JSON. */
export function growthBy(value: unknown): number | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? SHORT : undefined;
    case "string":
      return value.isWellFormed() ? value.length * 6 + 2 : undefined;
    case "boolean":
      return SHORT;
    default:
      return value === null ? SHORT : undefined;
  }
}
