// Owns: the interface of engines, of what is opened and closed, and of the nodes of a cluster. Does not own: an implementation of them
// (core/engine, hosts).
import type { ActorId, Message, Outgoing, Policy, Reply, Viewer } from "./actor.ts";
import type { ChainEvent } from "./chain.ts";
import { EngineError } from "./errors.ts";
import type { Index, IndexEvent, IndexPage, IndexQuery } from "./indexes.ts";
import type { Json } from "./json.ts";
import type { CallOptions } from "./source.ts";

/** Whether an actor is available: `failed` until it is restarted, `stopped` for good. */
export type Status = "live" | "failed" | "stopped";

/** What watchers receive: that an actor changed, never its state. */
export interface Change {
  readonly id: ActorId;
  readonly seq: number;
  /** The last event's id, like a receipt's: a spread may lose it. */
  readonly head: string;
  readonly status: Status;
  readonly emit?: readonly Json[];
}

export interface Snapshot extends Change {
  /** The actor's UUID, the same in all its lives: what `find` takes. */
  readonly uid: string;
  readonly state: Json;
  /** Of the state. */
  readonly version: number;
  /** When this life began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When the last message came that left an event, likewise. */
  readonly lastMessageAt: number;
  /** Messages of this life that left an event. */
  readonly messageCount: number;
  /** Its policy's, which what it was started with may have changed. */
  readonly persistence: Policy["persistence"];
  /** The principal that started it, where its policy says `owner: "starter"`. */
  readonly owner?: string;
}

/** After so many failures a send is a dead letter, and a timer is dropped (C5). */
export const DELIVERY_ATTEMPTS = 3;

/** A dead letter: a send that failed three times (C5). */
export interface DeadLetter {
  readonly message: Message;
  readonly why: string;
  readonly at: number;
}

/** In the order of kinds, then of keys. */
export interface ListQuery {
  readonly kind?: string;
  readonly owner?: string;
  /** Without stopped actors. */
  readonly live?: boolean;
  readonly after?: ActorId;
  readonly limit: number;
}

/**
 * | trait | |
 * |---|---|
 * | mailbox-bound | `Policy.mailbox` bounds the calls that wait |
 * | cycle-check | work that waits for each other, however it came to that, is refused |
 * | progress | what work says while it runs, and turns report of what is answered later, reaches its caller |
 * | memory-actors | actors that live as long as the process |
 * | call-order | calls of one caller are applied in the order they were made, unawaited ones too |
 */
export type Trait = "mailbox-bound" | "cycle-check" | "progress" | "memory-actors" | "call-order";

/** An actor's messages in this process. */
export interface ActorMailbox {
  /** Why the first message waits. `ready`: it does not, or a turn runs now. `awaiting-commits`: turns before it are not on disk yet. */
  readonly phase: "ready" | "loading" | "working" | "awaiting-commits" | "starting" | "stopping-children";
  /** How many wait. */
  readonly queued: number;
  /** The first of them. */
  readonly waiting: readonly Message[];
  /** The message whose work runs. */
  readonly working?: Message;
}

/** Runs actors; the only way to reach them. */
export interface Engine extends AsyncDisposable {
  /** What it guarantees beyond the rest; the suite tests each of them. */
  readonly traits: ReadonlySet<Trait>;
  /** Whether it runs actors of that kind. Absent: unknown. */
  knows?(kind: string): boolean;
  /** Throws `EngineError` only: code, and whether the call was applied. */
  call(message: Outgoing, options?: CallOptions): Promise<Reply>;
  /**
   * `call`, answered synchronously if nothing is awaited: an idle actor in memory whose turn is pure. Throws if that call would
   * reject at once. An engine that has it announces every change in this process before it replies (C2). Absent: never synchronous.
   */
  callNow?(message: Outgoing, options?: CallOptions): Reply | Promise<Reply>;
  /** Settles when durable. Throws `NO_ACTOR` if there is no such actor, and the message does not start it. */
  send(message: Outgoing): Promise<void>;
  /** The last durable state, never one of uncommitted turns (law 2). */
  read(id: ActorId): Promise<Snapshot | undefined>;
  /** `read`, answered synchronously if the actor is in memory. Absent: never synchronous. */
  readNow?(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined>;
  /** How many messages wait in the actor's mailbox. Absent: an engine whose mailboxes are not in this process. */
  queued?(id: ActorId): number;
  /** What an actor is doing, and the first `most` messages that wait. Absent: as of `queued`. */
  mailbox?(id: ActorId, most: number): ActorMailbox;
  list(query: ListQuery): Promise<readonly Change[]>;
  /** Never scans states. */
  count(query: Omit<ListQuery, "after" | "limit">): Promise<number>;
  /** By the UUID every actor has. */
  find(uid: string): Promise<ActorId | undefined>;
  /** Those that it has started and that have not stopped. Absent: an engine that cannot say. */
  children?(id: ActorId): Promise<readonly ActorId[]>;
  event(id: string): Promise<ChainEvent | undefined>;
  /** Events, there or elsewhere, that name this one as their cause: the first 1,000. */
  caused(id: string): Promise<readonly ChainEvent[]>;
  history(id: ActorId, afterSeq?: number): AsyncIterable<ChainEvent>;
  /**
   * The actor on disk of that kind that took this viewer's call of that key last, while its reply is due or remembered (C4): where
   * a link leads changes, and a retry must find the first call. Absent: an engine that cannot say.
   */
  keyed?(kind: string, viewer: Viewer, key: string): Promise<ActorId | undefined>;
  /** Aborts running work, then commits. `principal`: who stops it, for its last event. */
  stop(id: ActorId, reason: string, principal?: string): Promise<void>;
  /** Drops the cell or instance, clears "failed"; the state stays. */
  restart(id: ActorId): Promise<void>;
  watch(topic: ActorId | `${string}/*`, listener: (change: Change) => void): () => void;
  /** One page of an index. Throws `UNKNOWN_INDEX` and `BAD_QUERY`. Absent: it has no indexes. */
  query?<R extends object>(index: Index<R>, query?: IndexQuery<R>): Promise<IndexPage<R>>;
  /** Calls the listener with each actor whose row changes, after the commit. Absent: it has no indexes. */
  watchIndex?(index: Index, listener: (event: IndexEvent) => void): () => void;
}

/** The refusal that stands for a fault because there is no such actor, or it has stopped. Undefined for every other fault. */
export const missingActorRefusal = (fault: unknown): Extract<Reply, { readonly refused: unknown }> | undefined =>
  fault instanceof EngineError && fault.applied === false && (fault.code === "NO_ACTOR" || fault.code === "ACTOR_STOPPED")
    ? { refused: { code: fault.code, message: fault.message } }
    : undefined;

/** Answers `Peers.ask`; its result for `Peers.tell` is dropped. If it throws, the asking node receives undefined. */
export type PeerListener = (message: Json, from: string) => Json | undefined | Promise<Json | undefined>;

/** The other nodes that serve the same actors and sessions. Nothing here is durable: what must be durable is in a store. */
export interface Peers extends AsyncDisposable {
  /** This node's name, `[a-z0-9]{16}`: another after each start. */
  readonly self: string;
  /** Sends to every other node. Lossy: a node that is unreachable or does not read misses it. In order for each pair of nodes. */
  tell(topic: string, message: Json): void;
  /** Asks one node, by its name. Undefined: it is unreachable, timed out, or has no answer. */
  ask(node: string, topic: string, message: Json): Promise<Json | undefined>;
  /** One listener for each topic. Returns its undo. */
  on(topic: string, listen: PeerListener): () => void;
  /** Runs when messages from other nodes may have been missed: some were lost, or a node has joined or left. Returns its undo. */
  onGap(run: () => void): () => void;
}

/** A node as the others find it. */
export interface Member {
  readonly node: string;
  /** Where the others reach it. */
  readonly url: string;
}

/** The list of nodes. */
export interface Members {
  /** Announces this node for `forMs` from now. Returns the other nodes. */
  seen(self: Member, forMs: number): Promise<readonly Member[]>;
  /** Removes this node. */
  left(node: string): Promise<void>;
}

/** Ends by `await using`, or by `close()` where no block encloses its use; both do the same, once. */
export interface Closable extends AsyncDisposable {
  close(): Promise<void>;
}
