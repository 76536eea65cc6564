// Owns: reading the arguments of imports by type, and encoding results.
import { isRecord, type WitValue } from "../wit.ts";

// The worker has already converted the arguments by their WIT types, so another type here is a bug of ours.

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

export function asRecord(value: WitValue): { readonly [name: string]: WitValue } {
  if (!isRecord(value)) throw typeError("record");
  return value;
}

export const base64 = (of: Uint8Array): string => Buffer.from(of.buffer, of.byteOffset, of.byteLength).toString("base64");

export const ok = (value?: WitValue): { readonly ok: WitValue } => ({ ok: value });
