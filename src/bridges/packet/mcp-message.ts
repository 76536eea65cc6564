import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { memberOf } from "./packet-json.ts";

export type RpcId = string | number;

/** What a JSON-RPC message wants of the tunnel. What is no proper request or notification the gateway judges. */
export type RpcMessage =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly modern: boolean; readonly message: JsonObject }
  /** `cancels`: the request it calls off. */
  | { readonly kind: "notification"; readonly cancels: RpcId | undefined }
  | { readonly kind: "other" };

const VERSION = "io.modelcontextprotocol/protocolVersion";

export function rpcMessage(message: Json): RpcMessage {
  if (!isJsonObject(message)) return { kind: "other" };
  const method = memberOf(message, "method");
  if (typeof method !== "string") return { kind: "other" };
  const params = paramsOf(message);
  if (!Object.hasOwn(message, "id")) {
    const cancels = method === "notifications/cancelled" ? memberOf(params, "requestId") : undefined;
    return { kind: "notification", cancels: isId(cancels) ? cancels : undefined };
  }
  const id = memberOf(message, "id");
  if (!isId(id)) return { kind: "other" };
  const meta = memberOf(params, "_meta");
  return {
    kind: "request",
    id,
    method,
    modern: method === "server/discover" || (isJsonObject(meta) && Object.hasOwn(meta, VERSION)),
    message,
  };
}

export const isId = (id: Json | undefined): id is RpcId => typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));

function paramsOf(message: JsonObject): JsonObject {
  const params = memberOf(message, "params");
  return isJsonObject(params) ? params : {};
}

/** An initialize of a client that cannot be asked anything: a packet has one answer, and no way back for another. */
export function unasked(message: JsonObject): JsonObject {
  const params = paramsOf(message);
  const capabilities = memberOf(params, "capabilities");
  if (!isJsonObject(capabilities)) return message;
  const { elicitation: _elicitation, sampling: _sampling, roots: _roots, ...rest } = capabilities;
  return { ...message, params: { ...params, capabilities: rest } };
}

const W3C_TRACE = /^(?!0{32})[0-9a-f]{16}(?!0{16})[0-9a-f]{16}$/;

/** A call with the packet's trace, as MCP has it: W3C's `traceparent`, which takes only ids of that form, as those that are made up. */
export function traced(message: Json, trace_id: string): Json {
  if (!W3C_TRACE.test(trace_id) || !isJsonObject(message) || memberOf(message, "method") !== "tools/call") return message;
  const params = memberOf(message, "params");
  const meta = isJsonObject(params) ? (memberOf(params, "_meta") ?? {}) : undefined;
  if (!isJsonObject(params) || !isJsonObject(meta) || Object.hasOwn(meta, "traceparent")) return message;
  const traceparent = `00-${trace_id}-${trace_id.slice(16)}-01`;
  return { ...message, params: { ...params, _meta: { ...meta, traceparent } } };
}
