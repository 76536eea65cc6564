import {
  type Closable,
  type JsonObject,
  type Caller,
  type CancelSignal,
  type Clock,
  type Gateway,
  type Json,
  systemClock,
  isList,
} from "../../core/contract/index.ts";
import { rpcMessage, type RpcId, unasked } from "./mcp-message.ts";
import { PACKET_VERSION } from "./packet.ts";
import { PacketError } from "./packet-error.ts";
import { TunnelConnection } from "./tunnel-connection.ts";
import { Open, OpenConnections } from "./tunnel-connections.ts";

/** What the tunnel of MCP inside packets (`mcp_request`) takes. */
export interface TunnelOptions {
  readonly gateway: Pick<Gateway, "connect">;
  readonly clock?: Clock;
  /** Sessions held at once; the one that was longest not used makes room. Default 1,000. */
  readonly sessions?: number;
  /** Of these, of one principal. Default 32. */
  readonly sessionsEach?: number;
  /** A session nobody used for so long is let go: its client begins another without knowing. Default 5 minutes. */
  readonly idleMs?: number;
  /** How long a request may take. Default 60,000. */
  readonly timeoutMs?: number;
}

/** Also a legacy client that never sent initialize is served: then with the newest revision that has one. */
const INITIALIZE_ID = "packetflow/initialize";
const INITIALIZE: JsonObject = {
  jsonrpc: "2.0",
  id: INITIALIZE_ID,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "packetflow", version: PACKET_VERSION } },
};

/**
 * MCP inside packets: each message goes through the whole gateway as its caller. One connection for each principal, its
 * `session_id`, its scopes and the protocol's era; a caller without a principal has one for each request, since nobody's
 * session is anybody's to name.
 */
export class McpTunnel implements Closable {
  readonly #gateway: Pick<Gateway, "connect">;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #open: OpenConnections;

  constructor(options: TunnelOptions) {
    const { gateway, clock = systemClock, sessions = 1_000, sessionsEach = 32, idleMs = 5 * 60_000, timeoutMs = 60_000 } = options;
    this.#gateway = gateway;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#open = new OpenConnections({ clock, most: sessions, mostEach: sessionsEach, idleMs });
  }

  /**
   * The JSON-RPC response, errors included; undefined to what has none (a notification). Throws `PacketError`:
   * `protocol_error` (a batch, an id that is taken, `subscriptions/listen`), `rate_limited`, `execution_failed` (not in
   * time), `cancelled`.
   */
  async request(
    message: Json,
    caller: Caller,
    session: string | undefined,
    options: { readonly signal?: CancelSignal | undefined } = {},
  ): Promise<JsonObject | undefined> {
    if (isList(message)) throw new PacketError("protocol_error", "mcp_message is one message: send each in a packet of its own.");
    const said = rpcMessage(message);
    if (said.kind === "other") return this.#judged(message, caller);
    if (said.kind === "notification") return this.#notified(message, said.cancels, caller, session);
    if (said.method === "subscriptions/listen")
      throw new PacketError("protocol_error", "A packet has one answer, and subscriptions/listen never ends: listen at the MCP endpoint.");
    const begins = said.method === "initialize" && !said.modern;
    const open = this.#openFor(caller, session, said.modern, begins);
    open.uses += 1;
    try {
      const refused = await open.initialized;
      if (refused !== undefined) {
        this.#open.drop(open);
        return { ...refused, id: said.id };
      }
      if (options.signal?.aborted === true) throw cancelled();
      const response = open.connection.request(said.id, begins ? unasked(said.message) : said.message);
      return await this.#inTime(open.connection, said.id, response, options.signal);
    } finally {
      open.uses -= 1;
      open.usedAt = this.#clock.now();
      if (caller.principal === undefined) void open.connection.close();
    }
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.close();
  }

  #openFor(caller: Caller, session: string | undefined, modern: boolean, begins: boolean): Open {
    const { principal } = caller;
    if (principal === undefined) return this.#begin(caller, modern || begins);
    const key = keyOf(caller, session, modern);
    const known = begins ? undefined : this.#open.get(key);
    if (known !== undefined) return known;
    this.#open.makeRoom(key, principal);
    const open = this.#begin(caller, modern || begins);
    this.#open.add(key, open);
    return open;
  }

  #begin(caller: Caller, asItIs: boolean): Open {
    const connection = new TunnelConnection(this.#gateway, caller);
    const initialized = asItIs
      ? undefined
      : connection.request(INITIALIZE_ID, INITIALIZE).then((response) => ("result" in response ? undefined : response));
    return new Open(caller.principal, connection, initialized ?? Promise.resolve(undefined), this.#clock.now());
  }

  // What is no proper message needs no session to be told so.
  #judged(message: Json, caller: Caller): JsonObject | undefined {
    const connection = new TunnelConnection(this.#gateway, caller);
    const complaint = connection.tell(message);
    void connection.close();
    return complaint;
  }

  #notified(message: Json, cancels: RpcId | undefined, caller: Caller, session: string | undefined): undefined {
    if (caller.principal === undefined) return undefined;
    for (const modern of [false, true]) {
      const connection = this.#open.get(keyOf(caller, session, modern))?.connection;
      if (cancels === undefined) connection?.tell(message);
      else connection?.cancel(cancels, cancelled());
    }
    return undefined;
  }

  async #inTime(
    connection: TunnelConnection,
    id: RpcId,
    response: Promise<JsonObject>,
    signal: CancelSignal | undefined,
  ): Promise<JsonObject> {
    const late = (): void =>
      connection.cancel(
        id,
        new PacketError("execution_failed", `No answer within ${this.#timeoutMs} ms; look what was done before you ask again.`, {
          timeout_ms: this.#timeoutMs,
        }),
      );
    const left = (): void => connection.cancel(id, cancelled());
    const undo = this.#clock.after(this.#timeoutMs, late);
    signal?.addEventListener("abort", left, { once: true });
    try {
      return await response;
    } finally {
      undo();
      signal?.removeEventListener("abort", left);
    }
  }
}

const cancelled = (): PacketError => new PacketError("cancelled", "The request was cancelled; what it has done stays done.");

// A connection acts with the scopes and claims it was made with, so others are another's.
const keyOf = ({ principal, scopes, claims }: Caller, session: string | undefined, modern: boolean): string =>
  JSON.stringify([principal ?? null, session ?? null, modern, claims ?? null, ...scopes.toSorted()]);
