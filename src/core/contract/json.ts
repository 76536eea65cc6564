/** What a mailbox, a disk and a wire all carry alike. Bytes travel as base64 text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object whose keys nobody knows ahead. */
export type Bag = Readonly<Record<string, Json>>;

/** Deeply read-only: what an author reads of a state, and may give back as a result. */
export type Frozen<T> = T extends (...args: never) => unknown ? T : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/** A JSON object, not an array. */
export function isBag(value: unknown): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An array that nobody changes, of what was in the value: `Array.isArray` says `any[]`. */
export function isList(value: Json | undefined): value is readonly Json[];
export function isList(value: unknown): value is readonly unknown[];
export function isList(value: unknown): boolean {
  return Array.isArray(value);
}
