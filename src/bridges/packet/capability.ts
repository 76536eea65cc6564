// Owns: the types of a capability: its contract, its three implementations, its effects, how it is run.
//   Does not own: how authors define one (define-capability.ts, define-actor.ts).
import type {
  ActorId,
  Behaviour,
  CancelSignal,
  Clock,
  Json,
  JsonObject,
  Log,
  OfferRef,
  Outgoing,
  Policy,
  Progress,
  Reply,
  Snapshot,
  Viewer,
} from "../../core/contract/index.ts";
import type { ActorOptions, PacketContext, Persistence } from "./packet.ts";
import type { ForeignServer, Servers } from "./upstream-interface.ts";

/** A capability, whatever implements it. */
export interface Capability {
  /** `[A-Za-z][A-Za-z0-9_-]{0,63}`. */
  readonly id: string;
  /** What it does, for people, models and discovery. */
  readonly intent: string;
  /** Fields its payload must have. */
  readonly requires: readonly string[];
  /** Fields its result has. */
  readonly provides: readonly string[];
  readonly effects: readonly Effect[];
  /** JSON Schema of the payload. Absent: inferred from `requires`. */
  readonly parameters?: JsonObject;
  readonly does: Executes | Acts | Offers;
}

/** A function, without state. */
export interface Executes {
  readonly how: "execute";
  execute(payload: JsonObject, context: ExecutionContext): unknown;
}

/** An actor for each `actor_id`. */
export interface Acts {
  readonly how: "actor";
  readonly behaviour: Behaviour;
  readonly persistence: Persistence;
  /** All users share the actors. Otherwise each belongs to the user who started it. */
  readonly shared: boolean;
  /** For a kind defined with `actor()`: the offer that a payload calls. Undefined: `no_handler`. */
  readonly own?: (payload: JsonObject) => Offered | undefined;
  /** It defines no timeout, so the configuration's applies. */
  readonly idle: boolean;
  /** Fields of payloads and results whose text is searchable. */
  readonly search: readonly string[];
  /** The message that a payload becomes: the first pattern in source order that matches. Undefined: `no_handler`. */
  route(payload: JsonObject): Routed | undefined;
  /** The author's state and the specification's metadata of a durable state. */
  known(snapshot: Snapshot): CapabilityState<Json>;
  /** Runs the read that `route` chose. */
  read(routed: Routed, snapshot: Snapshot, payload: JsonObject, context: PacketContext, viewer: Viewer): unknown;
  /** Policy overrides for an actor that starts. */
  policyFor(options: { readonly state_timeout?: number; readonly persistence?: Persistence }): Partial<Policy>;
  /** The actor that a packet or tool call without `actor_id` means. Absent: one for each principal or session. */
  readonly defaultKey?: (viewer: Viewer) => string | undefined;
  /** This capability with the configuration applied. Absent: already applied, or not needed. */
  readonly configured?: (given: Given) => Capability;
  /** Binds calls of its handlers to other capabilities. Absent: they make none. */
  readonly asks?: { bind(run: RunCapability): void };
}

/** What the configuration passes to capabilities that are actors. */
export interface Given {
  /** Tool servers that handlers may call. */
  readonly servers?: Servers;
  /** Where actors are stored whose definition does not say. */
  readonly persistence?: Persistence;
  /** Idle timeout in milliseconds of actors whose definition has none. Default 30 minutes. */
  readonly idleMs?: number;
  readonly clock?: Clock;
}

/** The actor's message that a packet becomes. */
export interface Routed {
  readonly action: string;
  /** The arguments of the message. Absent: payload and context. */
  readonly args?: Json;
  /** A pure read: no mailbox, no event, not counted. */
  readonly reads: boolean;
}

/** A call of a source's offer. */
interface Offered {
  readonly ref: OfferRef;
  readonly args: JsonObject;
}

/** Several tools, without state. */
export interface Offers {
  readonly how: "tools";
  readonly tools: readonly OfferedTool[];
  handle(tool: string, parameters: JsonObject, context: ExecutionContext): unknown;
}

/** A capability as an MCP tool. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** The types are guessed from names: they are listed, but not enforced. */
  readonly guessed?: true;
}

/** What a capability without an actor receives. */
export interface ExecutionContext {
  readonly capability_id: string;
  readonly execution_id: string;
  readonly trace_id: string;
  readonly user_id: string | undefined;
  readonly session_id: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly viewer: Viewer;
  /** Aborted when the caller has disconnected or the time is over. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly log: Log;
  /** Calls another capability within the same trace. Throws `PacketError`. */
  readonly call: (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;
  /** A tool server by its name in the configuration. */
  readonly mcp: (server: string) => ForeignServer;
}

/** An actor's state and metadata, by the specification's names. */
export interface ActorState {
  readonly actor_id: string;
  readonly capability_id: string;
  readonly state: Json;
  readonly metadata: {
    /** ISO 8601. */
    readonly created_at: string;
    readonly last_message_at: string;
    /** Messages that were applied. */
    readonly message_count: number;
    readonly persistence_strategy: Persistence;
  };
}

/** Identifies an actor of a capability. */
export interface ActorRef {
  readonly capability_id: string;
  readonly actor_id: string;
  readonly id: ActorId;
}

/** What a timeout function knows of an actor. Times in milliseconds since 1970. */
export interface ActorTimes {
  readonly created_at: number;
  readonly last_message_at: number;
  readonly message_count: number;
}

/** The stored state of an actor: the author's state, and what the specification calls its metadata. */
export interface CapabilityState<S> {
  readonly state: S;
  readonly metadata: ActorTimes;
}

/** What a run of a capability and a message to an actor have in common. */
export interface DeliveryOptions {
  readonly viewer: Viewer;
  /** The caller's address (`CallOptions`). */
  readonly peer?: string;
  readonly signal?: CancelSignal;
  /** Idempotency key (C4), for actors: a repeated message gets the first reply. */
  readonly key?: string;
  readonly onProgress?: Progress;
  readonly onLog?: Log;
  /** The client's answers, and what it can be asked (`CallOptions`). */
  readonly answers?: JsonObject;
  readonly can?: readonly string[];
  /** Capped by the configuration's limit. */
  readonly timeoutMs?: number;
  /** How to call actors from the work of an actor: the engine's own call, which detects actors that wait for each other. */
  readonly through?: (message: Outgoing) => Promise<Reply>;
}

/** The caller of a capability, and options of the run. */
export interface RunOptions extends DeliveryOptions {
  readonly context: PacketContext;
  readonly actor_id?: string;
  readonly actor_options?: ActorOptions;
  /** The packet is a message to an actor: capabilities without actors refuse it. */
  readonly actorOnly?: boolean;
  /** Called once it is known which actor it is for, also if that then fails. */
  readonly onActor?: (actor_id: string) => void;
}

/** Runs a capability by its id. */
export type RunCapability = (capabilityId: string, payload: JsonObject, options: RunOptions) => Promise<Ran>;

/** What a capability returned, and the actor that ran it, if one did. */
export interface Ran {
  readonly result: Json;
  readonly actor_id?: string;
  readonly message_count?: number;
  readonly execution_time_ms: number;
  readonly trace_id: string;
}

/** The level of an audit entry. Default `info`. */
export type AuditLevel = "debug" | "info" | "warning" | "error";

/** What is emitted after a capability has run and its turn is committed. Data: declaring one does nothing. */
export type Effect =
  | { readonly effect: "audit_log"; readonly level: AuditLevel; readonly name: string }
  | { readonly effect: "metric"; readonly metric: "counter" | "histogram"; readonly name: string };

/** An effect: each run writes an audit entry, after its commit. */
export const auditLog = (level: AuditLevel = "info", name = "audit"): Effect => ({ effect: "audit_log", level, name });
/** An effect: counts the runs. */
export const counter = (name: string): Effect => ({ effect: "metric", metric: "counter", name });
/** An effect: the duration of each run in milliseconds. */
export const histogram = (name: string): Effect => ({ effect: "metric", metric: "histogram", name });

/** An effect that happened. */
export interface Emitted {
  readonly effect: Effect;
  readonly capability_id: string;
  readonly actor_id?: string;
  readonly trace_id: string;
  readonly user_id?: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly duration_ms: number;
  /** 1 for a counter, the duration for a histogram. */
  readonly value: number;
  /** The type of error. Absent: the run succeeded. */
  readonly error?: string;
  readonly fields?: JsonObject;
}
