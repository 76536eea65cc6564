// Owns: the schemas of `@adobe/data` as JSON Schema 2020-12. Does not own: which of them describe arguments (parameters.ts).
import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { toJson } from "./json-values.ts";

const MAX_DEPTH = 64;
const MAX_NODES = 10_000;

/**
 * Converts a schema of `@adobe/data`, or a similar one, to strict JSON Schema 2020-12. Non-standard keywords are mapped if they mean
 * something to a client (`blob`, `typed-buffer`, `mediaType`, tuples and bounds of older drafts), and removed otherwise (`layout`,
 * `precision`, `interpolators`, …). Keywords with invalid values are removed too. A schema that contains itself, or is nested deeper
 * than 64 levels, is cut to `{}`, which allows anything.
 */
export function toJSONSchema(schema: unknown): JsonObject {
  return translated(schema, "");
}

/** The same for a schema that is placed at `base` (a JSON pointer) in another one: references within it are adapted. */
export function translated(schema: unknown, base: string): JsonObject {
  const translation = new Translation(base);
  return translation.withReferences(translation.of(schema));
}

type Reader = (value: unknown, schema: RawSchema, translation: Translation) => Json | undefined;
/** A schema as a service has it. */
export type RawSchema = Readonly<Record<string, unknown>>;

const text = (value: unknown): Json | undefined => (typeof value === "string" ? value.toWellFormed() : undefined);
const flag = (value: unknown): Json | undefined => (typeof value === "boolean" ? value : undefined);
const number = (value: unknown): Json | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const positive = (value: unknown): Json | undefined => (typeof value === "number" && value > 0 ? number(value) : undefined);
const count = (value: unknown): Json | undefined => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined);
const anything = (value: unknown): Json | undefined => (value === undefined || typeof value === "function" ? undefined : toJson(value));
const values = (value: unknown): Json | undefined => (Array.isArray(value) ? toJson(value) : undefined);
// Other values, or duplicates, would make the whole schema invalid.
const names = (value: unknown): Json | undefined =>
  Array.isArray(value) ? [...new Set(value.filter((one) => typeof one === "string").map((one) => one.toWellFormed()))] : undefined;
const sub: Reader = (value, _schema, translation) =>
  typeof value === "boolean" ? value : isRawSchema(value) ? translation.of(value) : undefined;
const subs: Reader = (value, _schema, translation) => {
  const list = Array.isArray(value) ? value.map((one: unknown) => sub(one, {}, translation) ?? {}) : [];
  return list.length > 0 ? list : undefined;
};
const subMap: Reader = (value, _schema, translation) =>
  isRawSchema(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]): [string, Json] => [key.toWellFormed(), sub(one, {}, translation) ?? {}]))
    : undefined;
const patternMap: Reader = (value, schema, translation) =>
  isRawSchema(value) ? subMap(Object.fromEntries(Object.entries(value).filter(([key]) => isPattern(key))), schema, translation) : undefined;

const READERS: Readonly<Record<string, Reader>> = {
  $anchor: (value, _schema, translation) =>
    typeof value === "string" && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value) ? translation.anchor(value) : undefined,
  $comment: text,
  $defs: subMap,
  // References to other documents are followed neither by clients nor here.
  $ref: (value) => (typeof value === "string" && /^#[!-~]*$/.test(value) ? value : undefined),
  additionalProperties: sub,
  allOf: subs,
  anyOf: subs,
  const: anything,
  contains: sub,
  contentEncoding: text,
  contentMediaType: text,
  contentSchema: sub,
  default: anything,
  dependentRequired: (value) =>
    isRawSchema(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]): [string, Json] => [key.toWellFormed(), names(one) ?? []]))
      : undefined,
  dependentSchemas: subMap,
  deprecated: flag,
  description: text,
  else: sub,
  // An empty one is written as `not`.
  enum: (value) => (isEmptyList(value) ? undefined : values(value)),
  examples: values,
  // In draft 4, `true` means that `maximum` itself is excluded.
  exclusiveMaximum: (value, { maximum }) => number(value === true ? maximum : value),
  exclusiveMinimum: (value, { minimum }) => number(value === true ? minimum : value),
  format: text,
  if: sub,
  items: (value, schema, translation) =>
    Array.isArray(value) ? sub(schema["additionalItems"], {}, translation) : sub(value, {}, translation),
  maxContains: count,
  maxItems: count,
  maxLength: count,
  maxProperties: count,
  maximum: number,
  minContains: count,
  minItems: count,
  minLength: count,
  minProperties: count,
  minimum: number,
  multipleOf: positive,
  not: sub,
  oneOf: subs,
  pattern: (value) => (typeof value === "string" && isPattern(value) ? value : undefined),
  patternProperties: patternMap,
  prefixItems: subs,
  properties: subMap,
  propertyNames: sub,
  readOnly: flag,
  required: names,
  title: text,
  type: (value) => typeOf(value),
  unevaluatedItems: sub,
  unevaluatedProperties: sub,
  uniqueItems: flag,
  writeOnly: flag,
};

const READER_OF: ReadonlyMap<string, Reader> = new Map([...Object.entries(READERS), ["then", sub]]);

const TYPES: ReadonlySet<unknown> = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

function typeOf(value: unknown): Json | undefined {
  if (Array.isArray(value)) {
    const known = [...new Set(value.filter((one) => TYPES.has(one)).map(String))];
    return known.length === value.length && known.length > 0 ? known : undefined;
  }
  if (value === "typed-buffer") return "array";
  if (value === "blob") return "string";
  return typeof value === "string" && TYPES.has(value) ? value : undefined;
}

class Translation {
  readonly #base: string;
  #left = MAX_NODES;
  readonly #ancestors: object[] = [];
  readonly #anchors = new Set<string>();
  readonly #referring: Record<string, Json>[] = [];

  constructor(base: string) {
    this.#base = base;
  }

  /** The anchor, made unique for its parameter. Undefined: an earlier schema has this anchor. */
  anchor(name: string): string | undefined {
    if (this.#anchors.has(name)) return undefined;
    this.#anchors.add(name);
    return this.#anchorNow(name);
  }

  #anchorNow(name: string): string {
    const [, , parameter] = this.#base.split("/");
    return parameter === undefined ? name : `${parameter}.${name}`;
  }

  /** Adapts references to where their targets are now. A dangling one is removed: no call could be validated with it. */
  withReferences(root: JsonObject): JsonObject {
    for (const schema of this.#referring) {
      const { $ref } = schema;
      const to = typeof $ref === "string" ? this.#targetOf($ref, root) : undefined;
      if (to === undefined) delete schema["$ref"];
      else schema["$ref"] = to;
    }
    return root;
  }

  #targetOf(reference: string, root: JsonObject): string | undefined {
    if (reference === "#") return `#${this.#base}`;
    const name = reference.slice(1);
    if (!name.startsWith("/")) return this.#anchors.has(name) ? `#${this.#anchorNow(name)}` : undefined;
    const path = pathIn(root, name.slice(1).split("/"));
    return path === undefined ? undefined : `#${this.#base}/${path.join("/")}`;
  }

  of(schema: unknown): JsonObject {
    this.#left -= 1;
    if (!isRawSchema(schema) || this.#left < 0 || this.#ancestors.length >= MAX_DEPTH || this.#ancestors.includes(schema)) return {};
    this.#ancestors.push(schema);
    const clean: [string, Json][] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      const read = READER_OF.get(keyword)?.(value, schema, this);
      if (read !== undefined) clean.push([keyword, read]);
    }
    const mapped: Record<string, Json> = Object.fromEntries([...this.#mapped(schema), ...clean]);
    // Nothing is possible now. Several clients, and the compiler, refuse a schema with an empty `enum`.
    if (isEmptyList(schema["enum"])) mapped["not"] = {};
    if (mapped["$ref"] !== undefined) this.#referring.push(mapped);
    this.#ancestors.pop();
    return mapped;
  }

  #mapped(schema: RawSchema): readonly [string, Json][] {
    const { type, items, mediaType, definitions } = schema;
    const more: [string, Json][] = [];
    if (type === "blob") more.push(["contentEncoding", "base64"]);
    if (typeof mediaType === "string") more.push(["contentMediaType", mediaType.toWellFormed()]);
    if (Array.isArray(items)) {
      const each = subs(items, {}, this);
      if (each !== undefined) more.push(["prefixItems", each]);
    }
    if (isRawSchema(definitions)) {
      const each = subMap(definitions, {}, this);
      if (each !== undefined) more.push(["definitions", each]);
    }
    return more;
  }
}

/** The segments of a JSON pointer, adapted to a translated schema. Undefined: there is no schema there. */
function pathIn(root: JsonObject, segments: readonly string[]): readonly string[] | undefined {
  const path: string[] = [];
  let at: Json | undefined = root;
  for (const [i, segment] of segments.entries()) {
    const isTuple: boolean = isJsonObject(at) && Array.isArray(at["prefixItems"]);
    const isItem = segment === "items" && /^\d+$/.test(segments[i + 1] ?? "");
    const now: string = isTuple && isItem ? "prefixItems" : isTuple && segment === "additionalItems" ? "items" : segment;
    at = memberOf(at, now);
    path.push(now);
  }
  return isJsonObject(at) || typeof at === "boolean" ? path : undefined;
}

function memberOf(value: Json | undefined, segment: string): Json | undefined {
  if (value === undefined || value === null || typeof value !== "object") return undefined;
  try {
    const name = decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    const member: Json | undefined = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    return member;
  } catch {
    return undefined;
  }
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

export function isRawSchema(value: unknown): value is RawSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
