// Owns: the interfaces of stores for actors and content, moving actors between stores, and commits without a promise. Does not
// own: an implementation (core/store, hosts/restate).

import type { ActorId, Message, Policy, Reply, Wake } from "./actor.ts";
import type { ChainEvent } from "./chain.ts";
import type { Change, Engine, DeadLetter, Status } from "./engine.ts";
import type { StoreError } from "./errors.ts";
import type { IndexChange, IndexStore } from "./indexes.ts";
import type { JsonObject, Json } from "./json.ts";

/** A wake as it is stored. */
export interface SetWake extends Wake {
  /** Id of the event that set it. Absent: of an actor in memory. */
  readonly cause?: string;
  /** When it last fired, or was set. A clock with an earlier time has been set back since. Absent: set by an earlier version. */
  readonly rang?: number;
}

/** A wake that is due; without a name, the actor's expiry. */
export interface Due {
  readonly id: ActorId;
  readonly wake: string;
  readonly at: number;
  /** See `SetWake`. */
  readonly rang?: number;
}

/** The position of an actor among others that are due, by what is due first of each. */
export type DuePlace = Pick<Due, "id" | "at">;

/** An actor without its state. */
export interface Row {
  readonly uid: string;
  readonly life: string;
  /** Of the state. */
  readonly version: number;
  readonly createdAt: number;
  readonly lastMessageAt: number;
  readonly messageCount: number;
  readonly policy?: Partial<Policy>;
  readonly status: Status;
  readonly owner?: string;
  readonly parent?: ActorId;
  /** A fork: what it sends by itself is recorded, not delivered; its replies are. */
  readonly muted?: true;
  readonly wakes: Readonly<Record<string, SetWake>>;
  /** Messages with the reply `"later"`, by id: what is needed to answer them. */
  readonly pending: JsonObject;
}

/** One turn to be committed. */
export interface Entry {
  /** The id of the head; `STORE_CONFLICT` for any other, entries that are not durable yet included (C6). */
  readonly after: string | null;
  readonly seq: number;
  readonly event: ChainEvent;
  /** The event's body carries the whole state: `load` starts here. */
  readonly full: boolean;
  readonly row: Row;
  readonly out: readonly Message[];
  /**
   * The outbox message this turn applied, deleted in the same transaction; `STORE_CONFLICT` if it is missing, since it was applied
   * already (C5).
   */
  readonly consumed?: string;
  readonly remember?: Remembered;
  /** Replies to earlier keyed messages whose reply was `"later"`; remembered likewise. */
  readonly answered?: readonly Remembered[];
  /** A keyed call whose reply is `"later"`: its actor is found by the key until the reply is remembered. */
  readonly claimed?: Omit<Remembered, "reply">;
  /**
   * What the turn changes in the indexes of its kind, written in the same transaction; none if it changes nothing. Absent: the writer does
   * not maintain indexes, so those of the kind become stale.
   */
  readonly indexed?: readonly IndexChange[];
}

/** The first reply to a keyed call; `until` in milliseconds since 1970 (C4). */
export interface Remembered {
  readonly key: string;
  /** A hash of the call: another call under the key is refused. Empty: written by an earlier version. */
  readonly call: string;
  readonly reply: Reply;
  readonly until: number;
}

/** A stored actor: the last full state and what follows it. */
export interface Stored {
  readonly row: Row;
  readonly seq: number;
  readonly head: string;
  readonly tail: readonly ChainEvent[];
}

/** An outbox message and how often its turn has failed so far. */
export interface Undelivered {
  readonly message: Message;
  readonly failures: number;
}

/** An actor that has ended. */
export interface Ended {
  readonly id: ActorId;
  /** The id of its last event, which names the actor's end for `Store.remove`. */
  readonly head: string;
  readonly seq: number;
  /** When the message arrived that ended it, in milliseconds since 1970. */
  readonly endedAt: number;
}

/** Which ended actors to list. */
export interface EndedQuery {
  /** Ended earlier than this. */
  readonly before: number;
  readonly kind?: string;
  /** `next` of the previous page. */
  readonly after?: string;
  /** How many ended actors are examined, whenever they ended. */
  readonly limit: number;
}

/** A page of actors that have ended. */
export interface EndedPage {
  readonly ended: readonly Ended[];
  /** Absent: there are no more. */
  readonly next?: string;
}

/** More about an outbox message that left no event. */
export interface OutboxAck {
  /** The last failure of a dead letter. */
  readonly why?: string;
  /** The reply for a sender that set `replyAs`, put into the outbox in the same transaction, so that no other process answers again (C5). */
  readonly answer?: Message;
}

/** Called for each row that cannot be read (`STORE_CORRUPT`, the message names it) and was skipped. Without it, the first such row is thrown. */
export type Damaged = (error: StoreError, actor?: ActorId) => void;

/** Where actors are stored. Throws `StoreError` only. */
export interface Store extends AsyncDisposable {
  /** Why it takes no writes. Undefined: it does. */
  readonly fault?: StoreError | undefined;
  /** Pages that only the write-ahead log has; the number grows while checkpoints fail. Absent: there is no such log. */
  readonly backlog?: number | undefined;
  /** Absent: it has no indexes over the contents of actors. */
  readonly indexes?: IndexStore | undefined;
  load(id: ActorId): Promise<Stored | undefined>;
  /** All or nothing, in batches. The next commit may be made before this one settles. Settles when durable. */
  commit(id: ActorId, entry: Entry): Promise<void>;
  /**
   * A message came that left no event: an actor that expires does so later. Ignored if the actor is not there, has stopped, or had a later message. Absent:
   * after a restart, or when the actor was not in memory meanwhile, only messages that left events count.
   */
  touch?(id: ActorId, at: number): Promise<void>;
  /** Stores a message from a transport until its turn has run, across restarts. */
  enqueue(message: Message): Promise<void>;
  /**
   * For an outbox message whose turn had no effect (`done`), failed once more (`failed`), or for the third time (`dead`). Ignores unknown
   * messages.
   */
  settle(messageId: string, how: "done" | "failed" | "dead", more?: OutboxAck): Promise<void>;
  remembered(id: ActorId, key: string): Promise<Pick<Remembered, "call" | "reply"> | undefined>;
  /** Actors that remember a reply to a call of that key, or will answer it later: the latest first, at most 100. */
  claimants(key: string): Promise<readonly ActorId[]>;
  /** In order; bodies absent where erased. */
  events(id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]>;
  event(eventId: string): Promise<ChainEvent | undefined>;
  /** The first 1,000, since a repeating wake causes ever more. */
  caused(eventId: string): Promise<readonly ChainEvent[]>;
  /** Erases bodies, but none from the last full state on. Returns how many. */
  erase(id: ActorId, beforeSeq: number): Promise<number>;
  /**
   * Wakes and expiries that are due, soonest first; with `kinds`, only of actors of these kinds; with `after`, only of actors behind that
   * position. The next page begins behind the last entry that is the first one of its actor.
   */
  due(before: number, limit: number, damaged?: Damaged, kinds?: readonly string[], after?: DuePlace): Promise<readonly Due[]>;
  /**
   * In the order they were committed, without the ids in `except`: at most `limit`, fewer if they are large, and none only if there are no
   * more.
   */
  undelivered(limit: number, damaged?: Damaged, except?: ReadonlySet<string>): Promise<readonly Undelivered[]>;
  /** Oldest first. With `except`: without those ids, at most `limit`, fewer if they are large, and none only if there are no more. */
  letters(limit: number, damaged?: Damaged, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]>;
  /** Returns a dead letter to the outbox (`replay`) and counts its `replays`, or deletes it (`drop`). False: there is none of that id. */
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean>;
  children(id: ActorId): Promise<readonly ActorId[]>;
  list(query: Parameters<Engine["list"]>[0], damaged?: Damaged): Promise<readonly Change[]>;
  count(query: Parameters<Engine["count"]>[0]): Promise<number>;
  find(uid: string): Promise<ActorId | undefined>;
  /** In order of kinds, then in the store's own order. */
  ended(query: EndedQuery): Promise<EndedPage>;
  /**
   * Deletes an ended actor, its row and its chain, and overwrites them in a file. False if that is not its last event (C6): it stays.
   * What it sent is still delivered; its remembered replies are no longer found.
   */
  remove(ended: Pick<Ended, "id" | "head">): Promise<boolean>;
}

/** How a commit reports its outcome: one call of one of these, never before the call that made the commit has returned. Neither throws. */
export interface CommitCallbacks {
  onCommitted(): void;
  onFailed(error: unknown): void;
}

/** A commit that reports to callbacks instead of a promise. */
export type CommitWithCallback = (id: ActorId, entry: Entry, callbacks: CommitCallbacks) => void;

// Keyed by the `commit` function, not by the store: a wrapper that replaces `commit` must not be bypassed.
const withCallbacks = new WeakMap<object, CommitWithCallback>();

/** Makes a store's `commit` from one with callbacks, which `commitWithCallback` finds again. */
export function commitFrom(run: CommitWithCallback): Store["commit"] {
  const commit: Store["commit"] = (id, entry) =>
    new Promise((onCommitted, onFailed) => {
      run(id, entry, { onCommitted, onFailed });
    });
  withCallbacks.set(commit, run);
  return commit;
}

/** The store's commit with callbacks: its own, or one made of its `commit`. */
export function commitWithCallback(store: Pick<Store, "commit">): CommitWithCallback {
  return (
    withCallbacks.get(store.commit) ??
    ((id, entry, callbacks) => {
      let committed: Promise<void>;
      try {
        committed = store.commit(id, entry);
      } catch (error) {
        committed = Promise.reject(error instanceof Error ? error : new Error(String(error)));
      }
      committed.then(
        () => callbacks.onCommitted(),
        (error: unknown) => callbacks.onFailed(error),
      );
    })
  );
}

/** A keyed call that an actor has received: with its first reply, or without one while it is due (C4). */
export type KeyedCall = Omit<Remembered, "reply"> & Partial<Pick<Remembered, "reply">>;

/** An actor that is moved from one store to another. */
export interface ExportedActor {
  readonly id: ActorId;
  /** As after the last event. */
  readonly row: Row;
  /** Of the last event. */
  readonly seq: number;
  readonly head: string;
}

/** An exported actor. Each iterable is read once, events first, before the next actor is requested. */
export interface LeavingActor extends ExportedActor {
  /** All of them, in order; bodies absent where erased. */
  events(): AsyncIterable<ChainEvent>;
  /** Those that have not expired at `Exporter.at`, ascending by the UTF-8 bytes of their keys. */
  calls(): AsyncIterable<KeyedCall>;
}

/**
 * Everything in a store of actors. Each actor is a snapshot of one moment; all are of the same moment if the store supports it. Read in
 * the order of these methods, one iterable after the other. Throws `StoreError` only.
 */
export interface Exporter extends AsyncDisposable {
  /** The moment, milliseconds since 1970. */
  readonly at: number;
  /** In the order of kinds, then of keys. Throws `STORE_CORRUPT` at the first that cannot be read. */
  actors(kind?: string): AsyncIterable<LeavingActor>;
  /** In the order they were committed. */
  undelivered(): AsyncIterable<Undelivered>;
  letters(): AsyncIterable<DeadLetter>;
}

/**
 * A store that imports actors while nothing else writes to it. Calls come one at a time, each after the previous one has settled.
 * Throws `StoreError` only.
 */
export interface Importer extends AsyncDisposable {
  /**
   * Undefined: it exists already, with the same head. Throws `STORE_CONFLICT`, having written nothing, if it exists with another chain, or
   * another actor has its uid.
   */
  actor(actor: ExportedActor): Promise<ActorImport | undefined>;
  /** Appends a message to the outbox. False: it exists already, waiting or dead. Throws `STORE_CONFLICT` if its id has another message. */
  message(undelivered: Undelivered): Promise<boolean>;
  /** Likewise, among the dead letters. */
  letter(letter: DeadLetter): Promise<boolean>;
  /** Settles when everything imported is durable. A crash may lose what came since the previous flush, never a part of an actor. */
  flush(): Promise<void>;
}

/** One actor being imported: invisible, and not left behind by a crash, before `commit`. */
export interface ActorImport {
  /** In order, each verified to follow the one before it. `full`: its body holds the whole state. */
  event(event: ChainEvent, full: boolean): Promise<void>;
  /** After the events, ascending by key. */
  call(call: KeyedCall): Promise<void>;
  /** The chain was verified to its end, and results in this state. */
  commit(state: Json): Promise<void>;
  /** Discards the actor. */
  abort(): Promise<void>;
}

/** SHA-256 of some bytes, as 64 lower-case hex digits. */
export type Digest = string;

/** The result of a collection. */
export interface Collected {
  readonly kept: number;
  readonly dropped: number;
  /** The size of what was dropped. */
  readonly bytes: number;
}

/**
 * Bytes by their digest, and labels for them in separate spaces. Safe to share: equal bytes are stored once. Throws `StoreError` only;
 * `STORE_CORRUPT` if stored bytes no longer match their digest.
 */
export interface ContentStore extends AsyncDisposable {
  /** Settles when durable. With a space, `contents` of that space lists it. */
  put(bytes: Uint8Array, space?: string): Promise<Digest>;
  get(digest: Digest): Promise<Uint8Array | undefined>;
  has(digest: Digest): Promise<boolean>;
  /** Sets a label; without a digest, deletes it. Settles when durable. */
  label(space: string, label: string, digest: Digest | undefined): Promise<void>;
  labelled(space: string, label: string): Promise<Digest | undefined>;
  /** In the order of their names: at most `limit` after `after`. */
  labels(space: string, limit: number, after?: string): Promise<readonly string[]>;
  /** What was put into that space and has not been collected, in the order of digests. */
  contents(space: string, limit: number, after?: Digest): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]>;
  /** Drops contents that neither a label nor `live` names. Contents put while this runs stay. */
  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected>;
}
