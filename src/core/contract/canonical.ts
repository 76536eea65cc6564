import { isBag, isList, type Json } from "./json.ts";

/** One text for equal values, whatever the order of their keys. */
export function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  if (!isBag(value)) return JSON.stringify(value);
  const entries = Object.keys(value).toSorted();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join()}}`;
}
