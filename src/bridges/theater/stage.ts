import type { Json } from "../../core/contract/index.ts";

/** The names Theater's protocol has for what goes wrong. */
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

/** The message says what to do instead. */
export class StageError extends Error {
  override readonly name = "StageError";
  readonly code: StageCode;
  constructor(code: StageCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An actor's status, in Theater's words. */
export type StageStatus = "RUNNING" | "STOPPED" | "FAILED" | "PAUSED";

/** An actor in a Theater list. */
export interface StageActor {
  /** A UUID. */
  readonly id: string;
  /** Its manifest's name, else `kind/key`. */
  readonly name: string;
  /** What its starter called it: stands for its id. */
  readonly given?: string;
  readonly status: StageStatus;
}

/** Null: not measured here. Times in milliseconds. */
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

/** An actor with what it was started from. */
export interface StageDetails extends StageActor {
  /** What it was started from: a path, `store:…`, `kind:…`, or the digest of inline text. */
  readonly manifest?: string;
  readonly manifestContent?: string;
  /** Of its first event, in milliseconds since 1970. */
  readonly createdAt?: number;
  readonly metrics: StageMetrics | null;
  /** Paused or failed: after which event, by its id, and why. */
  readonly halted?: { readonly after: string; readonly why: string };
}

/** An event of an actor, in Theater's form. */
export interface StageEvent {
  readonly id: string;
  readonly actor: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** `StateChanged` where the state changed. */
  readonly type: string;
  readonly parent: string | null;
  readonly data: Json | Uint8Array;
  /** The next in its chain, then what the messages that left with it caused elsewhere. */
  readonly children: readonly string[];
}

/** Whoever opened a channel. */
export interface ChannelPeer {
  message(data: Uint8Array): void;
  /** Once; not after its own `close`. */
  closed(why: string): void;
}

/** An open channel to an actor. */
export interface StageChannel {
  readonly id: string;
  /** What the actor said on accepting it. */
  readonly greeting?: Uint8Array;
  send(data: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** How an actor is started. */
export interface StageStart {
  /** A path, the manifest's own text, `store:<label or digest>`, or `kind:<name>` for an actor that is no guest. */
  readonly manifest: string;
  readonly initialState?: Uint8Array;
  /** With an inline manifest: the component itself. */
  readonly component?: Uint8Array;
  /** Another way to say who it is, unique among those that run. */
  readonly name?: string;
}

/** Which events of an actor are read, and how many. */
export interface EventQuery {
  /** Ids of events. With `after` the first that follow it; without, the last, before `before` where that is given. */
  readonly after?: string;
  readonly before?: string;
  readonly limit: number;
}

/** That an actor began, ended or changed. */
export interface StageChange {
  readonly actor: string;
  readonly what: "began" | "ended" | "changed";
}

/** Where actors play: our own engine, or a Theater server over TCP. `id` is a UUID, or what else the stage takes for one. Throws `StageError` only. */
export interface Stage extends AsyncDisposable {
  /** Those that have not stopped, in an order of the stage's own: at most `limit` after the one of that id. */
  list(limit: number, after?: string): Promise<readonly StageActor[]>;
  count(): Promise<number>;
  actor(id: string): Promise<StageDetails>;
  /** Undefined: it has none. */
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
  /** At most a hint per change. Returns its undo. */
  watch(listener: (change: StageChange) => void): () => void;
}
