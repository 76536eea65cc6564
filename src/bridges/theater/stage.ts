// Owns: what a stage is: actors, their events, channels and errors, and what Theater's protocol needs besides. Does not own: our engine
// as a stage (engine/), a Theater server as one (remote/).
import type { Digest, Json } from "../../core/contract/index.ts";

/** The error codes of Theater's protocol. */
export type StageCode =
  | "ActorNotFound"
  | "ActorAlreadyExists"
  | "ActorNotRunning"
  | "ActorError"
  | "ActorInitializationError"
  | "ChannelNotFound"
  | "ChannelClosed"
  | "ChannelRejected"
  | "StoreError"
  | "CommunicationError"
  | "InvalidRequest"
  | "Timeout"
  | "RuntimeError"
  | "InternalError"
  | "SerializationError";

/** An error of a stage. The message says what to do instead. */
export class StageError extends Error {
  override readonly name = "StageError";
  readonly code: StageCode;
  constructor(code: StageCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An actor's status in Theater's terms. */
export type StageStatus = "RUNNING" | "STOPPED" | "FAILED" | "PAUSED";

/** An actor's id in its usual form. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;

/** An actor in a Theater list. */
export interface StageActor {
  /** A UUID. */
  readonly id: string;
  /** Its manifest's name, else `kind/key`. */
  readonly name: string;
  /** The name it was given at its start, which may be used in place of its id. */
  readonly given?: string;
  readonly status: StageStatus;
}

/** Times and durations in milliseconds. Null: not measured. */
export interface StageMetrics {
  readonly operations: number | null;
  readonly failedOperations: number | null;
  readonly totalMs: number | null;
  readonly maxMs: number | null;
  readonly minMs: number | null;
  readonly memoryBytes: number | null;
  readonly queued: number | null;
  readonly startedAt: number | null;
  readonly lastAt: number | null;
}

/** An actor with its manifest, metrics and the reason if it is halted. */
export interface StageDetails extends StageActor {
  /** Where its manifest is: a path, `store:…`, `kind:…`, or the digest of inline text. */
  readonly manifest?: string;
  readonly manifestContent?: string;
  /** The time of its first event, in milliseconds since 1970. */
  readonly createdAt?: number;
  readonly metrics: StageMetrics | null;
  /** If it is paused or failed: the id of the event after which it is, and why. */
  readonly halted?: { readonly after: string; readonly why: string };
}

/** An event of an actor, in Theater's form. */
export interface StageEvent {
  readonly id: string;
  readonly actor: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** `StateChanged` if the state changed. */
  readonly type: string;
  readonly parent: string | null;
  readonly data: Json | Uint8Array;
  /** The next event of its chain, then the events that messages sent with it caused elsewhere. */
  readonly children: readonly string[];
}

/** The end of a channel that opened it. */
export interface ChannelPeer {
  message(data: Uint8Array): void;
  /** Called once, but not after its own `close`. */
  closed(why: string): void;
}

/** An open channel to an actor. */
export interface StageChannel {
  readonly id: string;
  /** The actor's message on accepting the channel. */
  readonly greeting?: Uint8Array;
  send(data: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** How an actor is started. */
export interface StageStart {
  /** A path, the manifest's text, `store:<label or digest>`, or `kind:<name>` for an actor that is not a guest. */
  readonly manifest: string;
  readonly initialState?: Uint8Array;
  /** The component, with an inline manifest. */
  readonly component?: Uint8Array;
  /** A name to use in place of the id, unique among running actors. */
  readonly name?: string;
}

/** Which events of an actor to read, and how many. */
export interface EventQuery {
  /** Ids of events. With `after` the first events after it; without, the last ones, or the last before `before`. */
  readonly after?: string;
  readonly before?: string;
  readonly limit: number;
}

/** A hint that an actor began, ended or changed. */
export interface StageChange {
  readonly actor: string;
  readonly what: "began" | "ended" | "changed";
}

/**
 * Where actors run: our own engine, or a Theater server over TCP. An `id` is a UUID, or another name that the stage accepts. Throws only
 * `StageError`.
 */
export interface Stage extends AsyncDisposable {
  /** Actors that have not stopped, in the stage's own order: at most `limit`, after the one with the id `after`. */
  list(limit: number, after?: string): Promise<readonly StageActor[]>;
  count(): Promise<number>;
  actor(id: string): Promise<StageDetails>;
  /** Undefined if it has none. */
  state(id: string): Promise<Uint8Array | undefined>;
  start(start: StageStart): Promise<StageActor>;
  stop(id: string): Promise<void>;
  /** Keeps id and state. */
  restart(id: string): Promise<StageActor>;
  send(id: string, data: Uint8Array): Promise<void>;
  request(id: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  open(id: string, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel>;
  /** Oldest first. */
  events(id: string, query: EventQuery): Promise<readonly StageEvent[]>;
  event(eventId: string): Promise<StageEvent | undefined>;
  /** Calls `listener` at most once per change. Returns a function that removes it. */
  watch(listener: (change: StageChange) => void): () => void;
  /**
   * For stages that can report the changes of some actors only: those of this one, given by its id, are reported before others'. Returns
   * a function that ends this.
   */
  prioritize?(id: string): () => void;
}

/** One event as Theater's protocol has it, in the order of its keys. */
export interface TheaterEvent {
  /** SHA-1, 20 bytes. */
  readonly hash: Uint8Array;
  readonly parentHash: Uint8Array | null;
  readonly eventType: string;
  /** JSON of Theater's `EventData`. */
  readonly data: Uint8Array;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly description: string | null;
}

/** How an actor ended. Reported to the client that started it as its parent. */
export type ActorEnd =
  | { readonly how: "success"; readonly result: Uint8Array | undefined }
  | { readonly how: "error"; readonly event: TheaterEvent | undefined; readonly message: string }
  | { readonly how: "external-stop" };

/** Part of a chain, oldest first. */
export interface ChainPage {
  readonly events: readonly TheaterEvent[];
  /** There are more events in the requested direction: later ones with `after`, else earlier ones. */
  readonly more: boolean;
}

/** A stage that Theater's own protocol can be served over. */
export interface TheaterStage extends Stage {
  /** The whole chain, oldest first, linked by SHA-1. */
  chain(id: string): Promise<readonly TheaterEvent[]>;
  /** A page of the same: at most `limit`, or as many as can be sent at once. Events are named by their hashes in hexadecimal. */
  chainPage(id: string, query: EventQuery): Promise<ChainPage>;
  /** Reports events from now on, and the actor's end. Returns a function that stops this. */
  follow(id: string, listener: { event(event: TheaterEvent): void; ended(end: ActorEnd): void }): Promise<() => void>;
  /** Stops it at once, without waiting for its children. */
  terminate(id: string): Promise<void>;
  /** Uses another component from its next message on: a path or `store:…`. The state stays. */
  update(id: string, component: string): Promise<void>;
  newStore(): Promise<string>;
  /** A content of the stage's store, for `store:` references. */
  content(digest: Digest): Promise<Uint8Array | undefined>;
}
