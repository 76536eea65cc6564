import type { Json } from "../contract/index.ts";
import { isJsonList } from "./json-check.ts";

/** Never less than the bytes of the value's text, and far cheaper than writing it. */
export function atMostBytes(value: Json | undefined): number {
  if (typeof value === "string") return value.length * 6 + 2;
  if (typeof value !== "object" || value === null) return 25;
  let bytes = 2;
  if (isJsonList(value)) for (const item of value) bytes += atMostBytes(item) + 1;
  else for (const key of Object.keys(value)) bytes += key.length * 6 + 4 + atMostBytes(value[key]);
  return bytes;
}

export const exactBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
