import {
  type Closable,
  type Caller,
  type Clock,
  type Engine,
  type Entropy,
  type Gateway,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";
import { InFlightMemoryBudget, omitUndefined } from "../../core/contract/internal.ts";
import { Actors } from "./actors.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Emitted } from "./capability.ts";
import { McpTunnel } from "./mcp-tunnel.ts";
import { Session } from "./packet-session.ts";
import { PacketError, type ReplyPacket } from "./packet.ts";
import { Running } from "./running.ts";
import type { CastOptions } from "../../mcp/source/index.ts";
import { noServers, type Servers } from "./upstream-server.ts";
import { capabilitySource, type CapabilitySourceOptions } from "./capability-source.ts";

/** What `new PacketFlow` takes. */
export interface PacketFlowOptions {
  readonly capabilities: Capabilities;
  /** Knows the kinds of `capabilities`. */
  readonly engine: Engine;
  readonly actors?: {
    /** Of capabilities that do not say when their actors end: idle for so long. Default 30 minutes. */
    readonly defaultTimeoutMs?: number;
    /** Of one user at a time. Default 10. */
    readonly maxPerUser?: number;
    /** How long an actor's reply may take. Default 30 s. */
    readonly replyMs?: number;
  };
  /** As of the `cast` that serves the same actors over MCP: handles of one are then good for both. */
  readonly handles?: CastOptions["handles"];
  /** How long what runs without an actor may take. Default 30 s. */
  readonly executionMs?: number;
  /** Tool servers that capabilities without actors may call. */
  readonly servers?: Servers;
  /** Takes a token of whoever asks; what it says otherwise is why not, `reset` in seconds. Default: no limit. */
  readonly admit?: (caller: Caller) => { readonly limit: number; readonly used: number; readonly reset: number } | undefined;
  /** What packets take that are being worked on, of all callers together, in bytes, about; half of it is the most for one. Default 256 MiB. */
  readonly heldBytes?: number;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** What failed inside, and the packet's type and capability. Default: nothing is told. */
  readonly onFault?: (
    error: unknown,
    about: { readonly type: string; readonly capability_id?: string; readonly trace_id?: string },
  ) => void;
}

/** Options of `PacketFlow.source`. */
export type FlowSourceOptions = Omit<CapabilitySourceOptions, "capabilities" | "actors" | "run" | "engine">;

/** Who a session is for. */
export interface Reception {
  readonly caller: Caller;
  /** Where progress goes. Absent: nowhere. */
  readonly tell?: (packet: ReplyPacket) => void;
}

/** Packets of one client, and what of them is under way. */
export interface PacketSession {
  /** One packet as text. Always answers with a packet, never throws. */
  receive(text: string | Uint8Array): Promise<ReplyPacket>;
  /** The client has gone: what runs is cancelled. Settles when it has ended. */
  close(): Promise<void>;
}

const DEFAULT_HELD_BYTES = 256 * 1_048_576;

const memoryExceeded = (): PacketError =>
  new PacketError("rate_limited", "Too much that was sent here is still being worked on: send the packet again in a moment.", {
    limit: DEFAULT_HELD_BYTES,
    used: DEFAULT_HELD_BYTES,
    reset: 1,
  });

/** Capabilities behind packets. Throws `BAD_DEFINITION` where the engine does not know a kind of theirs. Transports open a session for each caller; MCP is a source made of the same. */
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
      idleMs: actors.defaultTimeoutMs ?? 30 * 60_000,
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

  /** As MCP has them: for a gateway, beside other sources. Dispose of it before the flow. */
  source(options: FlowSourceOptions = {}): ReturnType<typeof capabilitySource> {
    const { capabilities, actors, running } = this;
    const run: CapabilitySourceOptions["run"] = (id, payload, how) => running.run(id, payload, how);
    return capabilitySource({ ...options, capabilities, actors, run, engine: this.#options.engine });
  }

  /** From here on `mcp_request` goes through that gateway; it may take twice what a reply and an execution may, at least a minute. */
  tunnelTo(gateway: Pick<Gateway, "connect">): void {
    const { actors, executionMs = 30_000 } = this.#options;
    // What takes too long is to say so itself, before its request is given up.
    const timeoutMs = 2 * Math.max(30_000, executionMs, actors?.replyMs ?? 0);
    this.#tunnel = new McpTunnel({ gateway, clock: this.#clock, timeoutMs });
  }

  /** For one connection, or one HTTP request. */
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
          this.#options.onFault?.(error, {
            type,
            ...omitUndefined({ capability_id, trace_id }),
          }),
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

  /** After the commit. Returns its undo. */
  onEffect(listener: (emitted: Emitted) => void): () => void {
    const own = (emitted: Emitted): void => listener(emitted);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  /** Cancels what runs. The engine stays its owner's. */
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
