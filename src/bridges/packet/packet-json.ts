import type { JsonObject, Json } from "../../core/contract/index.ts";

/** Undefined: JSON has nothing for it. */
export function jsonCopy(value: unknown): Json | undefined {
  const text = value === undefined ? undefined : JSON.stringify(value);
  if (text === undefined) return undefined;
  const copy: Json = JSON.parse(text);
  return copy;
}

/** That member, and never what an object inherits: a payload may lack `constructor`. */
export function memberOf(bag: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(bag, key) ? bag[key] : undefined;
}
