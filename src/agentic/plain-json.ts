import type { Bag, Json } from "../contract/index.ts";

const MAX_DEPTH = 64;

/**
 * A value as JSON says it: typed arrays become lists, bytes base64, what JSON has no word for (functions, undefined)
 * goes, NaN and the infinities become null. Deeper than 64 levels is cut to null.
 */
export function toPlain(value: unknown, depth = 0): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item: unknown) => toPlain(item, depth + 1));
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return Buffer.from(new Uint8Array(value)).toString("base64");
  if (ArrayBuffer.isView(value) && isIterable(value)) return [...value].map((item) => toPlain(item, depth + 1));
  if ("toJSON" in value && typeof value.toJSON === "function") return toPlain(value.toJSON(), depth + 1);
  if (value instanceof Map) return toPlain(Object.fromEntries(value), depth + 1);
  if (value instanceof Set) return toPlain([...value], depth + 1);
  const plain: Record<string, Json> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined && typeof item !== "function" && typeof item !== "symbol") plain[key] = toPlain(item, depth + 1);
  }
  return plain;
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value;
}

// Of the service's own dialect: of no use to a client, and some are functions.
const OWN_KEYWORDS = new Set([
  "conditionals",
  "entity",
  "interpolators",
  "layout",
  "mediaType",
  "mutable",
  "nonPersistent",
  "nonShared",
  "partition",
  "precision",
]);
const HOLDERS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** A schema as JSON Schema 2020-12: keywords and types of the dialect's own taken away, the rest as it is. */
export function toJsonSchema(schema: unknown): Bag {
  const plain = toPlain(schema);
  return isBag(plain) ? cleaned(plain) : {};
}

function cleaned(schema: Bag): Bag {
  const clean: Record<string, Json> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (OWN_KEYWORDS.has(keyword)) continue;
    if (keyword === "type" && (value === "typed-buffer" || value === "blob")) continue;
    if (HOLDERS.has(keyword) && isBag(value)) clean[keyword] = mapped(value);
    else if (Array.isArray(value) && keyword !== "enum" && keyword !== "required" && keyword !== "type" && keyword !== "examples")
      clean[keyword] = value.map((item: Json) => (isBag(item) ? cleaned(item) : item));
    else if (isBag(value) && keyword !== "const" && keyword !== "default") clean[keyword] = cleaned(value);
    else clean[keyword] = value;
  }
  return clean;
}

function mapped(holder: Bag): Bag {
  return Object.fromEntries(Object.entries(holder).map(([key, value]): [string, Json] => [key, isBag(value) ? cleaned(value) : value]));
}

export function isBag(value: Json | undefined): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
