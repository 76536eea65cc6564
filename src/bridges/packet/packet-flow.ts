// Owns: `PacketFlow`: a system of capabilities with its actors, sessions, MCP source and MCP tunnel.
//   Does not own: one client's packets (packet-session.ts), transports (endpoints.ts).
import {
  type Caller,
  checkOptions,
  type Clock,
  type Closable,
  type Engine,
  type Entropy,
  FUNCTION,
  type Gateway,
  type OptionTable,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";
import { InFlightMemoryBudget, OBJECT, omitUndefined, SIZE } from "../../core/contract/internal.ts";
import { Actors } from "./actors.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Emitted } from "./capability.ts";
import { McpTunnel } from "./mcp-tunnel.ts";
import { Session } from "./packet-session.ts";
import { DEFAULT_IDLE_MS, PacketError, type ReplyPacket } from "./packet.ts";
import { Running } from "./running.ts";
import type { CastOptions } from "../../mcp/source/index.ts";
import { noServers, type Servers } from "./upstream-interface.ts";
import { capabilitySource, type CapabilitySourceOptions } from "./capability-source.ts";

/** Options of `PacketFlow`. */
export interface PacketFlowOptions {
  readonly capabilities: Capabilities;
  /** Must know the kinds of `capabilities`. */
  readonly engine: Engine;
  readonly actors?: {
    /** Idle timeout of actors whose definition has none. Default 30 minutes. */
    readonly defaultTimeoutMs?: number;
    /** Actors of one user at a time. Default 10. */
    readonly maxPerUser?: number;
    /** How long an actor's reply may take. Default 30 s. */
    readonly replyMs?: number;
  };
  /** The same as for the `cast` that serves these actors over MCP; handles are then valid in both. */
  readonly handles?: CastOptions["handles"];
  /** Limit on capabilities without an actor. Default 30 s. */
  readonly executionMs?: number;
  /** Tool servers that capabilities without actors may call. */
  readonly servers?: Servers;
  /** Rate limit: takes one token of the caller. Returns the exceeded limit, with `reset` in seconds, to refuse. Default: no limit. */
  readonly admit?: (caller: Caller) => { readonly limit: number; readonly used: number; readonly reset: number } | undefined;
  /** Approximate memory in bytes of large packets in progress, all callers together; one caller may use half. Default 256 MiB. */
  readonly heldBytes?: number;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** Receives internal failures, with the packet's type and capability. Default: ignored. */
  readonly onFault?: (
    error: unknown,
    about: { readonly type: string; readonly capability_id?: string; readonly trace_id?: string },
  ) => void;
}

/** Options of `PacketFlow.source`. */
export type FlowSourceOptions = Omit<CapabilitySourceOptions, "capabilities" | "actors" | "run" | "engine">;

/** The caller of a session. */
export interface Reception {
  readonly caller: Caller;
  /** Receives progress. Absent: progress is dropped. */
  readonly tell?: (packet: ReplyPacket) => void;
}

/** The packets of one client. */
export interface PacketSession {
  /** Handles one packet as text. Always resolves to a packet, never throws. */
  receive(text: string | Uint8Array): Promise<ReplyPacket>;
  /** For a disconnected client: cancels what runs, and resolves when it has ended. */
  close(): Promise<void>;
}

const DEFAULT_HELD_BYTES = 256 * 1_048_576;

const memoryExceeded = (): PacketError =>
  new PacketError("rate_limited", "Too much that was sent here is still being worked on: send the packet again in a moment.", {
    limit: DEFAULT_HELD_BYTES,
    used: DEFAULT_HELD_BYTES,
    reset: 1,
  });

const OPTIONS: OptionTable<PacketFlowOptions> = {
  capabilities: true,
  engine: true,
  actors: OBJECT,
  handles: true,
  executionMs: true,
  servers: true,
  admit: FUNCTION,
  heldBytes: SIZE,
  clock: true,
  entropy: true,
  onFault: FUNCTION,
};

/**
 * Runs capabilities for packets. Throws `BAD_DEFINITION` if the engine does not know one of their kinds. Transports open a session for each
 * caller; `source` offers the same capabilities over MCP.
 */
export class PacketFlow implements Closable {
  readonly capabilities: Capabilities;
  readonly actors: Actors;
  readonly running: Running;
  readonly #options: PacketFlowOptions;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #listeners = new Set<(emitted: Emitted) => void>();
  readonly #memoryBudget: InFlightMemoryBudget;
  readonly #sessions = new Set<Session>();
  readonly #unbind: () => void;
  #tunnel: McpTunnel | undefined;

  constructor(options: PacketFlowOptions) {
    checkOptions("PacketFlow", options, OPTIONS);
    const { capabilities, engine, actors = {}, clock = systemClock, entropy = systemEntropy, servers = noServers } = options;
    this.#options = options;
    this.#clock = clock;
    this.#entropy = entropy;
    this.#memoryBudget = new InFlightMemoryBudget(options.heldBytes ?? DEFAULT_HELD_BYTES, memoryExceeded);
    this.capabilities = capabilities;
    this.actors = new Actors({
      engine,
      capabilities,
      clock,
      maxPerUser: actors.maxPerUser ?? 10,
      idleMs: actors.defaultTimeoutMs ?? DEFAULT_IDLE_MS,
      replyMs: actors.replyMs ?? 30_000,
      entropy,
      ...omitUndefined({ handles: options.handles }),
    });
    this.running = new Running({
      capabilities,
      actors: this.actors,
      clock,
      entropy,
      servers,
      timeoutMs: options.executionMs ?? 30_000,
      elapsed: () => performance.now(),
      emitted: (emitted) => this.#notifyListeners(emitted),
      fault: (error, about) => options.onFault?.(error, { type: "capability", ...about }),
    });
    this.#unbind = capabilities.runOn(engine, (...args) => this.running.run(...args));
  }

  /** The capabilities as an MCP source, for a gateway. Dispose of it before the flow. */
  source(options: FlowSourceOptions = {}): ReturnType<typeof capabilitySource> {
    const { capabilities, actors, running } = this;
    return capabilitySource({ ...options, capabilities, actors, run: (...run) => running.run(...run), engine: this.#options.engine });
  }

  /** Routes `mcp_request` packets through that gateway. They may take twice as long as a reply or an execution, at least a minute. */
  tunnelTo(gateway: Pick<Gateway, "connect">): void {
    const { actors, executionMs = 30_000 } = this.#options;
    // The gateway's own timeout should report first, since it knows more.
    const timeoutMs = 2 * Math.max(30_000, executionMs, actors?.replyMs ?? 0);
    this.#tunnel = new McpTunnel({ gateway, clock: this.#clock, timeoutMs });
  }

  /** One session for each connection or HTTP request. */
  open(reception: Reception): PacketSession {
    const session: Session = new Session(
      {
        running: this.running,
        tunnel: this.#tunnel,
        admit: (caller) => this.#admit(caller),
        memoryBudget: this.#memoryBudget,
        traceId: () => this.#entropy.hex(16),
        elapsed: () => performance.now(),
        fault: (error, { type, capability_id, context: { trace_id } }) =>
          this.#options.onFault?.(error, { type, ...omitUndefined({ capability_id, trace_id }) }),
      },
      reception,
    );
    this.#sessions.add(session);
    return {
      receive: (text) => session.receive(text),
      close: async () => {
        this.#sessions.delete(session);
        await session.close();
      },
    };
  }

  /** Notifies of effects, after the commit. Returns a function that unsubscribes. */
  onEffect(listener: (emitted: Emitted) => void): () => void {
    const own = (emitted: Emitted): void => listener(emitted);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  /** Cancels what runs. Does not stop the engine. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#unbind();
    await Promise.all([...this.#sessions].map((session) => session.close()));
    this.#sessions.clear();
    await this.#tunnel?.[Symbol.asyncDispose]();
  }

  #admit(caller: Caller): void {
    const over = this.#options.admit?.(caller);
    if (over !== undefined) throw new PacketError("rate_limited", `Too many packets: try again in ${over.reset} s.`, over);
  }

  #notifyListeners(emitted: Emitted): void {
    for (const listener of this.#listeners)
      try {
        listener(emitted);
      } catch (error) {
        this.#options.onFault?.(error, { type: "effect", capability_id: emitted.capability_id, trace_id: emitted.trace_id });
      }
  }
}
