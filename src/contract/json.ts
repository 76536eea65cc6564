/** What a mailbox, a disk and a wire all carry alike. Bytes travel as base64 text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object whose keys nobody knows ahead. */
export type Bag = Readonly<Record<string, Json>>;

/** A JSON object, not an array. */
export function isBag(value: unknown): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
