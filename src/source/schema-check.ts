import { isBag, TroupeError } from "../contract/index.ts";
import { isTexts } from "../contract/internal.ts";

const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "object", "array", "null"]);
const DEEPEST = 128;

const ONE = ["not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const TEXTS = ["title", "description", "$id", "$schema", "$ref", "$anchor", "$dynamicRef", "$comment", "format", "pattern"];
const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"];
const COUNTS = ["minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"];
const OTHERS = ["type", "enum", "const", "required", "items", "default", "examples", "dependentRequired", "deprecated"];
const WORDS = new Set([...ONE, ...LISTS, ...MAPS, ...TEXTS, ...NUMBERS, ...COUNTS, ...OTHERS]);

/**
 * Whether a JSON Schema written by hand can be compiled, which is done at its first use: a compiler and the meta-schema cost a third of a
 * start. Throws `BAD_DEFINITION`, naming the path.
 */
export function checkSchema(schema: unknown, where: string): void {
  if (!isBag(schema))
    throw new TroupeError("BAD_DEFINITION", `${where} is no schema: pass a Standard Schema (zod, ArkType, …) or a JSON Schema.`);
  const shape = Object.values(schema).some((one) => typeof one === "object" && one !== null && "~standard" in one);
  if (shape) throw new TroupeError("BAD_DEFINITION", `${where} is a record of schemas: pass one schema, z.object({ … }) around it.`);
  const keys = Object.keys(schema);
  if (keys.length > 0 && !keys.some((key) => WORDS.has(key)))
    throw new TroupeError("BAD_DEFINITION", `${where} has no word of JSON Schema: pass { type: "object", properties: { … } }.`);
  const wrong = wrongIn(schema, schema, "", 0);
  if (wrong !== undefined) throw new TroupeError("BAD_DEFINITION", `${where} is no JSON Schema that can be compiled: ${wrong}.`);
}

function wrongIn(schema: unknown, root: object, path: string, depth: number): string | undefined {
  const at = path === "" ? "it" : path;
  if (typeof schema === "boolean") return undefined;
  if (!isBag(schema)) return `${at} is no schema`;
  if (depth > DEEPEST) return `${path.slice(0, 60)}… is deeper than ${DEEPEST} levels`;
  const { type, required, enum: values, items } = schema;
  if (type !== undefined && !isType(type)) return `${path}/type is ${JSON.stringify(type).slice(0, 60)}, none of ${[...TYPES].join(", ")}`;
  if (required !== undefined && !isTexts(required)) return `${path}/required is no list of names`;
  if (values !== undefined && !Array.isArray(values)) return `${path}/enum is no list`;
  for (const word of TEXTS) if (word in schema && typeof schema[word] !== "string") return `${path}/${word} is no text`;
  for (const word of [...NUMBERS, ...COUNTS]) if (word in schema && typeof schema[word] !== "number") return `${path}/${word} is no number`;
  const { pattern, $ref } = schema;
  if (typeof pattern === "string" && !isPattern(pattern)) return `${path}/pattern is no regular expression`;
  if (typeof $ref === "string" && !leads($ref, root)) return `${path}/$ref ${$ref.slice(0, 100)} leads nowhere within it`;
  const within = (part: unknown, step: string): string | undefined => wrongIn(part, root, `${path}/${step}`, depth + 1);
  const all = (parts: readonly (readonly [step: string, part: unknown])[]): string | undefined => {
    for (const [step, part] of parts) {
      const wrong = within(part, step);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
  const listed = (word: string, list: readonly unknown[]): string | undefined => all(list.map((one, i) => [`${word}/${i}`, one]));
  for (const word of MAPS) {
    const parts = schema[word];
    if (parts === undefined) continue;
    if (!isBag(parts)) return `${path}/${word} is no object`;
    const unread = word === "patternProperties" ? Object.keys(parts).find((one) => !isPattern(one)) : undefined;
    if (unread !== undefined) return `${path}/${word}/${unread.slice(0, 60)} is no regular expression`;
    const wrong = all(Object.entries(parts).map(([name, part]) => [`${word}/${name}`, part]));
    if (wrong !== undefined) return wrong;
  }
  for (const word of LISTS) {
    const parts = schema[word];
    if (parts === undefined) continue;
    if (!Array.isArray(parts) || parts.length === 0) return `${path}/${word} is no list of schemas`;
    const wrong = listed(word, parts);
    if (wrong !== undefined) return wrong;
  }
  const wrong = all(ONE.filter((word) => schema[word] !== undefined).map((word) => [word, schema[word]]));
  if (wrong !== undefined || items === undefined) return wrong;
  return Array.isArray(items) ? listed("items", items) : within(items, "items");
}

const isType = (type: unknown): boolean => (Array.isArray(type) ? type.length > 0 && type.every((one) => TYPES.has(one)) : TYPES.has(type));

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u").unicode;
  } catch {
    return false;
  }
}

function leads(ref: string, root: object): boolean {
  // Where parts have names of their own, the compiler knows what leads to them.
  if (!/^#(\/|$)/.test(ref)) return /"\$(id|anchor|dynamicAnchor)"/.test(JSON.stringify(root));
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
