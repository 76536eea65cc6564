import type { Bag, Json } from "../contract/index.ts";

export function isBag(value: unknown): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** That member, and never what an object inherits: a payload may lack `constructor`. */
export function memberOf(bag: Bag, key: string): Json | undefined {
  return Object.hasOwn(bag, key) ? bag[key] : undefined;
}
