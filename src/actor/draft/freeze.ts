// Far deeper than a state may be; what lies below is left open, and refused as too deep.
export const DEEPEST = 1_000;

/** Freezes deeply, in place, and returns the same object. */
export function freezeDeep<T extends object>(value: T): T {
  walk(value, undefined, 0);
  return value;
}

// An author's own frozen value may hold some that are not: only `met`, which ends cycles too, stops the walk there.
function walk(value: object, seen: Set<object> | undefined, depth: number): Set<object> | undefined {
  let met = seen;
  if (Object.isFrozen(value)) {
    met ??= new Set();
    if (met.has(value)) return met;
    met.add(value);
  } else Object.freeze(value);
  if (depth === DEEPEST) return met;
  for (const key of Object.keys(value)) {
    const item: unknown = Reflect.get(value, key);
    if (typeof item === "object" && item !== null) met = walk(item, met, depth + 1);
  }
  return met;
}
