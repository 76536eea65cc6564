import type { JsonObject } from "../../core/contract/index.ts";
import type { TestRequest } from "./message.ts";

type Id = number | string;

const request = (id: Id, method: string, params?: JsonObject): TestRequest => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? undefined : { params }),
});

/**
 * `params` over those of a client that can nothing and speaks 2025-11-25.
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
