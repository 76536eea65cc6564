import {
  type Caller,
  type Channel,
  type Connection,
  type Gateway,
  type Json,
  type JsonObject,
  isJsonObject,
} from "../../core/contract/index.ts";
import { memberOf } from "./packet-json.ts";
import { PacketError } from "./packet.ts";

interface PendingRequest {
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (why: PacketError) => void;
}

/** One client of the gateway whose messages come one by one in packets: each response goes to the request of its id. */
export class TunnelConnection {
  readonly #pending = new Map<RpcId, PendingRequest>();
  readonly #disconnected = new AbortController();
  readonly #connection: Connection;
  /** Answered while a message was taken in, and to nobody who waits: what was wrong with it. */
  #errorReply: JsonObject | undefined;

  constructor(gateway: Pick<Gateway, "connect">, caller: Caller) {
    const channel: Channel = {
      // Notifications have no packet to travel in: to a client that does not read, hardly any is made.
      ready: false,
      onReady: () => () => undefined,
      disconnected: this.#disconnected.signal,
      send: (text) => this.#onMessage(text),
      close: () => this.#rejectAll("The server has ended the MCP session: send the request again."),
    };
    this.#connection = gateway.connect(channel, caller);
  }

  /** The response to one request. Rejects with `cancelled` once it was called off, `protocol_error` where its id is taken. */
  request(id: RpcId, message: JsonObject): Promise<JsonObject> {
    if (this.#pending.has(id))
      return Promise.reject(
        new PacketError("protocol_error", `A request with the id ${JSON.stringify(id)} is still running: give each its own.`, { id }),
      );
    return new Promise<JsonObject>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      const errorReply = this.notify(message);
      if (errorReply?.["id"] === null && this.#pending.delete(id)) resolve(errorReply);
    });
  }

  /** A message that is no request; what the gateway finds wrong with it. */
  notify(message: Json): JsonObject | undefined {
    this.#errorReply = undefined;
    this.#connection.receive(JSON.stringify(message));
    const errorReply = this.#errorReply;
    this.#errorReply = undefined;
    return errorReply;
  }

  /** Whoever waits for that id waits no longer; what runs is told. */
  cancel(id: RpcId, why: PacketError): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.reject(why);
    this.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  /** Calls off what runs. Settles when it has ended. */
  async close(): Promise<void> {
    for (const id of this.#pending.keys()) this.cancel(id, new PacketError("cancelled", "The MCP session was closed."));
    await this.#connection.close();
    this.#disconnected.abort();
  }

  #onMessage(text: string): void {
    const message: Json = text === "" ? null : JSON.parse(text);
    if (!isJsonObject(message) || Object.hasOwn(message, "method")) return;
    const id = memberOf(message, "id");
    const pending = isRpcId(id) ? this.#pending.get(id) : undefined;
    if (isRpcId(id)) this.#pending.delete(id);
    if (pending === undefined) this.#errorReply = message;
    else pending.resolve(message);
  }

  #rejectAll(why: string): void {
    for (const { reject } of this.#pending.values()) reject(new PacketError("execution_failed", why));
    this.#pending.clear();
  }
}

export type RpcId = string | number;

/** What a JSON-RPC message wants of the tunnel. What is no proper request or notification the gateway judges. */
export type RpcMessage =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly modern: boolean; readonly message: JsonObject }
  /** `cancels`: the request it calls off. */
  | { readonly kind: "notification"; readonly cancels: RpcId | undefined }
  | { readonly kind: "other" };

const VERSION = "io.modelcontextprotocol/protocolVersion";

export function parseRpcMessage(message: Json): RpcMessage {
  if (!isJsonObject(message)) return { kind: "other" };
  const method = memberOf(message, "method");
  if (typeof method !== "string") return { kind: "other" };
  const params = paramsOf(message);
  if (!Object.hasOwn(message, "id")) {
    const cancels = method === "notifications/cancelled" ? memberOf(params, "requestId") : undefined;
    return { kind: "notification", cancels: isRpcId(cancels) ? cancels : undefined };
  }
  const id = memberOf(message, "id");
  if (!isRpcId(id)) return { kind: "other" };
  const meta = memberOf(params, "_meta");
  return {
    kind: "request",
    id,
    method,
    modern: method === "server/discover" || (isJsonObject(meta) && Object.hasOwn(meta, VERSION)),
    message,
  };
}

const isRpcId = (id: Json | undefined): id is RpcId => typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));

function paramsOf(message: JsonObject): JsonObject {
  const params = memberOf(message, "params");
  return isJsonObject(params) ? params : {};
}

/** An initialize of a client that cannot be asked anything: a packet has one answer, and no way back for another. */
export function withoutClientRequests(message: JsonObject): JsonObject {
  const params = paramsOf(message);
  const capabilities = memberOf(params, "capabilities");
  if (!isJsonObject(capabilities)) return message;
  const { elicitation: _elicitation, sampling: _sampling, roots: _roots, ...rest } = capabilities;
  return { ...message, params: { ...params, capabilities: rest } };
}

const W3C_TRACE = /^(?!0{32})[0-9a-f]{16}(?!0{16})[0-9a-f]{16}$/;

/** A call with the packet's trace, as MCP has it: W3C's `traceparent`, which takes only ids of that form, as those that are made up. */
export function withTraceparent(message: Json, trace_id: string): Json {
  if (!W3C_TRACE.test(trace_id) || !isJsonObject(message) || memberOf(message, "method") !== "tools/call") return message;
  const params = memberOf(message, "params");
  const meta = isJsonObject(params) ? (memberOf(params, "_meta") ?? {}) : undefined;
  if (!isJsonObject(params) || !isJsonObject(meta) || Object.hasOwn(meta, "traceparent")) return message;
  const traceparent = `00-${trace_id}-${trace_id.slice(16)}-01`;
  return { ...message, params: { ...params, _meta: { ...meta, traceparent } } };
}
