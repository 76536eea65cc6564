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
