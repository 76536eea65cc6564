import type { JsonObject } from "../../core/contract/index.ts";
import type { TestRequest } from "./message.ts";

type Id = number | string;

const request = (id: Id, method: string, params?: JsonObject): TestRequest => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? undefined : { params }),
});

/** `params` over those of a client that can nothing and speaks 2025-11-25. */
export const initializeRequest = (id: Id, params: JsonObject = {}): TestRequest =>
  request(id, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test-client", version: "1.0.0" },
    ...params,
  });
export const listToolsRequest = (id: Id, cursor?: string): TestRequest => request(id, "tools/list", page(cursor));
export const callToolRequest = (id: Id, name: string, args: JsonObject = {}, meta?: JsonObject): TestRequest =>
  request(id, "tools/call", { name, arguments: args, ...(meta === undefined ? undefined : { _meta: meta }) });
export const listResourcesRequest = (id: Id, cursor?: string): TestRequest => request(id, "resources/list", page(cursor));
export const readResourceRequest = (id: Id, uri: string): TestRequest => request(id, "resources/read", { uri });
export const listPromptsRequest = (id: Id, cursor?: string): TestRequest => request(id, "prompts/list", page(cursor));
export const getPromptRequest = (id: Id, name: string, args: Readonly<Record<string, string>> = {}): TestRequest =>
  request(id, "prompts/get", { name, arguments: args });

const page = (cursor: string | undefined): JsonObject | undefined => (cursor === undefined ? undefined : { cursor });
