import type { JsonObject, Json } from "../../core/contract/index.ts";
import { type McpTunnel, PacketError } from "../../bridges/packet/index.ts";

/** A JSON-RPC request. */
export type McpRequest = {
  readonly jsonrpc: "2.0";
  readonly id: number | string;
  readonly method: string;
  readonly params?: JsonObject;
};

/** Of a tool call, the first three; of other methods what MCP says. */
export interface McpResult {
  readonly isError?: boolean;
  readonly content?: readonly Json[];
  readonly structuredContent?: Json;
  readonly [more: string]: Json | undefined;
}

/** An error of MCP inside a packet. */
export interface McpError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Either a result or an error. */
export interface McpResponse {
  readonly jsonrpc: "2.0";
  readonly id: number | string;
  readonly result?: McpResult;
  readonly error?: McpError;
}

/** A client of the whole gateway, one for each user. */
export function mcpExchange(tunnel: McpTunnel, defaultUser: string) {
  let id = 0;

  function mcpToolCall(name: string, args: JsonObject = {}): McpRequest {
    return { jsonrpc: "2.0", id: (id += 1), method: "tools/call", params: { name, arguments: args } };
  }

  async function executeMcpRequest(request: McpRequest, { user = defaultUser }: { readonly user?: string } = {}): Promise<McpResponse> {
    const response = await tunnel.request({ ...request }, { principal: user, scopes: [] }, undefined);
    if (response === undefined)
      throw new PacketError("protocol_error", `${request.method} without an id is a notification, which has no response: give it an id.`);
    if (isResponse(response)) return response;
    throw new PacketError("protocol_error", "What came back is no JSON-RPC response.", { response });
  }

  return { mcpToolCall, executeMcpRequest };
}

function isResponse(message: object): message is McpResponse {
  return ("result" in message && isObject(message.result)) || ("error" in message && isObject(message.error));
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
