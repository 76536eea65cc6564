/** What a mailbox, a disk and a wire all carry alike. Bytes travel as base64 text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object whose keys nobody knows ahead. */
export type Bag = Readonly<Record<string, Json>>;
