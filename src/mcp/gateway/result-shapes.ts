// Owns: results as text: what an actor returned as the content of each revision, cache hints, and the reply around them; the same for the
// console. Does not own: lists (list-pages.ts) and errors (errors.ts).
import { BLOB, CONTENT, isJsonObject, isList, type Json, type JsonObject, type ListName, type Reply } from "../../core/contract/index.ts";
import { hasOwn, isBlob, isContent, memoize, tryParseJson, wellFormed } from "../../core/contract/internal.ts";
import type { Members, SerialisedMembers } from "./call.ts";
import type { RequestId } from "./json-rpc.ts";
import type { CacheableMethod, Settings } from "./options.ts";
import { has, LATEST_MODERN, type Revision } from "./revision.ts";

const TEXT_HEAD = '"content":[{"type":"text","text":';
const NULL = `${TEXT_HEAD}"null"}]`;
const DONE = `${TEXT_HEAD}"Done."}]`;
const NUMBER_HEAD = `${TEXT_HEAD}"`;

/** A value as text. It is made well-formed here, since within a message its escapes are escaped and no longer found. */
const jsonText = (value: Json): string => wellFormed(JSON.stringify(value));

/** The members of a tool's result; JSON text without the braces. */
export function toolMembers(value: Json, definition: JsonObject, revision: Revision): string {
  if (typeof value === "string") {
    const members = `${TEXT_HEAD}${JSON.stringify(value)}}]`;
    return definition["outputSchema"] !== undefined && has(revision, "anyStructured")
      ? `${members},"structuredContent":${JSON.stringify(value)}`
      : members;
  }
  if (value === null) return nothingMembers(definition, revision);
  if (isContent(value)) return contentMembers(value[CONTENT], value, revision);
  // The JSON of a number is its text, and needs no escapes.
  if (typeof value === "number" && Number.isFinite(value)) {
    const members = `${NUMBER_HEAD}${value}"}]`;
    return mayStructure(value, revision) ? `${members},"structuredContent":${value}` : members;
  }
  const text = jsonText(value);
  const members = `${TEXT_HEAD}${JSON.stringify(text)}}]`;
  return mayStructure(value, revision) ? `${members},"structuredContent":${text}` : members;
}

// MCP allows empty content, but several agents and model APIs end the whole conversation because of it. A tool that only reads answers null.
function nothingMembers({ outputSchema, annotations }: JsonObject, revision: Revision): string {
  if (outputSchema !== undefined) return has(revision, "anyStructured") ? `${NULL},"structuredContent":null` : NULL;
  return isJsonObject(annotations) && annotations["readOnlyHint"] === true ? NULL : DONE;
}

function contentMembers(blocks: readonly Json[], { structured, isError }: JsonObject, revision: Revision): string {
  const error = typeof isError === "boolean" ? `,"isError":${isError}` : "";
  const members = `"content":${JSON.stringify(blocks.map((block) => shapeBlock(block, revision)))}${error}`;
  return structured === undefined || !mayStructure(structured, revision)
    ? members
    : `${members},"structuredContent":${JSON.stringify(structured)}`;
}

function mayStructure(value: Json, revision: Revision): boolean {
  return has(revision, isJsonObject(value) ? "structuredContent" : "anyStructured");
}

/** The failure of a tool, for the model that called it. */
export function toolError(message: string): string {
  return `${TEXT_HEAD}${JSON.stringify(message)}}],"isError":true`;
}

/** A content block in the shape of that revision; what it does not know becomes text. */
export function shapeBlock(block: Json, revision: Revision): Json {
  if (!isJsonObject(block)) return { type: "text", text: typeof block === "string" ? block : jsonText(block) };
  if (block["type"] === "audio" && !has(revision, "audio"))
    return { type: "text", text: `[audio${typeof block["mimeType"] === "string" ? ` ${block["mimeType"]}` : ""}]` };
  if (block["type"] === "resource_link" && !has(revision, "resourceLinks"))
    return { type: "text", text: [block["title"] ?? block["name"], block["uri"]].filter((part) => typeof part === "string").join(": ") };
  if (has(revision, "definitionMeta") || !("_meta" in block)) return block;
  const { _meta, ...rest } = block;
  return rest;
}

/** The members of a resource's result. */
export function resourceMembers(value: Json, uri: string, definition: JsonObject, revision: Revision): string {
  const { mimeType } = definition;
  const about = { uri, ...(typeof mimeType === "string" ? { mimeType } : undefined) };
  return `"contents":${JSON.stringify(contentsOf(value, about, revision))}`;
}

function contentsOf(value: Json, about: JsonObject, revision: Revision): readonly Json[] {
  if (typeof value === "string") return [{ ...about, text: value }];
  if (isBlob(value))
    return [{ ...about, ...(typeof value["mimeType"] === "string" ? { mimeType: value["mimeType"] } : undefined), blob: value[BLOB] }];
  if (isContent(value)) {
    return value[CONTENT].flatMap((block): readonly Json[] => {
      if (!isJsonObject(block)) return [];
      if (block["type"] === "resource" && isJsonObject(block["resource"])) return [block["resource"]];
      if (typeof block["data"] === "string")
        return [{ ...about, mimeType: block["mimeType"] ?? "application/octet-stream", blob: block["data"] }];
      const shaped = shapeBlock(block, revision);
      const type = typeof block["mimeType"] === "string" && block["type"] === "text" ? { mimeType: block["mimeType"] } : undefined;
      return [{ ...about, ...type, text: isJsonObject(shaped) && typeof shaped["text"] === "string" ? shaped["text"] : jsonText(shaped) }];
    });
  }
  return [{ ...about, mimeType: about["mimeType"] ?? "application/json", text: jsonText(value) }];
}

/** The members of a prompt's result. */
export function promptMembers(value: Json, definition: JsonObject, revision: Revision): string {
  const description = isJsonObject(value) && typeof value["description"] === "string" ? value["description"] : definition["description"];
  const head = typeof description === "string" ? `"description":${JSON.stringify(description)},` : "";
  return `${head}"messages":${JSON.stringify(messagesOf(value, revision))}`;
}

function messagesOf(value: Json, revision: Revision): readonly Json[] {
  if (value === null) return [];
  if (isJsonObject(value) && isList(value["messages"])) return value["messages"].map((message) => messageOf(message, revision));
  if (isContent(value)) return value[CONTENT].map((block) => ({ role: "user", content: shapeBlock(block, revision) }));
  return [{ role: "user", content: { type: "text", text: typeof value === "string" ? value : jsonText(value) } }];
}

function messageOf(message: Json, revision: Revision): Json {
  if (!isJsonObject(message)) return { role: "user", content: shapeBlock(message, revision) };
  const { content } = message;
  return { role: message["role"] === "assistant" ? "assistant" : "user", content: shapeBlock(content ?? "", revision) };
}

/** A complete JSON-RPC response around members that are text already; a page is not copied into it. */
export interface ReplyText {
  readonly head: string;
  readonly members: string | SerialisedMembers;
  readonly tail: string;
}

const idText = (id: RequestId): string => (typeof id === "number" ? String(id) : JSON.stringify(id));

/** The reply of legacy revisions: the members, and `_meta` if there is any. */
export function legacyReply(id: RequestId, { members, meta }: Members): ReplyText {
  const comma = members === "" ? "" : ",";
  return {
    head: `{"jsonrpc":"2.0","id":${idText(id)},"result":{`,
    members,
    tail: `${metaText(comma, meta)}}}`,
  };
}

/** Empty if there is none. */
function metaText(comma: string, meta: JsonObject | undefined): string {
  const text = meta === undefined ? "{}" : JSON.stringify(meta);
  return text === "{}" ? "" : `${comma}"_meta":${text}`;
}

const tailsOf = memoize((_serverMeta: JsonObject) => new Map<string, string>());

// The server is the same every time, and there are few different hints: by an identical text a page knows at once that it has this end already.
function tailOf(serverMeta: JsonObject, extra: string): string {
  const known = tailsOf(serverMeta);
  let tail = known.get(extra);
  if (tail === undefined) known.set(extra, (tail = `${extra}${metaText(",", serverMeta)}}}`));
  return tail;
}

/** The reply of 2026-07-28: its type first, then the members, `extra` (cache hints), and `_meta` with the server's name. */
export function modernReply(
  id: RequestId,
  { members, meta }: Members,
  type: "complete" | "input_required" | "task",
  extra: string,
  serverMeta: JsonObject,
): ReplyText {
  const comma = members === "" ? "" : ",";
  return {
    head: `{"jsonrpc":"2.0","id":${idText(id)},"result":{"resultType":"${type}"${comma}`,
    members,
    tail: meta === undefined ? tailOf(serverMeta, extra) : `${extra}${metaText(",", { ...serverMeta, ...meta })}}}`,
  };
}

export function wholeText(reply: string | ReplyText): string {
  if (typeof reply === "string") return reply;
  const { head, members, tail } = reply;
  return head + (typeof members === "string" ? members : members.text) + tail;
}

export function pieces({ head, members, tail }: ReplyText): string | readonly (string | Uint8Array)[] {
  return typeof members === "string" ? head + members + tail : [head, members.before(tail)];
}

// The catalogue changes only with the code, so what depends on it alone is valid for a while.
const CATALOGUE_TTL_MS = 60_000;
const DISCOVER_TTL_MS = 300_000;

const hintOf = (ttlMs: number, scope: "public" | "private"): string => `,"ttlMs":${ttlMs},"cacheScope":"${scope}"`;

const UNCACHED = hintOf(0, "private");
const CATALOGUE = hintOf(CATALOGUE_TTL_MS, "private");
const DISCOVERED = hintOf(DISCOVER_TTL_MS, "public");

const LISTS: ReadonlySet<string> = new Set(["tools/list", "resources/list", "resources/templates/list", "prompts/list"]);

export const isListMethod = (method: string): boolean => LISTS.has(method);

function isCacheable(method: string): method is CacheableMethod {
  return isListMethod(method) || method === "resources/read" || method === "server/discover";
}

/** The cache hint of a result of 2026-07-28, as members; empty if its method has none. `lasting`: it does not follow the state. */
export function cacheHints({ cacheHints: given, dialect }: Settings, method: string, params: JsonObject, lasting: boolean): string {
  if (!isCacheable(method)) return "";
  // A round of a call with answers is for its caller only.
  if (params["requestState"] !== undefined || params["inputResponses"] !== undefined) return UNCACHED;
  const hint = given[method];
  if (hint !== undefined) return hintOf(Math.max(0, Math.trunc(hint.ttlMs ?? 0)) || 0, hint.cacheScope ?? "private");
  if (!lasting || dialect.cachesNothing) return UNCACHED;
  return method === "server/discover" ? DISCOVERED : CATALOGUE;
}

/** What a client of the newest revision of MCP would get, for the console: no request led to it. Undefined: an error there, or a question. */
export function clientResult(list: ListName, reply: Reply, definition: JsonObject): JsonObject | undefined {
  const members = membersOf(list, reply, definition);
  const result = members === undefined ? undefined : tryParseJson(`{${members}}`);
  if (!isJsonObject(result)) return undefined;
  const meta = hasOwn(reply, "ok") && isContent(reply.ok) ? reply.ok["meta"] : undefined;
  return meta === undefined ? result : { ...result, _meta: meta };
}

function membersOf(list: ListName, reply: Reply, definition: JsonObject): string | undefined {
  if (!hasOwn(reply, "ok")) return list === "tools" && hasOwn(reply, "refused") ? toolError(reply.refused.message) : undefined;
  if (list === "tools") return toolMembers(reply.ok, definition, LATEST_MODERN);
  if (list === "prompts") return promptMembers(reply.ok, definition, LATEST_MODERN);
  const { uri = definition["uriTemplate"] } = definition;
  return resourceMembers(reply.ok, typeof uri === "string" ? uri : "", definition, LATEST_MODERN);
}
