import { type Bag, isBag, type Json, isList } from "../../core/contract/index.ts";
import { getOwn } from "../../core/contract/internal.ts";

export const EMPTY: Bag = Object.freeze({});

/** Text of 1 to `max` characters. */
export function shortText(value: Json | undefined, max: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= max ? value : undefined;
}

/** That member, where it is an object. */
export function bagIn(bag: Bag | undefined, key: string): Bag | undefined {
  const value = getOwn(bag, key);
  return isBag(value) ? value : undefined;
}

/** Whether a value nests deeper than `max` levels; never recurses further than that. */
export function deeperThan(value: Json, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (max === 0) return true;
  if (isList(value)) return value.some((member) => deeperThan(member, max - 1));
  // Every message passes here: no list of its members is made.
  for (const key in value) {
    const member = value[key];
    if (typeof member === "object" && member !== null && deeperThan(member, max - 1)) return true;
  }
  return false;
}
