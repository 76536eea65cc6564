// Owns: what a JSON Schema asks for, in the terms of a form: kinds of fields, variants, first values. Does not own: checking
// (check.ts), drawing (fields.tsx).
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import { isList, isObject } from "../../json.ts";

export type FieldKind = "choice" | "constant" | "text" | "number" | "boolean" | "list" | "object" | "variants" | "json";

const MAX_REFS = 16;
/** Deeper fields are written as JSON: a schema may refer to itself. */
const MAX_DEPTH = 6;

/** The schema with its reference followed. Only those within `root` are. */
export function resolve(schema: Json | undefined, root: JsonObject, refs = 0): JsonObject {
  if (!isObject(schema)) return {};
  const ref = schema["$ref"];
  if (typeof ref !== "string" || !ref.startsWith("#") || refs > MAX_REFS) return schema;
  let target: Json | undefined = root;
  for (const part of ref.slice(1).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    target = isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
  }
  const { $ref: _, ...rest } = schema;
  return { ...resolve(target, root, refs + 1), ...rest };
}

export interface Option {
  readonly value: Json;
  readonly label: string;
}

const labelOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The values that it lists. Undefined: it lists none. */
export function optionsOf(schema: JsonObject): readonly Option[] | undefined {
  const { enum: listed } = schema;
  if (isList(listed)) return listed.map((value) => ({ value, label: labelOf(value) }));
  const alternatives = alternativesOf(schema);
  if (alternatives.length === 0) return undefined;
  const options: Option[] = [];
  for (const one of alternatives) {
    if (!isObject(one) || one["const"] === undefined) return undefined;
    options.push({ value: one["const"], label: typeof one["title"] === "string" ? one["title"] : labelOf(one["const"]) });
  }
  return options;
}

const alternativesOf = ({ oneOf, anyOf }: JsonObject): readonly Json[] => (isList(oneOf) ? oneOf : isList(anyOf) ? anyOf : []);

export function kindOf(schema: JsonObject, depth: number): FieldKind {
  if (schema["const"] !== undefined) return "constant";
  if (optionsOf(schema) !== undefined) return "choice";
  if (depth > MAX_DEPTH) return "json";
  if (alternativesOf(schema).length > 0 || isList(schema["type"])) return "variants";
  const { type } = schema;
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  if (type === "boolean") return "boolean";
  if (type === "array") return isObject(schema["items"]) || isList(schema["prefixItems"]) ? "list" : "json";
  if (type === "object" || isObject(schema["properties"])) return "object";
  return "json";
}

export interface Variant {
  readonly schema: JsonObject;
  readonly label: string;
}

/** The alternatives of a schema, each with what holds for all of them. */
export function variantsOf(schema: JsonObject, root: JsonObject): readonly Variant[] {
  const { oneOf: _, anyOf: __, type, ...common } = schema;
  const alternatives = alternativesOf(schema);
  if (alternatives.length === 0 && isList(type)) return type.map((one) => ({ schema: { ...common, type: one }, label: labelOf(one) }));
  return alternatives.map((given, at) => {
    const own = resolve(given, root);
    const merged: Record<string, Json> = { ...common, ...(type === undefined ? {} : { type }), ...own };
    if (isObject(common["properties"]) && isObject(own["properties"]))
      merged["properties"] = { ...common["properties"], ...own["properties"] };
    if (isList(common["required"]) && isList(own["required"])) merged["required"] = [...common["required"], ...own["required"]];
    return { schema: merged, label: variantLabel(own, at) };
  });
}

function variantLabel(schema: JsonObject, at: number): string {
  if (typeof schema["title"] === "string") return schema["title"];
  if (isObject(schema["properties"]))
    for (const [name, member] of Object.entries(schema["properties"]))
      if (isObject(member) && member["const"] !== undefined) return `${name}: ${labelOf(member["const"])}`;
  return typeof schema["type"] === "string" ? schema["type"] : `variant ${at + 1}`;
}

/** Of the variants, the one that a value looks like. */
export function variantOf(variants: readonly Variant[], value: Json | undefined): number {
  const scores = variants.map(({ schema }) => likeness(schema, value));
  return Math.max(0, scores.indexOf(Math.max(...scores)));
}

function likeness(schema: JsonObject, value: Json | undefined): number {
  if (value === undefined) return 0;
  const { type, const: constant, properties } = schema;
  if (constant !== undefined) return constant === value ? 3 : -1;
  const actual = value === null ? "null" : isList(value) ? "array" : typeof value;
  if (type !== undefined && type !== actual && !(type === "integer" && actual === "number")) return -1;
  if (!isObject(value) || !isObject(properties)) return 1;
  let score = 1;
  for (const [name, member] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    score += isObject(member) && member["const"] !== undefined ? (member["const"] === value[name] ? 10 : -10) : 1;
  }
  return score;
}

export const isRequired = (schema: JsonObject, name: string): boolean => isList(schema["required"]) && schema["required"].includes(name);

/** What a field has before it is filled in. Undefined: nothing. */
export function firstValue(given: Json | undefined, root: JsonObject, depth = 0): Json | undefined {
  const schema = resolve(given, root);
  if (schema["default"] !== undefined) return schema["default"];
  if (schema["const"] !== undefined) return schema["const"];
  const kind = kindOf(schema, depth);
  if (kind === "boolean") return false;
  if (kind === "list") return [];
  if (kind === "variants") {
    const [first] = variantsOf(schema, root);
    return first === undefined ? undefined : firstValue(first.schema, root, depth + 1);
  }
  if (kind !== "object") return undefined;
  const value: Record<string, Json> = {};
  for (const [name, member] of Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})) {
    const own =
      isRequired(schema, name) || (isObject(member) && member["default"] !== undefined) ? firstValue(member, root, depth + 1) : undefined;
    if (own !== undefined) value[name] = own;
  }
  return value;
}

/** What stands in a list where nothing is filled in: there, a member cannot be left out. */
export const emptyValue = (schema: Json | undefined, root: JsonObject): Json => (resolve(schema, root)["type"] === "string" ? "" : null);
