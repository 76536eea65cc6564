/** Far deeper than a state or a message may be; what lies below is left open, and refused as too deep. */
export const DEEPEST = 1_000;

/**
 * Freezes deeply, in place, and returns the same. It need not be JSON yet: cycles end, and what is neither a plain object nor a
 * list is left as it is.
 */
export function freezeDeep<T>(value: T): T {
  if (!isFreezable(value)) return value;
  Object.freeze(value);
  if (isDeep(value)) freezeInside(value, undefined, 0);
  return value;
}

// Asked first: a function that calls itself is compiled into its caller several times over, and leaves no room for others.
function isDeep(value: Inside): boolean {
  for (const key in value) if (typeof value[key] === "object" && value[key] !== null) return true;
  return false;
}

// An author's own frozen value may hold some that are not. `met` ends cycles among what is frozen, and most values need none.
function freezeInside(value: Inside, seen: Set<object> | undefined, depth: number): Set<object> | undefined {
  let met = seen;
  // Not its keys as a list: this runs for every turn, and JSON inherits none.
  for (const key in value) {
    const item = value[key];
    if (!isFreezable(item)) continue;
    if (Object.isFrozen(item)) {
      met ??= new Set();
      if (met.has(item)) continue;
      met.add(item);
    } else Object.freeze(item);
    if (depth < DEEPEST) met = freezeInside(item, met, depth + 1);
  }
  return met;
}

type Inside = Readonly<Record<string, unknown>>;

function isFreezable(value: unknown): value is Inside {
  if (typeof value !== "object" || value === null) return false;
  // Not the prototypes themselves, which are the whole process's.
  if (Array.isArray(value)) return value !== Array.prototype;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || (prototype === null && value !== Object.prototype);
}
