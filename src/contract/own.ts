/** What is there under that key, and not inherited by every object. */
export const own = <K extends string, T>(record: Readonly<Record<K, T>> | undefined, key: K): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
