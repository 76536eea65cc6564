import { type Bag, isBag, type Json } from "../contract/index.ts";

export const EMPTY: Bag = Object.freeze({});

/** Text of 1 to `max` characters. */
export function shortText(value: Json | undefined, max: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= max ? value : undefined;
}

/** That member, where it is an object. */
export function bagIn(bag: Bag | undefined, key: string): Bag | undefined {
  const value = bag === undefined || !Object.hasOwn(bag, key) ? undefined : bag[key];
  return isBag(value) ? value : undefined;
}

/** Whether a value nests deeper than `max` levels; never recurses further than that. */
export function deeperThan(value: Json, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (max === 0) return true;
  if (isArray(value)) return value.some((member) => deeperThan(member, max - 1));
  // Every message passes here: no list of its members is made.
  for (const key in value) {
    const member = value[key];
    if (typeof member === "object" && member !== null && deeperThan(member, max - 1)) return true;
  }
  return false;
}

/** One text for equal values, whatever the order of their keys. */
export function canonical(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const bag = value;
  return `{${Object.keys(bag)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical(bag[key] ?? null)}`)
    .join(",")}}`;
}

export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
