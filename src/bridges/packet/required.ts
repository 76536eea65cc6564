import { isJsonObject } from "../../core/contract/index.ts";

/** The fields of those names that a value does not have: absent and null are the same. */
export function missing(names: readonly string[], value: unknown): string[] {
  if (names.length === 0) return [];
  return names.filter((name) => !isJsonObject(value) || !Object.hasOwn(value, name) || value[name] === undefined || value[name] === null);
}
