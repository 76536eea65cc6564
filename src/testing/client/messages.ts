// Owns: JSON-RPC messages of the test client: their types, builders of requests, and the shapes of results. Does not own: sending
// them (conversation.ts).
import { AssertionError } from "node:assert/strict";
import { inspect } from "node:util";
import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";

/** A JSON-RPC request, as made by the builders. */
export interface TestRequest {
  readonly jsonrpc: "2.0";
  readonly id: number | string;
  readonly method: string;
  readonly params?: JsonObject;
}

/** The error of a JSON-RPC response. */
export interface ReplyError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** A JSON-RPC response: either a result or an error. */
export interface TestReply {
  readonly jsonrpc: "2.0";
  /** Null if the server could not read the request's id. */
  readonly id: number | string | null;
  readonly result?: JsonObject;
  readonly error?: ReplyError;
}

/** A JSON-RPC notification. */
export interface Notification {
  readonly method: string;
  readonly params: JsonObject;
}

/** A JSON-RPC request of the server to its client. */
export interface Question extends Notification {
  readonly id: number | string;
}

export const isJsonObjects = (value: unknown): value is readonly JsonObject[] => Array.isArray(value) && value.every(isJsonObject);

/** The member if it is an object, otherwise an empty object. */
export const objectIn = (bag: JsonObject | undefined, name: string): JsonObject => {
  const value = bag?.[name];
  return isJsonObject(value) ? value : {};
};

/** Undefined: the text is not JSON. */
export function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

export function isReply(message: unknown): message is TestReply {
  return isJsonObject(message) && "id" in message && (isJsonObject(message["result"]) || isReplyError(message["error"]));
}

const isReplyError = (value: unknown): boolean =>
  isJsonObject(value) && typeof value["code"] === "number" && typeof value["message"] === "string";

export function questionIn(message: JsonObject): Question | undefined {
  const { id, method } = message;
  if (typeof method !== "string" || (typeof id !== "number" && typeof id !== "string")) return undefined;
  return { id, method, params: objectIn(message, "params") };
}

export function notificationIn(message: JsonObject): Notification | undefined {
  const { id, method } = message;
  return typeof method === "string" && id === undefined ? { method, params: objectIn(message, "params") } : undefined;
}

type Id = number | string;

const request = (id: Id, method: string, params?: JsonObject): TestRequest => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? undefined : { params }),
});

/**
 * `initialize`. `params` override those of a client of revision 2025-11-25 without capabilities.
 *
 * @example
 * ```ts
 * import { initializeRequest } from "troupe/testing";
 *
 * initializeRequest(1, { protocolVersion: "2025-06-18", capabilities: { elicitation: {} } });
 * ```
 */
export const initializeRequest = (id: Id, params: JsonObject = {}): TestRequest =>
  request(id, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test-client", version: "1.0.0" },
    ...params,
  });
/**
 * `tools/list`, or its page from a cursor on.
 *
 * @example
 * ```ts
 * import { listToolsRequest } from "troupe/testing";
 *
 * listToolsRequest(1);
 * ```
 */
export const listToolsRequest = (id: Id, cursor?: string): TestRequest => request(id, "tools/list", page(cursor));
/**
 * `tools/call`. `meta` is its `_meta`.
 *
 * @example
 * ```ts
 * import { callToolRequest } from "troupe/testing";
 *
 * callToolRequest(1, "add", { by: 2 }, { progressToken: "p" });
 * ```
 */
export const callToolRequest = (id: Id, name: string, args: JsonObject = {}, meta?: JsonObject): TestRequest =>
  request(id, "tools/call", { name, arguments: args, ...(meta === undefined ? undefined : { _meta: meta }) });
/**
 * `resources/list`, or its page from a cursor on.
 *
 * @example
 * ```ts
 * import { listResourcesRequest } from "troupe/testing";
 *
 * listResourcesRequest(1);
 * ```
 */
export const listResourcesRequest = (id: Id, cursor?: string): TestRequest => request(id, "resources/list", page(cursor));
/**
 * `resources/read` of one URI.
 *
 * @example
 * ```ts
 * import { readResourceRequest } from "troupe/testing";
 *
 * readResourceRequest(1, "door://state");
 * ```
 */
export const readResourceRequest = (id: Id, uri: string): TestRequest => request(id, "resources/read", { uri });
/**
 * `prompts/list`, or its page from a cursor on.
 *
 * @example
 * ```ts
 * import { listPromptsRequest } from "troupe/testing";
 *
 * listPromptsRequest(1);
 * ```
 */
export const listPromptsRequest = (id: Id, cursor?: string): TestRequest => request(id, "prompts/list", page(cursor));
/**
 * `prompts/get` of one prompt, with its arguments.
 *
 * @example
 * ```ts
 * import { getPromptRequest } from "troupe/testing";
 *
 * getPromptRequest(1, "review", { text: "Hello." });
 * ```
 */
export const getPromptRequest = (id: Id, name: string, args: Readonly<Record<string, string>> = {}): TestRequest =>
  request(id, "prompts/get", { name, arguments: args });

const page = (cursor: string | undefined): JsonObject | undefined => (cursor === undefined ? undefined : { cursor });

/** An entry of a list of the server. */
export type Definition = JsonObject & { readonly name: string };
/** A resource as `resources/list` lists it. */
export type ResourceDefinition = Definition & { readonly uri: string };
/** A template as `resources/templates/list` lists it. */
export type TemplateDefinition = Definition & { readonly uriTemplate: string };
/** A tool's result without its `structuredContent`. */
export type ToolResultParts = JsonObject & {
  readonly content: readonly JsonObject[];
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
};
/** The result of `tools/call`. */
export type ToolResult = ToolResultParts & { readonly structuredContent?: Json };
/** The result of `resources/read`. */
export type ResourceResult = JsonObject & { readonly contents: readonly JsonObject[] };
/** The result of `prompts/get`. */
export type PromptResult = JsonObject & { readonly messages: readonly JsonObject[] };

const named = (bag: JsonObject): bag is Definition => typeof bag["name"] === "string";
const located = (bag: JsonObject): bag is ResourceDefinition => named(bag) && typeof bag["uri"] === "string";
const templated = (bag: JsonObject): bag is TemplateDefinition => named(bag) && typeof bag["uriTemplate"] === "string";

const toolResult = (bag: JsonObject): bag is ToolResult =>
  isJsonObjects(bag["content"]) &&
  ["boolean", "undefined"].includes(typeof bag["isError"]) &&
  (bag["_meta"] === undefined || isJsonObject(bag["_meta"]));
const resourceResult = (bag: JsonObject): bag is ResourceResult => isJsonObjects(bag["contents"]);
const promptResult = (bag: JsonObject): bag is PromptResult => isJsonObjects(bag["messages"]);

/** Checks of the shape of each result. */
export const shapes = { named, located, templated, toolResult, resourceResult, promptResult };

/** The value, if it has that shape. Throws an `AssertionError`. */
export function shaped<T extends JsonObject>(method: string, value: JsonObject, fits: (bag: JsonObject) => bag is T): T {
  if (fits(value)) return value;
  throw new AssertionError({ message: `${method} answered what is no such result:\n${inspect(value, { depth: 4 })}`, actual: value });
}

export function listed<T extends JsonObject>(
  method: string,
  result: JsonObject,
  list: string,
  fits: (bag: JsonObject) => bag is T,
): readonly T[] {
  const items = result[list];
  if (isJsonObjects(items)) return items.map((item) => shaped(method, item, fits));
  throw new AssertionError({ message: `${method} answered without a list of ${list}:\n${inspect(result, { depth: 4 })}`, actual: result });
}
