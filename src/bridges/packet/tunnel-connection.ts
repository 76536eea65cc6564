import {
  type JsonObject,
  type Caller,
  type Channel,
  type Connection,
  type Gateway,
  isJsonObject,
  type Json,
} from "../../core/contract/index.ts";
import { isId, type RpcId } from "./mcp-message.ts";
import { PacketError } from "./packet-error.ts";
import { memberOf } from "./packet-json.ts";

interface Waiting {
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (why: PacketError) => void;
}

/** One client of the gateway whose messages come one by one in packets: each response goes to the request of its id. */
export class TunnelConnection {
  readonly #waiting = new Map<RpcId, Waiting>();
  readonly #disconnected = new AbortController();
  readonly #connection: Connection;
  /** Answered while a message was taken in, and to nobody who waits: what was wrong with it. */
  #complaint: JsonObject | undefined;

  constructor(gateway: Pick<Gateway, "connect">, caller: Caller) {
    const channel: Channel = {
      // Notifications have no packet to travel in: to a client that does not read, hardly any is made.
      ready: false,
      onReady: () => () => undefined,
      disconnected: this.#disconnected.signal,
      send: (text) => this.#take(text),
      close: () => this.#end("The server has ended the MCP session: send the request again."),
    };
    this.#connection = gateway.connect(channel, caller);
  }

  /** The response to one request. Rejects with `cancelled` once it was called off, `protocol_error` where its id is taken. */
  request(id: RpcId, message: JsonObject): Promise<JsonObject> {
    if (this.#waiting.has(id))
      return Promise.reject(
        new PacketError("protocol_error", `A request with the id ${JSON.stringify(id)} is still running: give each its own.`, { id }),
      );
    return new Promise<JsonObject>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const complaint = this.tell(message);
      if (complaint?.["id"] === null && this.#waiting.delete(id)) resolve(complaint);
    });
  }

  /** A message that is no request; what the gateway finds wrong with it. */
  tell(message: Json): JsonObject | undefined {
    this.#complaint = undefined;
    this.#connection.receive(JSON.stringify(message));
    const complaint = this.#complaint;
    this.#complaint = undefined;
    return complaint;
  }

  /** Whoever waits for that id waits no longer; what runs is told. */
  cancel(id: RpcId, why: PacketError): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.reject(why);
    this.tell({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  }

  /** Calls off what runs. Settles when it has ended. */
  async close(): Promise<void> {
    for (const id of this.#waiting.keys()) this.cancel(id, new PacketError("cancelled", "The MCP session was closed."));
    await this.#connection.close();
    this.#disconnected.abort();
  }

  #take(text: string): void {
    const message: Json = text === "" ? null : JSON.parse(text);
    if (!isJsonObject(message) || Object.hasOwn(message, "method")) return;
    const id = memberOf(message, "id");
    const waiting = isId(id) ? this.#waiting.get(id) : undefined;
    if (isId(id)) this.#waiting.delete(id);
    if (waiting === undefined) this.#complaint = message;
    else waiting.resolve(message);
  }

  #end(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(new PacketError("execution_failed", why));
    this.#waiting.clear();
  }
}
