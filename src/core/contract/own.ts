/** What is there under that key, and not inherited by every object. */
export const own = <K extends string, T>(record: Readonly<Record<K, T>> | undefined, key: K): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;

type KeyOf<T> = T extends unknown ? keyof T : never;

/** Which member of a union it is, by a key of its own: `key in value` would also find one that some code added to `Object.prototype`. */
export function hasOwn<T extends object, K extends KeyOf<T>>(value: T, key: K): value is Extract<T, Readonly<Record<K, unknown>>> {
  return Object.hasOwn(value, key);
}
