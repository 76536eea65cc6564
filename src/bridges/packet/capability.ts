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
import type { CapabilityCalls } from "./recorded-calls.ts";
import type { Servers } from "./upstream-server.ts";

/** What a capability is, whatever stands behind it. */
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

/** No state: a function. */
export interface Executes {
  readonly how: "execute";
  execute(payload: JsonObject, context: ExecutionContext): unknown;
}

/** An actor for each `actor_id`. */
export interface Acts {
  readonly how: "actor";
  readonly behaviour: Behaviour;
  readonly persistence: Persistence;
  /** Everybody's: otherwise an actor is its starter's alone. */
  readonly shared: boolean;
  /** Of a kind that is no capability by itself: which offer a payload calls. Undefined: `no_handler`. */
  readonly own?: (payload: JsonObject) => Offered | undefined;
  /** Says nothing of when it ends: that is the configuration's. */
  readonly idle: boolean;
  /** Fields of payloads and results whose text is searchable. */
  readonly search: readonly string[];
  /** Which message a payload is: the first pattern in source order that it matches. Undefined: `no_handler`. */
  route(payload: JsonObject): Routed | undefined;
  /** The author's state, and the spec's metadata, of what is durable. */
  known(snapshot: Snapshot): CapabilityState<Json>;
  /** A read, for what `route` said reads. */
  read(routed: Routed, snapshot: Snapshot, payload: JsonObject, context: PacketContext, viewer: Viewer): unknown;
  /** Overrides of the policy for an actor that begins. */
  policyFor(options: { readonly state_timeout?: number; readonly persistence?: Persistence }): Partial<Policy>;
  /** Which actor is meant where a packet or a tool call names none. Absent: one for each principal or session. */
  readonly defaultKey?: (viewer: Viewer) => string | undefined;
  /** The same, with what only a configuration knows. Absent: it was told already, or needs nothing of it. */
  readonly configured?: (given: Given) => Capability;
  /** By which its handlers ask other capabilities. Absent: they ask none. */
  readonly asks?: Pick<CapabilityCalls, "bind">;
}

/** What a configuration tells capabilities that are actors. */
export interface Given {
  /** Tool servers that handlers may call. */
  readonly servers?: Servers;
  /** Of those that do not say where they are kept. */
  readonly persistence?: Persistence;
  /** Of those that do not say when they end: so long without a message. Default 30 minutes. */
  readonly idleMs?: number;
  readonly clock?: Clock;
}

/** The message that a capability's packet becomes for its actor. */
export interface Routed {
  readonly action: string;
  /** What the message holds. Absent: payload and context. */
  readonly args?: Json;
  /** A pure read: no mailbox, no event, not counted. */
  readonly reads: boolean;
}

/** A call of an offer of a source. */
interface Offered {
  readonly ref: OfferRef;
  readonly args: JsonObject;
}

/** Several tools and no state. */
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
  /** Its types are guessed from names: they are shown, and nothing is held to them. */
  readonly guessed?: true;
}

/** What runs without an actor is given. */
export interface ExecutionContext {
  readonly capability_id: string;
  readonly execution_id: string;
  readonly trace_id: string;
  readonly user_id: string | undefined;
  readonly session_id: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly viewer: Viewer;
  /** The caller is gone, or time is up. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly log: Log;
  /** Another capability, within the same trace. Throws `PacketError`. */
  readonly call: (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;
  /** A tool server by its name in the configuration. */
  readonly mcp: (server: string) => ForeignServer;
}

/** Another MCP server, as a capability calls it. */
export interface ForeignServer {
  /** Throws `PacketError` (`execution_failed`) where it cannot be reached or the tool failed. */
  call(tool: string, args?: JsonObject): Promise<ForeignResult>;
  tools(): Promise<readonly OfferedTool[]>;
}

/** The result of a tool of another MCP server, as a capability receives it. */
export interface ForeignResult {
  readonly content: readonly Json[];
  readonly structured?: Json;
  /** All text blocks, one after the other. */
  readonly text: string;
}

/** What is known of an actor, by the spec's names. */
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

/** A handle on an actor of a capability. */
export interface ActorRef {
  readonly capability_id: string;
  readonly actor_id: string;
  readonly id: ActorId;
}

/** What a timeout strategy knows of an actor. Times in milliseconds since 1970. */
export interface ActorTimes {
  readonly created_at: number;
  readonly last_message_at: number;
  readonly message_count: number;
}

/** What an actor of a capability keeps: the author's state, and what the spec calls its metadata. */
export interface CapabilityState<S> {
  readonly state: S;
  readonly metadata: ActorTimes;
}

/** Who runs a capability, and how. */
export interface RunOptions {
  readonly viewer: Viewer;
  readonly context: PacketContext;
  readonly actor_id?: string;
  readonly actor_options?: ActorOptions;
  readonly signal?: CancelSignal;
  /** A message to an actor: refused by a capability that has none. */
  readonly actorOnly?: boolean;
  /** C4, for actors. */
  readonly key?: string;
  readonly onProgress?: Progress;
  readonly onLog?: Log;
  /** What the client answered, and could be asked (`CallOptions`). */
  readonly answers?: JsonObject;
  readonly can?: readonly string[];
  /** Never longer than the configuration's own. */
  readonly timeoutMs?: number;
  /** How actors are called where an actor's work asks: the engine's own way, by which it knows who waits for whom. */
  readonly through?: (message: Outgoing) => Promise<Reply>;
}

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

/** What is told once a capability has run, after the commit. Data: nothing happens by declaring it. */
export type Effect =
  | { readonly effect: "audit_log"; readonly level: AuditLevel; readonly name: string }
  | { readonly effect: "metric"; readonly metric: "counter" | "histogram"; readonly name: string };

/** An effect: each run writes an audit entry, after its commit. */
export const auditLog = (level: AuditLevel = "info", name = "audit"): Effect => ({ effect: "audit_log", level, name });
/** One for each run. */
export const counter = (name: string): Effect => ({ effect: "metric", metric: "counter", name });
/** The milliseconds of each run. */
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
  /** Of a counter 1, of a histogram the duration. */
  readonly value: number;
  /** Absent: it succeeded. */
  readonly error?: string;
  readonly fields?: JsonObject;
}
