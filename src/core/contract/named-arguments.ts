// Owns: which arguments of a call an offer names. Does not own: whether they fit (core/schema).

import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { Offer } from "./surface.ts";

/** Keywords of JSON Schema, but for combined schemas, that allow members which `properties` does not name. */
const OPEN_KEYWORDS = [
  "patternProperties",
  "unevaluatedProperties",
  "propertyNames",
  "dependentSchemas",
  "dependencies",
  "not",
  "if",
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
];
const COMBINED = ["allOf", "anyOf", "oneOf"];

/** Whether a schema allows members that neither its `properties` nor the schemas it combines name. `additionalProperties` is not considered. */
export const hasOpenKeyword = (schema: JsonObject): boolean => OPEN_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword));

/** The arguments that an offer names; null: it may take others too. */
export function argumentNames({ definition }: Offer): ReadonlySet<string> | null {
  const schema = definition["inputSchema"];
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  if (!isJsonObject(schema) || !isJsonObject(properties) || hasOpenKeyword(schema)) return null;
  if (["additionalProperties", ...COMBINED].some((keyword) => Object.hasOwn(schema, keyword))) return null;
  return new Set(Object.keys(properties));
}

const NO_ARGUMENTS: JsonObject = Object.freeze({});

/**
 * Drops arguments that the offer does not name: its actor would ignore them, and its chain would store them forever. No arguments are one
 * frozen object for all calls, since a turn freezes its arguments, which takes time.
 */
export function namedArguments(names: ReadonlySet<string> | null, args: Json): Json {
  if (!isJsonObject(args)) return args;
  if (names?.size === 0) return NO_ARGUMENTS;
  let any = false;
  for (const name in args) {
    if (names?.has(name) === false) return Object.fromEntries(Object.entries(args).filter(([one]) => names.has(one)));
    any = true;
  }
  return any ? args : NO_ARGUMENTS;
}
