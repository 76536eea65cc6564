// Owns: checked access to a tool's arguments, base64 among them. Does not own: their schemas (tool.ts).
import { isJsonObject, type JsonObject } from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";

/** The arguments are invalid. The message says what to send instead. */
export class InvalidArgument extends Error {
  override readonly name = "InvalidArgument";
}

export const encodeBase64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/** Accepts canonical base64 only: a guess would deliver bytes to an actor that no client sent. Throws `InvalidArgument`. */
export function decodeBase64(argument: string, text: string, maxBytes: number): Uint8Array {
  const invalidBase64 = (why: string): InvalidArgument =>
    new InvalidArgument(
      `\`${argument}\` is not base64: ${why}. Give the bytes in standard base64 (RFC 4648, section 4), padded with "=" to a multiple of four characters; {"n":1} is eyJuIjoxfQ==.`,
    );
  if (text.length > Math.ceil(maxBytes / 3) * 4)
    throw new InvalidArgument(`\`${argument}\` is longer than ${maxBytes} bytes: send less at a time.`);
  const body = text.replace(/={1,2}$/, "");
  const invalidCharacter = /[^A-Za-z0-9+/]/u.exec(body);
  if (invalidCharacter !== null) {
    const [character] = invalidCharacter;
    const hint = character === "-" || character === "_" ? " (that is base64url: write + for -, and / for _)" : "";
    throw invalidBase64(`it has ${JSON.stringify(character)} at ${invalidCharacter.index}${hint}`);
  }
  if (text.length % 4 !== 0) throw invalidBase64(`its length, ${text.length}, is no multiple of four`);
  const bytes = Buffer.from(text, "base64");
  // Bits beyond the last byte are zero in canonical base64 only.
  const end = text.slice(-4);
  if (Buffer.from(end, "base64").toString("base64") !== end) throw invalidBase64("its last character holds bits that belong to no byte");
  if (bytes.length > maxBytes) throw new InvalidArgument(`\`${argument}\` is longer than ${maxBytes} bytes: send less at a time.`);
  return bytes;
}

// Ids have 36 characters and names a few more, so nothing longer can match.
const ID_LENGTH = 1_024;

export function optionalText(args: JsonObject, name: string, maxLength = ID_LENGTH): string | undefined {
  const value = getOwn(args, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new InvalidArgument(`\`${name}\` is text.`);
  if (value.length === 0 || value.length > maxLength) throw new InvalidArgument(`\`${name}\` is text of 1 to ${maxLength} characters.`);
  return value;
}

export function requiredText(args: JsonObject, name: string, maxLength = ID_LENGTH): string {
  const value = optionalText(args, name, maxLength);
  if (value === undefined) throw new InvalidArgument(`\`${name}\` is missing: it is text of 1 to ${maxLength} characters.`);
  return value;
}

export function optionalBytes(args: JsonObject, name: string, maxBytes: number): Uint8Array | undefined {
  const value = getOwn(args, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new InvalidArgument(`\`${name}\` is text: the bytes in base64.`);
  return decodeBase64(name, value, maxBytes);
}

export function requiredBytes(args: JsonObject, name: string, maxBytes: number): Uint8Array {
  const value = optionalBytes(args, name, maxBytes);
  if (value === undefined) throw new InvalidArgument(`\`${name}\` is missing: it is text, the bytes in base64.`);
  return value;
}

/** A whole number from `minimum` to `maximum`; `fallback` if it is absent. */
export function wholeNumber(args: JsonObject, name: string, minimum: number, maximum: number, fallback: number): number {
  const value = getOwn(args, name);
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum)
    throw new InvalidArgument(`\`${name}\` is a whole number from ${minimum} to ${maximum}.`);
  return value;
}

export function optionalObject(args: JsonObject, name: string): JsonObject | undefined {
  const value = getOwn(args, name);
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) throw new InvalidArgument(`\`${name}\` is an object.`);
  return value;
}
