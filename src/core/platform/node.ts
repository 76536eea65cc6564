// Owns: hashes, bytes, secrets and Ajv as Node provides them. `browser.ts` exports the same names; the field `browser` of package.json
// selects it.

import { isAscii, isUtf8 } from "node:buffer";
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { createRequire } from "node:module";
import type { Ajv } from "ajv";
import type { Ajv2019 } from "ajv/dist/2019.js";
import type { Ajv2020 } from "ajv/dist/2020.js";

/** In lower-case hex. */
export const sha256Hex = (text: string): string => hash("sha256", text, "hex");

export const sha256Base64url = (text: string): string => hash("sha256", text, "base64url");

/** HMAC-SHA-256 over the parts, one after the other. */
export function hmacSha256(key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Takes the same time for all arrays of one length. */
export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => one.length === other.length && timingSafeEqual(one, other);

/** Random bytes for keys. Not injectable, since no tested behaviour may depend on them. */
export const secretBytes = (count: number): Uint8Array => randomBytes(count);

export const base64urlOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");

/** Decodes base64 or base64url, and ignores other characters. */
export const fromBase64 = (text: string): Uint8Array => Buffer.from(text, "base64");

export const fromHex = (text: string): Uint8Array => Buffer.from(text, "hex");

export const utf8Of = (text: string): Uint8Array => Buffer.from(text);

export const utf8Length = (text: string): number => Buffer.byteLength(text);

/** The text of UTF-8 bytes. Undefined: they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isAscii(bytes)) return buffer.toString("latin1");
  return isUtf8(bytes) ? buffer.toString("utf8") : undefined;
}

/** Runs after all callbacks that are ready now. */
export const soon = (run: () => void): void => void setImmediate(run);

/** Ajv for 2020-12. Loaded with the first plain JSON Schema: most servers have none, and it takes a third of the start-up time. */
export function loadAjv(): typeof Ajv2020 {
  const { Ajv2020: loaded }: { readonly Ajv2020: typeof Ajv2020 } = createRequire(import.meta.url)("ajv/dist/2020.js");
  return loaded;
}

/** The same for 2019-09. */
export function loadAjv2019(): typeof Ajv2019 {
  const { Ajv2019: loaded }: { readonly Ajv2019: typeof Ajv2019 } = createRequire(import.meta.url)("ajv/dist/2019.js");
  return loaded;
}

/** The same for draft 7. */
export function loadAjvDraft7(): typeof Ajv {
  const { Ajv: loaded }: { readonly Ajv: typeof Ajv } = createRequire(import.meta.url)("ajv");
  return loaded;
}
