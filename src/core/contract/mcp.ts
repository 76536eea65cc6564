// Owns: the marks of MCP in values and definitions: content, scopes, client capabilities, header parameters, media types. Does not own: the
// protocol (mcp/gateway).
import { memoizeByString } from "./collections.ts";
import { TroupeError } from "./errors.ts";
import { isJsonObject, isList, type Json, type JsonObject } from "./json.ts";

/**
 * The one mark in a domain value that means MCP content blocks, written by
 * `content()`. Transports other than MCP see the value as it is.
 */
export const CONTENT = "troupe/content";

/** MCP content blocks chosen by the author. */
export interface Content {
  readonly [CONTENT]: readonly JsonObject[];
  readonly structured?: Json;
  /** Passed to the client as it is; left out if absent. */
  readonly isError?: boolean;
  /** `_meta` of the result. */
  readonly meta?: JsonObject;
}

/** A resource's bytes, written by `blob()`. */
export const BLOB = "troupe/blob";

/** The members that may accompany a mark. */
const OF_CONTENT: ReadonlySet<string> = new Set([CONTENT, "structured", "isError", "meta", "messages", "description"]);
const OF_BLOB: ReadonlySet<string> = new Set([BLOB, "mimeType"]);

const holdsOnly = (value: JsonObject, names: ReadonlySet<string>): boolean => Object.keys(value).every((key) => names.has(key));

/** Whether it is content. With other members it is data that happens to use the mark as a key. */
export function isContent(value: unknown): value is JsonObject & { readonly [CONTENT]: readonly Json[] } {
  return isJsonObject(value) && isList(value[CONTENT]) && holdsOnly(value, OF_CONTENT);
}

/** Whether it is a blob, with the same exception. */
export function isBlob(value: unknown): value is JsonObject & { readonly [BLOB]: string } {
  return isJsonObject(value) && typeof value[BLOB] === "string" && holdsOnly(value, OF_BLOB);
}

const BLOCKS = new Set<unknown>(["text", "image", "audio", "resource", "resource_link"]);
const RESULT = new Set(["content", "isError", "structuredContent", "_meta"]);

/**
 * Whether it is an MCP result as handlers of other servers return it, `{ content: [{ type, … }], isError? }`. As a domain value it
 * would be sent as data, and a failure as a success. Data that looks like it has other members too.
 */
export function isBareResult(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "content")) return false;
  const blocks: unknown = Reflect.get(value, "content");
  if (!Array.isArray(blocks) || !Object.keys(value).every((key) => RESULT.has(key))) return false;
  if (blocks.length === 0) return "isError" in value;
  return blocks.every((block: unknown) => typeof block === "object" && block !== null && "type" in block && BLOCKS.has(block.type));
}

/** The error for its author. */
export const BARE_RESULT =
  "is a result as MCP writes it, and here a value: return content([…], structured?), or for isError failure(…) or refuse(…)";

/** The key in an offer's `_meta` for the scopes that a caller's token needs. */
const SCOPES = "troupe/scopes";

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const NONE: readonly string[] = Object.freeze([]);
/** Stands for an invalid list of scopes. No token can have it, so a mistake never opens an offer. */
const UNOBTAINABLE: readonly string[] = Object.freeze(["(its definition names none that can be had)"]);

export const isScope = (value: unknown): value is string => typeof value === "string" && SCOPE.test(value);

const areScopes = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isScope);

/** The `_meta` of an offer with its scopes added. */
export const withScopes = (meta: JsonObject | undefined, scopes: readonly string[] | undefined): JsonObject | undefined =>
  scopes === undefined ? meta : { ...meta, [SCOPES]: scopes };

/** The scopes that an offer requires. */
export function scopesOf(definition: JsonObject): readonly string[] {
  const meta = definition["_meta"];
  if (!isJsonObject(meta) || !Object.hasOwn(meta, SCOPES)) return NONE;
  const wanted: unknown = meta[SCOPES];
  return areScopes(wanted) ? [...new Set(wanted)] : UNOBTAINABLE;
}

/** The required scopes that a caller does not have. */
export const missingScopes = (wanted: readonly string[], held: readonly string[]): readonly string[] =>
  wanted.length === 0 ? wanted : wanted.filter((one) => !held.includes(one));

/** The message for a caller without these scopes. */
export const missingScopesMessage = (scopes: readonly string[]): string =>
  `This needs the scope ${scopes.join(" ")}; sign in again with it.`;

/** Throws `BAD_DEFINITION` if the scopes in `meta` are invalid. */
export function checkScopes(meta: unknown, where: string): void {
  if (typeof meta !== "object" || meta === null || !Object.hasOwn(meta, SCOPES)) return;
  if (areScopes(Reflect.get(meta, SCOPES))) return;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where}: scopes are a list of texts without blanks, quotes and backslashes, as a token has them: ["admin"].`,
  );
}

/** A method of an extension, whose name is a domain and a word: `com.example/review/approve` belongs to `com.example/review`. */
const EXTENSION_METHOD = /^([a-z0-9-]+(?:\.[a-z0-9-]+)+\/[\w.-]+)\/[\w./-]+$/i;

/** The prefix of extensions among capabilities. */
export const EXTENSION = "extension:";

export function isExtensionMethod(method: string): boolean {
  return EXTENSION_METHOD.test(method);
}

/** The capability that a client must declare to receive this request, as named in `Message.can`. */
export function capabilityNeeded(method: string, params: JsonObject): string {
  const extension = EXTENSION_METHOD.exec(method)?.[1];
  if (extension !== undefined) return EXTENSION + extension;
  if (method === "sampling/createMessage") return params["tools"] === undefined ? "sampling" : "sampling.tools";
  if (method === "elicitation/create") return params["mode"] === "url" ? "elicitation.url" : "elicitation";
  return method.slice(0, method.indexOf("/"));
}

const MARK = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const DEEPEST = 16;
const PRIMITIVE = new Set<unknown>(["string", "integer", "boolean"]);

const NAMED = ["patternProperties", "dependentSchemas", "$defs", "definitions"];
const OTHERS = ["additionalProperties", "unevaluatedProperties", "propertyNames", "items", "prefixItems", "contains", "unevaluatedItems"];
const DECIDED = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/** A tool argument that clients repeat as an `Mcp-Param-*` header. */
export interface HeaderParameter {
  readonly path: readonly string[];
  /** Lower-case. */
  readonly header: string;
}

/** Finds header parameters reached through `properties` alone: conditional ones and list items cannot be sent as headers. */
export function headerParameters(schema: Json | undefined, path: readonly string[] = []): readonly HeaderParameter[] {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"]) || path.length >= DEEPEST) return [];
  return Object.entries(schema["properties"]).flatMap(([key, member]): readonly HeaderParameter[] => {
    const at = [...path, key];
    const name = isJsonObject(member) ? member[MARK] : undefined;
    const here = typeof name === "string" && TOKEN.test(name) ? [{ path: at, header: `mcp-param-${name.toLowerCase()}` }] : [];
    return [...here, ...headerParameters(member, at)];
  });
}

/** Throws `BAD_DEFINITION` for header parameters because of which MCP clients would silently drop the tool. */
export function checkHeaderParameters(schema: Json, where: string): void {
  const why = misplaced(schema, "", true) ?? doubled(schema);
  if (why !== undefined) throw new TroupeError("BAD_DEFINITION", `${where}: ${why}.`);
}

function misplaced(schema: Json | undefined, path: string, reachable: boolean): string | undefined {
  if (!isJsonObject(schema)) return undefined;
  const wrong = MARK in schema ? unfit(schema, path, reachable) : undefined;
  if (wrong !== undefined) return wrong;
  const within: (readonly [step: string, part: Json, reachable: boolean])[] = [];
  for (const word of ["properties", ...NAMED]) {
    const parts = schema[word];
    if (!isJsonObject(parts)) continue;
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

function unfit(schema: JsonObject, path: string, reachable: boolean): string | undefined {
  const at = `${path}/${MARK}`.slice(0, 200);
  if (!reachable || path === "") return `${at} is not on a property that is reached through properties alone`;
  const name = schema[MARK];
  if (typeof name !== "string" || !TOKEN.test(name)) return `${at} is no name of a header: 1 to 128 letters, digits or -`;
  return PRIMITIVE.has(schema["type"]) ? undefined : `${at} is on what has not the type string, integer or boolean`;
}

function doubled(schema: Json): string | undefined {
  const headers = headerParameters(schema).map(({ header }) => header);
  const twice = headers.find((header, at) => headers.indexOf(header) !== at);
  return twice === undefined ? undefined : `two arguments want to be repeated in the header ${twice}`;
}

export interface Admits {
  readonly json: boolean;
  readonly events: boolean;
}

/** An empty header admits nothing. */
export const readAccept = memoizeByString((text): Admits => {
  const qualities = new Map<string, number>();
  for (const range of text.split(",")) {
    const [type = "", ...parameters] = range.split(";");
    qualities.set(type.trim().toLowerCase(), quality(parameters));
  }
  // The most specific range decides (RFC 9110, 12.5.1).
  const admits = (type: string): boolean =>
    (qualities.get(type) ?? qualities.get(`${type.slice(0, type.indexOf("/"))}/*`) ?? qualities.get("*/*") ?? 0) > 0;
  return { json: admits("application/json"), events: admits("text/event-stream") };
});

function quality(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const match = /^\s*q\s*=\s*"?([0-9.]+)"?\s*$/i.exec(parameter);
    if (match !== null) return Number(match[1]);
  }
  return 1;
}

/** Whether both media types of a POST's answer are admitted, or one if `either` is enough. */
export function admitsReply({ json, events }: Admits, either: boolean): boolean {
  return either ? json || events : json && events;
}
