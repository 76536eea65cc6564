import type { Json } from "../../../core/contract/index.ts";

// JSON.parse takes any depth, but JSON.stringify recurses, and an actor's data may be too deep for it.
const MAX_DEPTH = 100;

/** Whether it is nested at most 100 levels deep. */
export function isShallow(value: Json): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return false;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return true;
}
