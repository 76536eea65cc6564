// Owns: MCP inside packets (`mcp_request`): one gateway connection per client session, its reuse and limits.
//   Does not own: one connection (tunnel-connection.ts).
import {
  checkOptions,
  type OptionTable,
  type Caller,
  type CancelSignal,
  type Clock,
  type Closable,
  type Gateway,
  type Json,
  type JsonObject,
  isList,
  systemClock,
} from "../../core/contract/index.ts";
import { PACKET_VERSION, PacketError } from "./packet.ts";
import { type RpcId, TunnelConnection, parseRpcMessage, withoutClientRequests } from "./tunnel-connection.ts";

/** Options of the tunnel of MCP inside packets (`mcp_request`). */
export interface TunnelOptions {
  readonly gateway: Pick<Gateway, "connect">;
  readonly clock?: Clock;
  /** Sessions in memory at once; the least recently used one is evicted. Default 1,000. */
  readonly sessions?: number;
  /** Sessions of one principal. Default 32. */
  readonly sessionsEach?: number;
  /** An unused session is closed after this time; its client gets a new one transparently. Default 5 minutes. */
  readonly idleMs?: number;
  /** How long a request may take, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
}

const OPTIONS: OptionTable<TunnelOptions> = {
  gateway: true,
  clock: true,
  sessions: true,
  sessionsEach: true,
  idleMs: true,
  timeoutMs: true,
};

/** Initializes sessions of legacy clients that never sent `initialize`, at the newest revision that has it. */
const INITIALIZE_ID = "packetflow/initialize";
const INITIALIZE: JsonObject = {
  jsonrpc: "2.0",
  id: INITIALIZE_ID,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "packetflow", version: PACKET_VERSION } },
};

/**
 * MCP inside packets: each message passes the whole gateway as its caller. There is one connection for each principal, `session_id`, set of
 * scopes and era. A caller without a principal gets one per request, since otherwise anyone could name its session.
 */
export class McpTunnel implements Closable {
  readonly #gateway: Pick<Gateway, "connect">;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #open: TunnelSessions;

  constructor(options: TunnelOptions) {
    checkOptions("McpTunnel", options, OPTIONS);
    const { gateway, clock = systemClock, sessions = 1_000, sessionsEach = 32, idleMs = 5 * 60_000, timeoutMs = 60_000 } = options;
    this.#gateway = gateway;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#open = new TunnelSessions({ clock, max: sessions, maxPerPrincipal: sessionsEach, idleMs });
  }

  /**
   * The JSON-RPC response, errors included; undefined for a notification. Throws `PacketError`: `protocol_error` (a batch, an id in use,
   * `subscriptions/listen`), `rate_limited`, `execution_failed` (timeout), `cancelled`.
   */
  async request(
    message: Json,
    caller: Caller,
    session: string | undefined,
    options: { readonly signal?: CancelSignal | undefined } = {},
  ): Promise<JsonObject | undefined> {
    if (isList(message)) throw new PacketError("protocol_error", "mcp_message is one message: send each in a packet of its own.");
    const parsed = parseRpcMessage(message);
    if (parsed.kind === "other") return this.#invalidMessageReply(message, caller);
    if (parsed.kind === "notification") {
      this.#notify(message, parsed.cancels, caller, session);
      return undefined;
    }
    if (parsed.method === "subscriptions/listen")
      throw new PacketError("protocol_error", "A packet has one answer, and subscriptions/listen never ends: listen at the MCP endpoint.");
    const begins = parsed.method === "initialize" && !parsed.modern;
    const open = this.#openFor(caller, session, parsed.modern, begins);
    open.activeRequests += 1;
    try {
      const refused = await open.initialized;
      if (refused !== undefined) {
        this.#open.drop(open);
        return { ...refused, id: parsed.id };
      }
      if (options.signal?.aborted === true) throw cancelled();
      const { connection } = open;
      // Without a session_id, clients of one user share a session without knowing each other, and most begin to count at 1.
      const id = session === undefined ? connection.freeId(parsed.id) : parsed.id;
      const sent = begins ? withoutClientRequests(parsed.message) : parsed.message;
      const answer = connection.request(id, id === parsed.id ? sent : { ...sent, id }, parsed.id);
      const response = await this.#withTimeout(connection, id, answer, options.signal);
      return response["id"] === id ? { ...response, id: parsed.id } : response;
    } finally {
      open.activeRequests -= 1;
      open.lastUsedAt = this.#clock.now();
      if (caller.principal === undefined) void open.connection.close();
      else if (open.isReplaced && open.activeRequests === 0) this.#open.drop(open);
    }
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.close();
  }

  #openFor(caller: Caller, session: string | undefined, modern: boolean, begins: boolean): TunnelSession {
    const { principal } = caller;
    if (principal === undefined) return this.#begin(caller, modern || begins);
    const key = keyOf(caller, session, modern);
    const known = begins ? undefined : this.#open.get(key);
    if (known !== undefined) return known;
    this.#open.makeRoomFor(key, principal);
    const open = this.#begin(caller, modern || begins);
    this.#open.add(key, open);
    return open;
  }

  #begin(caller: Caller, isInitialized: boolean): TunnelSession {
    const connection = new TunnelConnection(this.#gateway, caller);
    const initialized = isInitialized
      ? Promise.resolve(undefined)
      : connection.request(INITIALIZE_ID, INITIALIZE).then((response) => ("result" in response ? undefined : response));
    const { principal } = caller;
    return { principal, connection, initialized, activeRequests: 0, isReplaced: false, lastUsedAt: this.#clock.now() };
  }

  // An invalid message is answered without a session.
  #invalidMessageReply(message: Json, caller: Caller): JsonObject | undefined {
    const connection = new TunnelConnection(this.#gateway, caller);
    const errorReply = connection.notify(message);
    void connection.close();
    return errorReply;
  }

  #notify(message: Json, cancels: RpcId | undefined, caller: Caller, session: string | undefined): void {
    if (caller.principal === undefined) return;
    if (cancels !== undefined && session === undefined) return this.#cancelOnly(cancels, caller);
    for (const modern of [false, true]) {
      const connection = this.#open.get(keyOf(caller, session, modern))?.connection;
      if (cancels === undefined) connection?.notify(message);
      else connection?.cancel(cancels, cancelled());
    }
  }

  /** Without a session_id, several clients of the user may have given this id: it is then unknown whose request is meant, and all go on. */
  #cancelOnly(given: RpcId, caller: Caller): void {
    const running = [false, true]
      .flatMap((modern) => this.#open.inUse(keyOf(caller, undefined, modern)))
      .flatMap(({ connection }) => connection.idsOf(given).map((id) => ({ connection, id })));
    const [only, ...others] = running;
    if (others.length === 0) only?.connection.cancel(only.id, cancelled());
  }

  async #withTimeout(
    connection: TunnelConnection,
    id: RpcId,
    response: Promise<JsonObject>,
    signal: CancelSignal | undefined,
  ): Promise<JsonObject> {
    const onTimeout = (): void =>
      connection.cancel(
        id,
        new PacketError("execution_failed", `No answer within ${this.#timeoutMs} ms; look what was done before you ask again.`, {
          timeout_ms: this.#timeoutMs,
        }),
      );
    const onAbort = (): void => connection.cancel(id, cancelled());
    const undo = this.#clock.after(this.#timeoutMs, onTimeout);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await response;
    } finally {
      undo();
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

const cancelled = (): PacketError => new PacketError("cancelled", "The request was cancelled; what it has done stays done.");

// A connection keeps the scopes and claims it was opened with, so they are part of the key.
const keyOf = ({ principal, scopes, claims }: Caller, session: string | undefined, modern: boolean): string =>
  JSON.stringify([principal ?? null, session ?? null, modern, claims ?? null, ...scopes.toSorted()]);

/** A gateway connection of one client. */
interface TunnelSession {
  readonly principal: string | undefined;
  readonly connection: TunnelConnection;
  /** The error reply to the implicit initialize; undefined if it succeeded. */
  readonly initialized: Promise<JsonObject | undefined>;
  /** Requests in progress. A session in use is not evicted. */
  activeRequests: number;
  /** Another `initialize` took its place: it ends with its last request. */
  isReplaced: boolean;
  /** Milliseconds since 1970. */
  lastUsedAt: number;
}

interface Bounds {
  readonly clock: Clock;
  readonly max: number;
  readonly maxPerPrincipal: number;
  readonly idleMs: number;
}

/** Sessions by key, least recently used first. Limited in total, per principal, and in idle time. */
class TunnelSessions {
  readonly #bounds: Bounds;
  readonly #open = new Map<string, TunnelSession>();
  #undoSweep: (() => void) | undefined;
  #closed = false;
  #replaced = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get(key: string): TunnelSession | undefined {
    const open = this.#open.get(key);
    if (open === undefined) return undefined;
    this.#open.delete(key);
    this.#open.set(key, open);
    open.lastUsedAt = this.#bounds.clock.now();
    return open;
  }

  /** Those of that key whose requests run: also the ones that another `initialize` has replaced. */
  inUse(key: string): readonly TunnelSession[] {
    return [...this.#open].flatMap(([one, open]) => (open.activeRequests > 0 && (one === key || one.startsWith(`${key} `)) ? [open] : []));
  }

  /**
   * Evicts sessions until there is room for that key. One in use that has the key goes on under another one until its requests have been
   * answered, since they may be those of another client of the same user. Throws `rate_limited` if all candidates are in use, `cancelled` once closed.
   */
  makeRoomFor(key: string, principal: string): void {
    if (this.#closed) throw new PacketError("cancelled", "The server is shutting down: send the packet again in a moment.");
    const before = this.#open.get(key);
    if (before?.activeRequests === 0) return this.#end(key, before);
    const own = [...this.#open].filter(([, open]) => open.principal === principal);
    if (own.length >= this.#bounds.maxPerPrincipal) this.#evict(own);
    if (this.#open.size >= this.#bounds.max) this.#evict([...this.#open]);
    if (before === undefined) return;
    before.isReplaced = true;
    this.#open.delete(key);
    this.#open.set(`${key} ${(this.#replaced += 1)}`, before);
  }

  add(key: string, open: TunnelSession): void {
    this.#open.set(key, open);
    this.#undoSweep ??= this.#bounds.clock.after(this.#bounds.idleMs, () => this.#sweep());
  }

  drop(open: TunnelSession): void {
    for (const [key, one] of this.#open) if (one === open) this.#end(key, open);
  }

  /** Cancels what runs in them. Resolves when it has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#undoSweep?.();
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #evict(among: readonly (readonly [string, TunnelSession])[]): void {
    const idle = among.find(([, { activeRequests }]) => activeRequests === 0);
    if (idle !== undefined) return this.#end(...idle);
    throw new PacketError("rate_limited", "As many MCP sessions as there may be are at work: wait for one, or use its session_id.", {
      limit: among.length,
      used: among.length,
      reset: 1,
    });
  }

  #end(key: string, { connection }: TunnelSession): void {
    this.#open.delete(key);
    void connection.close();
  }

  #sweep(): void {
    const { clock, idleMs } = this.#bounds;
    const now = clock.now();
    let next = idleMs;
    for (const [key, open] of this.#open) {
      const leftMs = open.activeRequests > 0 ? idleMs : open.lastUsedAt + idleMs - now;
      if (leftMs <= 0) this.#end(key, open);
      else next = Math.min(next, leftMs);
    }
    this.#undoSweep = this.#open.size === 0 ? undefined : clock.after(next, () => this.#sweep());
  }
}
