// Owns: one gateway connection whose JSON-RPC messages travel in packets, and reading such messages.
//   Does not own: which connection a packet uses (mcp-tunnel.ts).
import {
  type Caller,
  type Channel,
  type Connection,
  type Gateway,
  type Json,
  type JsonObject,
  isJsonObject,
} from "../../core/contract/index.ts";
import { getOwn } from "../../core/contract/internal.ts";
import { PacketError } from "./packet.ts";

interface PendingRequest {
  /** The id that its client gave it. */
  readonly given: RpcId;
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (why: PacketError) => void;
}

/** One client of the gateway whose messages arrive in packets. Responses are matched to requests by id. */
export class TunnelConnection {
  readonly #pending = new Map<RpcId, PendingRequest>();
  readonly #disconnected = new AbortController();
  readonly #connection: Connection;
  #others = 0;
  /** A reply to no pending request, sent while a message was being received: the gateway's error about that message. */
  #errorReply: JsonObject | undefined;

  constructor(gateway: Pick<Gateway, "connect">, caller: Caller) {
    const channel: Channel = {
      // A packet cannot carry notifications. The gateway sends almost none to a client that does not read.
      ready: false,
      onReady: () => () => undefined,
      disconnected: this.#disconnected.signal,
      send: (text) => this.#onMessage(text),
      close: () => this.#rejectAll("The server has ended the MCP session: send the request again."),
    };
    this.#connection = gateway.connect(channel, caller);
  }

  /** The id itself, or another one while a request has it. */
  freeId(id: RpcId): RpcId {
    let free = id;
    while (this.#pending.has(free)) free = `packetflow/${(this.#others += 1)}`;
    return free;
  }

  /** The ids here of running requests to which their clients gave this one. */
  idsOf(given: RpcId): readonly RpcId[] {
    return [...this.#pending].filter(([, one]) => one.given === given).map(([id]) => id);
  }

  /**
   * Resolves to the response. Rejects with `cancelled` after `cancel`, with `protocol_error` if the id is in use. `given`: the id that the
   * client gave it.
   */
  request(id: RpcId, message: JsonObject, given = id): Promise<JsonObject> {
    if (this.#pending.has(id))
      return Promise.reject(
        new PacketError("protocol_error", `A request with the id ${JSON.stringify(id)} is still running: give each its own.`, { id }),
      );
    return new Promise<JsonObject>((resolve, reject) => {
      this.#pending.set(id, { given, resolve, reject });
      const errorReply = this.notify(message);
      if (errorReply?.["id"] === null && this.#pending.delete(id)) resolve(errorReply);
    });
  }

  /** Sends a message that is not a request. Returns the gateway's error about it, if any. */
  notify(message: Json): JsonObject | undefined {
    this.#errorReply = undefined;
    this.#connection.receive(JSON.stringify(message));
    const errorReply = this.#errorReply;
    this.#errorReply = undefined;
    return errorReply;
  }

  /** Rejects the pending request, and tells the gateway to cancel it. */
  cancel(id: RpcId, why: PacketError): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.reject(why);
    this.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  /** Cancels what runs. Resolves when it has ended. */
  async close(): Promise<void> {
    for (const id of this.#pending.keys()) this.cancel(id, new PacketError("cancelled", "The MCP session was closed."));
    await this.#connection.close();
    this.#disconnected.abort();
  }

  #onMessage(text: string): void {
    const message: Json = text === "" ? null : JSON.parse(text);
    if (!isJsonObject(message) || Object.hasOwn(message, "method")) return;
    const id = getOwn(message, "id");
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

/** What the tunnel needs to know of a JSON-RPC message. `other`: the gateway replies with an error. */
type RpcMessage =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly modern: boolean; readonly message: JsonObject }
  /** `cancels`: the id of the request to cancel. */
  | { readonly kind: "notification"; readonly cancels: RpcId | undefined }
  | { readonly kind: "other" };

const VERSION = "io.modelcontextprotocol/protocolVersion";

export function parseRpcMessage(message: Json): RpcMessage {
  if (!isJsonObject(message)) return { kind: "other" };
  const method = getOwn(message, "method");
  if (typeof method !== "string") return { kind: "other" };
  const params = paramsOf(message);
  if (!Object.hasOwn(message, "id")) {
    const cancels = method === "notifications/cancelled" ? getOwn(params, "requestId") : undefined;
    return { kind: "notification", cancels: isRpcId(cancels) ? cancels : undefined };
  }
  const id = getOwn(message, "id");
  if (!isRpcId(id)) return { kind: "other" };
  const meta = getOwn(params, "_meta");
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
  const params = getOwn(message, "params");
  return isJsonObject(params) ? params : {};
}

/** An `initialize` without client features that the server could request: a packet has one reply, and no way to answer back. */
export function withoutClientRequests(message: JsonObject): JsonObject {
  const params = paramsOf(message);
  const capabilities = getOwn(params, "capabilities");
  if (!isJsonObject(capabilities)) return message;
  const { elicitation: _elicitation, sampling: _sampling, roots: _roots, ...rest } = capabilities;
  return { ...message, params: { ...params, capabilities: rest } };
}

const W3C_TRACE = /^(?!0{32})[0-9a-f]{16}(?!0{16})[0-9a-f]{16}$/;

/** Adds the packet's trace to a tool call, as W3C `traceparent`. Skipped if the trace id does not have that form; generated ids do. */
export function withTraceparent(message: Json, trace_id: string): Json {
  if (!W3C_TRACE.test(trace_id) || !isJsonObject(message) || getOwn(message, "method") !== "tools/call") return message;
  const params = getOwn(message, "params");
  const meta = isJsonObject(params) ? (getOwn(params, "_meta") ?? {}) : undefined;
  if (!isJsonObject(params) || !isJsonObject(meta) || Object.hasOwn(meta, "traceparent")) return message;
  const traceparent = `00-${trace_id}-${trace_id.slice(16)}-01`;
  return { ...message, params: { ...params, _meta: { ...meta, traceparent } } };
}
