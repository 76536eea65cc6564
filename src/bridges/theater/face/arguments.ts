import { type JsonObject, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { decodeBase64 } from "./base64.ts";
import { InvalidArgument } from "./invalid.ts";

// Ids have 36 characters and names a few more, so nothing longer can match.
const ID_LENGTH = 1_024;

// Own properties only: a client may name an argument `constructor`.
const argument = (args: JsonObject, name: string): Json | undefined => (Object.hasOwn(args, name) ? args[name] : undefined);

export function optionalText(args: JsonObject, name: string, maxLength = ID_LENGTH): string | undefined {
  const value = argument(args, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new InvalidArgument(`\`${name}\` is text.`);
  if (value.length === 0 || value.length > maxLength) throw new InvalidArgument(`\`${name}\` is text of 1 to ${maxLength} characters.`);
  return value;
}

export function text(args: JsonObject, name: string, maxLength = ID_LENGTH): string {
  const value = optionalText(args, name, maxLength);
  if (value === undefined) throw new InvalidArgument(`\`${name}\` is missing: it is text of 1 to ${maxLength} characters.`);
  return value;
}

export function optionalBytes(args: JsonObject, name: string, maxBytes: number): Uint8Array | undefined {
  const value = argument(args, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new InvalidArgument(`\`${name}\` is text: the bytes in base64.`);
  return decodeBase64(name, value, maxBytes);
}

export function bytes(args: JsonObject, name: string, maxBytes: number): Uint8Array {
  const value = optionalBytes(args, name, maxBytes);
  if (value === undefined) throw new InvalidArgument(`\`${name}\` is missing: it is text, the bytes in base64.`);
  return value;
}

/** A whole number from `least` to `most`; `usual` if it is absent. */
export function wholeNumber(args: JsonObject, name: string, minimum: number, maximum: number, fallback: number): number {
  const value = argument(args, name);
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum)
    throw new InvalidArgument(`\`${name}\` is a whole number from ${minimum} to ${maximum}.`);
  return value;
}

export function optionalObject(args: JsonObject, name: string): JsonObject | undefined {
  const value = argument(args, name);
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) throw new InvalidArgument(`\`${name}\` is an object.`);
  return value;
}
