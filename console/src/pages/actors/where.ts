// Owns: conditions on the fields of an index: as rows that a person edits, and as the API takes them. Does not own: the rows' fields
// (where-builder.tsx).
import type { IndexValue, Json } from "../../../../src/core/contract/index.ts";
import type { IndexWhere } from "../../../../src/bridges/console/shapes.ts";
import { isList, isObject } from "../../json.ts";

export const CONDITIONS = {
  is: "is",
  in: "is one of",
  gte: "is at least",
  lte: "is at most",
  between: "is between",
  prefix: "starts with",
} as const;

export type Condition = keyof typeof CONDITIONS;

export const isCondition = (text: string): text is Condition => Object.hasOwn(CONDITIONS, text);

export interface WhereRow {
  readonly field: string;
  readonly condition: Condition;
  /** As it was typed. Several values are separated by commas. */
  readonly value: string;
}

/** `3`, `true` and `null` are what they look like; a text needs quotes only where it looks like one of these. */
function valueOf(typed: string): IndexValue {
  const text = typed.trim();
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  } catch {
    // A text.
  }
  return text;
}

function typedOf(value: Json | undefined): string {
  if (typeof value !== "string") return JSON.stringify(value ?? null);
  return value !== "" && valueOf(value) === value && !/[",]/.test(value) ? value : JSON.stringify(value);
}

/** Separated by commas, except those in quotes. */
const valuesOf = (typed: string): readonly IndexValue[] =>
  [...typed.matchAll(/\s*("(?:[^"\\]|\\.)*"|[^,]+)/g)].map(([, one = ""]) => valueOf(one));

/** Rows that are not filled in yet are left out. */
export function whereOf(rows: readonly WhereRow[]): IndexWhere {
  const where: Record<string, IndexWhere[string]> = {};
  for (const { field, condition, value } of rows) {
    if (field === "" || value.trim() === "") continue;
    if (condition === "is") where[field] = valueOf(value);
    else if (condition === "in") where[field] = { in: valuesOf(value) };
    else if (condition === "prefix") {
      const prefix = valueOf(value);
      where[field] = { prefix: typeof prefix === "string" ? prefix : value.trim() };
    } else {
      const [first, second] = valuesOf(value);
      if (first === undefined) continue;
      if (condition === "gte") where[field] = { gte: first };
      else if (condition === "lte") where[field] = { lte: first };
      else if (second !== undefined) where[field] = { gte: first, lte: second };
    }
  }
  return where;
}

/** Of the parameter in the address. What cannot be read is left out. */
export function rowsOf(text: string): readonly WhereRow[] {
  let where: unknown;
  try {
    where = JSON.parse(text);
  } catch {
    return [];
  }
  if (typeof where !== "object" || where === null) return [];
  return Object.entries(where).flatMap(([field, filter]: [string, Json]): readonly WhereRow[] => {
    if (isList(filter)) return [];
    if (!isObject(filter)) return [{ field, condition: "is", value: typedOf(filter) }];
    const { gte, lte, prefix, in: some } = filter;
    if (isList(some)) return [{ field, condition: "in", value: some.map(typedOf).join(", ") }];
    if (prefix !== undefined) return [{ field, condition: "prefix", value: typedOf(prefix) }];
    if (gte !== undefined && lte !== undefined) return [{ field, condition: "between", value: `${typedOf(gte)}, ${typedOf(lte)}` }];
    if (gte !== undefined) return [{ field, condition: "gte", value: typedOf(gte) }];
    return lte === undefined ? [] : [{ field, condition: "lte", value: typedOf(lte) }];
  });
}

/** For the address: empty without conditions. */
export function whereText(rows: readonly WhereRow[]): string {
  const where = whereOf(rows);
  return Object.keys(where).length === 0 ? "" : JSON.stringify(where);
}
