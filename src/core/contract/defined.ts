/** Those members that have a value: where a property may be absent, it may not be undefined. For options and answers, not for what runs in a turn. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> };
export function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
