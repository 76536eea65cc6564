import type { Json } from "./json.ts";

/** The value that a text is. Undefined: it is no JSON, or there is none. */
export function jsonIn(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
