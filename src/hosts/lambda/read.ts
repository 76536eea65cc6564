import { type Bag, isBag } from "../../core/contract/index.ts";
import { badEvent } from "./refusal.ts";

/** Readers of an event's members. Each throws `BAD_EVENT` with the member's name, since an event may be anybody's. */

export function textAt(bag: Bag, name: string): string | undefined {
  const value = bag[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw badEvent(`The event's ${name} is no text.`);
  return value;
}

export function needed(bag: Bag, name: string): string {
  const value = textAt(bag, name);
  if (value === undefined) throw badEvent(`The event has no ${name}.`);
  return value;
}

export function bagAt(bag: Bag, name: string): Bag | undefined {
  const value = bag[name];
  if (value === undefined || value === null) return undefined;
  if (!isBag(value)) throw badEvent(`The event's ${name} is no object.`);
  return value;
}

export function flagAt(bag: Bag, name: string): boolean {
  const value = bag[name] ?? false;
  if (typeof value !== "boolean") throw badEvent(`The event's ${name} is neither true nor false.`);
  return value;
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** `multi` has all values of a name, `single` the last one: where both are there, the first is whole. */
export function pairsAt(bag: Bag, single: string, multi: string): Pairs {
  const lists = bagAt(bag, multi);
  if (lists === undefined) return Object.entries(bagAt(bag, single) ?? {}).map(([name, value]) => pair(single, name, value));
  return Object.entries(lists).flatMap(([name, values]) => {
    if (!Array.isArray(values)) throw badEvent(`The event's ${multi} has no list under "${shown(name)}".`);
    return values.map((value: unknown) => pair(multi, name, value));
  });
}

export function listAt(bag: Bag, name: string): readonly string[] {
  const value = bag[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw badEvent(`The event's ${name} is no list.`);
  return value.map((entry: unknown) => {
    if (typeof entry !== "string") throw badEvent(`The event's ${name} has an entry that is no text.`);
    return entry;
  });
}

/** A name from outside, in a sentence. */
export const shown = (name: string): string => name.slice(0, 64);

function pair(where: string, name: string, value: unknown): readonly [string, string] {
  if (typeof value !== "string") throw badEvent(`The event's ${where} has no text under "${shown(name)}".`);
  return [name, value];
}
