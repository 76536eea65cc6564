// Owns: the names of `node.ts` for browsers, with two small libraries. Turns and replies are synchronous, so WebCrypto, which is not, is
// of no use.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";

const encoder = new TextEncoder();

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const sha256Hex = (text: string): string => hexOf(sha256(encoder.encode(text)));

export const sha256Base64url = (text: string): string => base64urlOf(sha256(encoder.encode(text)));

export function hmacSha256(key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const mac = hmac.create(sha256, key);
  for (const part of parts) mac.update(typeof part === "string" ? encoder.encode(part) : part);
  return mac.digest();
}

export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let different = 0;
  for (const [at, byte] of one.entries()) different |= byte ^ (other[at] ?? 0);
  return different === 0;
}

export const secretBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

export function base64urlOf(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function fromBase64(text: string): Uint8Array {
  const plain = text
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replaceAll(/[^A-Za-z0-9+/]/g, "");
  return Uint8Array.from(atob(plain.length % 4 === 1 ? plain.slice(0, -1) : plain), (character) => character.charCodeAt(0));
}

export const fromHex = (text: string): Uint8Array =>
  Uint8Array.from({ length: Math.floor(text.length / 2) }, (_, at) => Number.parseInt(text.slice(at * 2, at * 2 + 2), 16));

export const utf8Of = (text: string): Uint8Array => encoder.encode(text);

export const utf8Length = (text: string): number => encoder.encode(text).length;

export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export const soon = (run: () => void): void => void setTimeout(run);

export const loadAjv = (): typeof Ajv2020 => Ajv2020;

export const loadAjv2019 = (): typeof Ajv2019 => Ajv2019;

export const loadAjvDraft7 = (): typeof Ajv => Ajv;
