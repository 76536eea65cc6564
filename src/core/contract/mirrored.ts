import { TroupeError } from "./errors.ts";
import { type Bag, isBag, type Json } from "./json.ts";

const MARK = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const DEEPEST = 16;
const PRIMITIVE = new Set<unknown>(["string", "integer", "boolean"]);

const NAMED = ["patternProperties", "dependentSchemas", "$defs", "definitions"];
const OTHERS = ["additionalProperties", "unevaluatedProperties", "propertyNames", "items", "prefixItems", "contains", "unevaluatedItems"];
const DECIDED = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/** An argument that a tool wants repeated as `Mcp-Param-*`. */
export interface Mirrored {
  readonly path: readonly string[];
  /** Lower-case. */
  readonly header: string;
}

// Only through `properties`: what a condition or a list decides cannot be repeated by a header.
export function mirroredIn(schema: Json | undefined, path: readonly string[] = []): readonly Mirrored[] {
  if (!isBag(schema) || !isBag(schema["properties"]) || path.length >= DEEPEST) return [];
  return Object.entries(schema["properties"]).flatMap(([key, member]): readonly Mirrored[] => {
    const at = [...path, key];
    const name = isBag(member) ? member[MARK] : undefined;
    const here = typeof name === "string" && TOKEN.test(name) ? [{ path: at, header: `mcp-param-${name.toLowerCase()}` }] : [];
    return [...here, ...mirroredIn(member, at)];
  });
}

/** Throws `BAD_DEFINITION` where clients that follow MCP would leave the tool out of their list, each by itself and without a word to its author. */
export function checkMirrored(schema: Json, where: string): void {
  const why = misplaced(schema, "", true) ?? doubled(schema);
  if (why !== undefined) throw new TroupeError("BAD_DEFINITION", `${where}: ${why}.`);
}

function misplaced(schema: Json | undefined, path: string, reachable: boolean): string | undefined {
  if (!isBag(schema)) return undefined;
  const wrong = MARK in schema ? unfit(schema, path, reachable) : undefined;
  if (wrong !== undefined) return wrong;
  const within: (readonly [step: string, part: Json, reachable: boolean])[] = [];
  for (const word of ["properties", ...NAMED]) {
    const parts = schema[word];
    if (!isBag(parts)) continue;
    for (const [name, part] of Object.entries(parts)) within.push([`${word}/${name}`, part, reachable && word === "properties"]);
  }
  for (const word of [...OTHERS, ...DECIDED]) {
    const part = schema[word];
    const parts: readonly Json[] = Array.isArray(part) ? part : [part ?? null];
    for (const one of parts) within.push([word, one, false]);
  }
  for (const [step, part, known] of within) {
    const deeper = misplaced(part, `${path}/${step}`, known);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

function unfit(schema: Bag, path: string, reachable: boolean): string | undefined {
  const at = `${path}/${MARK}`.slice(0, 200);
  if (!reachable || path === "") return `${at} is not on a property that is reached through properties alone`;
  const name = schema[MARK];
  if (typeof name !== "string" || !TOKEN.test(name)) return `${at} is no name of a header: 1 to 128 letters, digits or -`;
  return PRIMITIVE.has(schema["type"]) ? undefined : `${at} is on what has not the type string, integer or boolean`;
}

function doubled(schema: Json): string | undefined {
  const headers = mirroredIn(schema).map(({ header }) => header);
  const twice = headers.find((header, at) => headers.indexOf(header) !== at);
  return twice === undefined ? undefined : `two arguments want to be repeated in the header ${twice}`;
}
