import { type Json, isList } from "../contract/index.ts";
import { SHORT_BYTES, textBytes } from "../contract/internal.ts";

/** Never less than the bytes of the value's text, and far cheaper than writing it. */
export function atMostBytes(value: Json | undefined): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value !== "object" || value === null) return SHORT_BYTES;
  let bytes = 2;
  if (isList(value)) for (let index = 0; index < value.length; index += 1) bytes += atMostBytes(value[index]) + 1;
  // Not its keys as a list: this runs for every turn, and JSON inherits none.
  else for (const key in value) bytes += textBytes(key) + 2 + atMostBytes(value[key]);
  return bytes;
}

export const exactBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
