/** An object or a list, by its keys: a list's are its places, as text. */
export type Row = Record<PropertyKey, unknown>;

/** Every object is one. */
function isRow(_value: object): _value is Row {
  return true;
}

export function rowOf(value: object): Row {
  if (isRow(value)) return value;
  throw new TypeError("No object.");
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Made by a literal, JSON.parse or a spread; the prototypes themselves were not. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) return true;
  return prototype === Object.prototype ? value !== Array.prototype : prototype === null && value !== Object.prototype;
}

/** The same, open, with what no text carries: the commit is to find it. */
export function opened(value: Row): Row {
  if (Array.isArray(value)) return rowOf(Object.assign([], value, { length: value.length }));
  const open: Row = {};
  for (const key of Reflect.ownKeys(value)) {
    const found = { ...Reflect.getOwnPropertyDescriptor(value, key), configurable: true };
    Object.defineProperty(open, key, found.get === undefined ? { ...found, writable: true } : found);
  }
  return open;
}
