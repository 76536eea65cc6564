import type { WitValue } from "../wit.ts";

/** What a guest gave, by its type. The worker lifted it by the world's own types, so anything else is our own mistake. */

const typeError = (what: string): TypeError => new TypeError(`An argument is no ${what}: the world's table and this import disagree.`);

export function asText(value: WitValue): string {
  if (typeof value !== "string") throw typeError("string");
  return value;
}

export function asBytes(value: WitValue): Uint8Array {
  if (!(value instanceof Uint8Array)) throw typeError("list<u8>");
  return value;
}

export function asOptionalBytes(value: WitValue): Uint8Array | undefined {
  return value === undefined ? undefined : asBytes(value);
}

export function asU64(value: WitValue): bigint {
  if (typeof value !== "bigint") throw typeError("u64");
  return value;
}

export const isList = (value: WitValue): value is readonly WitValue[] => Array.isArray(value);

export function asRecord(value: WitValue): { readonly [name: string]: WitValue } {
  if (typeof value !== "object" || value instanceof Uint8Array || isList(value)) throw typeError("record");
  return value;
}

export const base64 = (of: Uint8Array): string => Buffer.from(of.buffer, of.byteOffset, of.byteLength).toString("base64");

export const ok = (value?: WitValue): { readonly ok: WitValue } => ({ ok: value });

/** What an import gives its guest. */
export interface ImportResult {
  readonly result: WitValue;
  /** It did something outside that cannot be undone. */
  readonly lasting?: boolean;
}
