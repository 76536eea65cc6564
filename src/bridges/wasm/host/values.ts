import type { WitValue } from "../wit.ts";

/** What a guest gave, by its type. The worker lifted it by the world's own types, so anything else is our own mistake. */

const wrong = (what: string): TypeError => new TypeError(`An argument is no ${what}: the world's table and this import disagree.`);

export function text(value: WitValue): string {
  if (typeof value !== "string") throw wrong("string");
  return value;
}

export function bytes(value: WitValue): Uint8Array {
  if (!(value instanceof Uint8Array)) throw wrong("list<u8>");
  return value;
}

export function someBytes(value: WitValue): Uint8Array | undefined {
  return value === undefined ? undefined : bytes(value);
}

export function u64(value: WitValue): bigint {
  if (typeof value !== "bigint") throw wrong("u64");
  return value;
}

export const isList = (value: WitValue): value is readonly WitValue[] => Array.isArray(value);

export function record(value: WitValue): { readonly [name: string]: WitValue } {
  if (typeof value !== "object" || value instanceof Uint8Array || isList(value)) throw wrong("record");
  return value;
}

export const base64 = (of: Uint8Array): string => Buffer.from(of.buffer, of.byteOffset, of.byteLength).toString("base64");

export const ok = (value?: WitValue): { readonly ok: WitValue } => ({ ok: value });

/** What an import gives its guest. */
export interface Given {
  readonly result: WitValue;
  /** It did something outside that cannot be undone. */
  readonly lasting?: boolean;
}
