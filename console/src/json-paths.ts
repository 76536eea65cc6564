// Owns: paths in JSON values (JSON Pointer, RFC 6901), and which of them differ between two values. Does not own: showing them.
import type { Json } from "../../src/core/contract/index.ts";
import { isList, isObject } from "./json.ts";

export interface Difference {
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

export const pathOf = (parent: string, key: string | number): string =>
  `${parent}/${typeof key === "number" ? key : key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The members of a list or an object, in order. Empty for other values. */
export function membersOf(value: Json | undefined): readonly (readonly [key: string, value: Json])[] {
  if (isList(value)) return value.map((member, at) => [String(at), member]);
  return isObject(value) ? Object.entries(value) : [];
}

/** What differs, by path, at most `most`. Lists are compared by position. */
export function differences(before: Json | undefined, after: Json | undefined, most = 1_000): readonly Difference[] {
  const found: Difference[] = [];
  const compare = (path: string, one: Json | undefined, other: Json | undefined): void => {
    if (one === other || found.length >= most) return;
    if ((isObject(one) && isObject(other)) || (isList(one) && isList(other))) {
      const ones = new Map(membersOf(one));
      const others = new Map(membersOf(other));
      for (const key of new Set([...ones.keys(), ...others.keys()])) compare(pathOf(path, key), ones.get(key), others.get(key));
      return;
    }
    found.push({ path, ...(one === undefined ? {} : { before: one }), ...(other === undefined ? {} : { after: other }) });
  };
  compare("", before, after);
  return found;
}
