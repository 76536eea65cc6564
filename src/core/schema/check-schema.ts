// Owns: whether an author's JSON Schema is one that can be checked, and in which dialect. Does not own: compiling it (compiler.ts).
import { type JsonObject, isJsonObject, TroupeError } from "../contract/index.ts";
import { isTexts } from "../contract/internal.ts";
import { isStandard } from "./standard.ts";

const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "object", "array", "null"]);
const MAX_DEPTH = 128;

const SUBSCHEMAS = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "additionalItems",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
];
const SUBSCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SUBSCHEMA_MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const STRINGS = [
  "title",
  "description",
  "$id",
  "$schema",
  "$ref",
  "$anchor",
  "$dynamicRef",
  "$recursiveRef",
  "$comment",
  "format",
  "pattern",
];
const EXCLUSIVE = ["exclusiveMinimum", "exclusiveMaximum"];
const NUMBERS = ["minimum", "maximum", "multipleOf", "minLength", "maxLength"];
const COUNTS = ["minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"];
const OTHERS = ["type", "enum", "const", "required", "items", "default", "examples", "dependencies", "dependentRequired", "deprecated"];
const KEYWORDS = new Set([
  ...SUBSCHEMAS,
  ...SUBSCHEMA_LISTS,
  ...SUBSCHEMA_MAPS,
  ...STRINGS,
  ...EXCLUSIVE,
  ...NUMBERS,
  ...COUNTS,
  ...OTHERS,
]);

/** Whether a value that is no library's schema can be a JSON Schema. Throws `BAD_DEFINITION`. */
export function assertPlain(schema: unknown, where: string): asserts schema is JsonObject {
  if (typeof schema === "function") throw new TroupeError("BAD_DEFINITION", `${where} is a function: pass a schema.`);
  if (!isJsonObject(schema))
    throw new TroupeError("BAD_DEFINITION", `${where} is no schema: pass a Standard Schema (zod, ArkType, …) or a JSON Schema object.`);
  // The official SDK's first version accepts such a record.
  if (Object.values(schema).some(isStandard))
    throw new TroupeError("BAD_DEFINITION", `${where} is a record of schemas: pass one schema, z.object({ … }) around it.`);
}

/**
 * Whether a hand-written JSON Schema can be compiled. It is walked, since loading a compiler and the meta-schema takes a third of the
 * start-up time and does not report where the error is. Throws `BAD_DEFINITION`, naming the path.
 */
export function checkSchema(schema: unknown, where: string): asserts schema is JsonObject {
  assertPlain(schema, where);
  const keys = Object.keys(schema);
  if (keys.length > 0 && !keys.some((key) => KEYWORDS.has(key)))
    throw new TroupeError("BAD_DEFINITION", `${where} has no word of JSON Schema: pass { type: "object", properties: { … } }.`);
  checkDialect(schema["$schema"], where);
  checkWhole(schema, where);
}

/** Only the walk, for schemas written by a library, which names their dialect correctly. Throws `BAD_DEFINITION`, naming the path. */
export function checkWhole(schema: JsonObject, where: string): void {
  const wrong = errorIn(schema, { base: schema, dialect: dialectOf(schema) }, "", 0);
  if (wrong !== undefined) throw new TroupeError("BAD_DEFINITION", `${where} is no JSON Schema that can be compiled: ${wrong}.`);
}

interface Context {
  /** The schema that `#` refers to. */
  readonly base: JsonObject;
  readonly dialect: Dialect;
}

/** The first error of a schema or of one within it. */
function errorIn(schema: unknown, outer: Context, path: string, depth: number): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isJsonObject(schema)) return `${path === "" ? "it" : path} is no schema`;
  if (depth > MAX_DEPTH) return `${path.slice(0, 60)}… is deeper than ${MAX_DEPTH} levels`;
  const id = schema[outer.dialect === "draft-04" ? "id" : "$id"];
  const context = typeof id === "string" && !id.startsWith("#") ? { ...outer, base: schema } : outer;
  const wrong = wrongValue(schema, context, path) ?? wrongContainer(schema, context, path);
  if (wrong !== undefined) return wrong;
  for (const [step, part] of partsOf(schema)) {
    const wrongPart = errorIn(part, context, `${path}/${step}`, depth + 1);
    if (wrongPart !== undefined) return wrongPart;
  }
  return undefined;
}

/** The first error of a keyword that has no schemas. */
function wrongValue(schema: JsonObject, context: Context, path: string): string | undefined {
  const { type, required, enum: values, pattern, $ref } = schema;
  if (type !== undefined && !isType(type)) return `${path}/type is ${JSON.stringify(type).slice(0, 60)}, none of ${[...TYPES].join(", ")}`;
  if (required !== undefined && !isTexts(required)) return `${path}/required is no list of names`;
  if (values !== undefined && !Array.isArray(values)) return `${path}/enum is no list`;
  if (values?.length === 0) return `${path}/enum is empty, so that no value is possible`;
  for (const word of STRINGS) if (word in schema && typeof schema[word] !== "string") return `${path}/${word} is no text`;
  for (const word of [...NUMBERS, ...COUNTS]) if (word in schema && typeof schema[word] !== "number") return `${path}/${word} is no number`;
  const isDraft4 = context.dialect === "draft-04";
  for (const word of EXCLUSIVE)
    if (word in schema && typeof schema[word] !== (isDraft4 ? "boolean" : "number"))
      return isDraft4
        ? `${path}/${word} is no boolean: in draft 4 it is a flag next to ${word === "exclusiveMinimum" ? "minimum" : "maximum"}`
        : `${path}/${word} is no number: from draft 6 on it is the limit itself`;
  const unread = typeof pattern === "string" ? patternError(pattern) : undefined;
  if (unread !== undefined) return `${path}/pattern ${unread}`;
  if (typeof $ref === "string" && !resolves($ref, context)) return `${path}/$ref ${$ref.slice(0, 100)} leads nowhere within it`;
  return undefined;
}

/** The first keyword that should have an object or a list of schemas and has something else. */
function wrongContainer(schema: JsonObject, { dialect }: Context, path: string): string | undefined {
  for (const word of [...SUBSCHEMA_MAPS, "dependencies"])
    if (schema[word] !== undefined && !isJsonObject(schema[word])) return `${path}/${word} is no object`;
  for (const name of Object.keys(Object(schema["patternProperties"]))) {
    const unread = patternError(name);
    if (unread !== undefined) return `${path}/patternProperties/${name.slice(0, 60)} ${unread}`;
  }
  for (const word of SUBSCHEMA_LISTS) {
    const parts = schema[word];
    if (parts !== undefined && !(Array.isArray(parts) && parts.length > 0)) return `${path}/${word} is no list of schemas`;
  }
  if (dialect === "2020-12" && Array.isArray(schema["items"]))
    return `${path}/items is a list: call it prefixItems, as 2020-12 does, or name an older dialect, such as draft-07, in $schema`;
  return undefined;
}

/** The schemas within a schema whose containers are right, each with its path from there. */
function* partsOf(schema: JsonObject): Generator<readonly [step: string, part: unknown]> {
  const { items } = schema;
  for (const word of [...SUBSCHEMA_MAPS, ...SUBSCHEMA_LISTS]) yield* partsUnder(word, schema[word]);
  // A dependency may also be a list of names.
  for (const part of partsUnder("dependencies", schema["dependencies"])) if (!isTexts(part[1])) yield part;
  for (const word of SUBSCHEMAS) if (schema[word] !== undefined) yield [word, schema[word]];
  if (Array.isArray(items)) yield* partsUnder("items", items);
  else if (items !== undefined) yield ["items", items];
}

const partsUnder = (word: string, container: unknown): (readonly [step: string, part: unknown])[] =>
  Object.entries(Object(container)).map(([step, part]) => [`${word}/${step}`, part]);

const isType = (type: unknown): boolean => (Array.isArray(type) ? type.length > 0 && type.every((one) => TYPES.has(one)) : TYPES.has(type));

const compiles = (text: string, flags: string): boolean => {
  try {
    return new RegExp(text, flags) instanceof RegExp;
  } catch {
    return false;
  }
};

/** Clients and compilers read patterns with the flag `u`, which rejects a backslash or a brace without a meaning. */
function patternError(text: string): string | undefined {
  if (compiles(text, "u")) return undefined;
  if (!compiles(text, ""))
    return "is no regular expression of JavaScript, whose syntax JSON Schema has: a flag within it, for one, is written (?i:…), not (?i)";
  return "is a regular expression without the flag u only, and JSON Schema's are read with it: put no backslash before what has no meaning of its own (_, not \\_), and one before -, { and } that stand for themselves ([\\w\\-.], not [\\w-.])";
}

const NAME_KEYWORDS = { "draft-04": /"id":"/, later: /"\$(id|anchor|dynamicAnchor)"/ };

function resolves(ref: string, { base: root, dialect }: Context): boolean {
  // Subschemas with names of their own are resolved by the compiler.
  if (!/^#(\/|$)/.test(ref)) return NAME_KEYWORDS[dialect === "draft-04" ? dialect : "later"].test(JSON.stringify(root));
  let at: unknown = root;
  for (const step of ref.split("/").slice(1)) {
    const name = unescaped(step);
    if (name === undefined || typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = Reflect.get(at, name);
  }
  return true;
}

function unescaped(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

/** Draft 5 changed no keyword of draft 4, and neither 6 nor 7 reads what the other cannot. */
export type Dialect = "2020-12" | "2019-09" | "draft-07" | "draft-04";

const NAMED = /^https?:\/\/json-schema\.org\/(?:(draft-0[4-7]|draft\/20(?:19-09|20-12))\/)?schema#?$/;

const DIALECTS: Readonly<Record<string, Dialect>> = {
  "draft/2019-09": "2019-09",
  "draft-07": "draft-07",
  "draft-06": "draft-07",
  "draft-05": "draft-04",
  "draft-04": "draft-04",
};

/** The dialect in which a schema is checked: the one it names, or else 2020-12. */
export function dialectOf({ $schema: named }: JsonObject): Dialect {
  const name = typeof named === "string" ? NAMED.exec(named)?.[1] : undefined;
  return (name === undefined ? undefined : DIALECTS[name]) ?? "2020-12";
}

/** Throws `BAD_DEFINITION` where an author's schema names an unsupported dialect: read as another one, its own keywords would check nothing. */
function checkDialect(named: unknown, where: string): void {
  if (named === undefined || (typeof named === "string" && NAMED.test(named))) return;
  const name = JSON.stringify(named).slice(0, 100);
  throw new TroupeError("BAD_DEFINITION", `${where} is of a dialect that is not read here, ${name}: write it in JSON Schema 2020-12.`);
}
