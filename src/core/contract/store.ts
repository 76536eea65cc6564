// Owns: the interfaces of stores for actors and content, moving actors between stores, and commits without a promise. Does not
// own: an implementation (core/store, hosts/restate).

import type { ActorId, Message, Policy, Reply, Wake } from "./actor.ts";
import type { ChainEvent } from "./chain.ts";
import type { Change, Engine, Letter, Status } from "./engine.ts";
import type { StoreError } from "./errors.ts";
import type { Bag, Json } from "./json.ts";

/** A wake as it is kept. */
export interface SetWake extends Wake {
  /** Id of the event that set it. Absent: of an actor in memory. */
  readonly cause?: string;
  /** When it last fired, or was set. A clock that says less has been set back since. Absent: set by an earlier version. */
  readonly rang?: number;
}

/** A wake, by its name, or an expiry, without one. */
export interface Due {
  readonly id: ActorId;
  readonly wake: string;
  readonly at: number;
  /** As the wake says. */
  readonly rang?: number;
}

/** The place of an actor among others, by what is due of it first. */
export type DuePlace = Pick<Due, "id" | "at">;

/** What is known of an actor without its state. */
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
  /** A fork: what it sends is recorded, never delivered. */
  readonly muted?: true;
  readonly wakes: Readonly<Record<string, SetWake>>;
  /** Messages told "later", by id: what their answers need. */
  readonly pending: Bag;
}

/** One turn, as the store takes it. */
export interface Entry {
  /** `STORE_CONFLICT` unless this event is the head, entries handed over earlier included (C6). */
  readonly after: string | null;
  readonly seq: number;
  readonly event: ChainEvent;
  /** The event's body carries the whole state: `load` starts here. */
  readonly full: boolean;
  readonly row: Row;
  readonly out: readonly Message[];
  /** The outbox message this turn applied: gone in the same transaction; `STORE_CONFLICT` where it is not there, since it was applied already (C5). */
  readonly consumed?: string;
  readonly remember?: Remembered;
  /** Replies given only now to keyed messages that were told "later": remembered alike. */
  readonly answered?: readonly Remembered[];
  /** A keyed call this turn told "later": its actor is found by the key until the reply is remembered. */
  readonly claimed?: Omit<Remembered, "reply">;
}

/** The first reply to a keyed call; `until` in milliseconds since 1970 (C4). */
export interface Remembered {
  readonly key: string;
  /** A hash of what was asked for: another call under the key is refused. Empty: written before this was kept. */
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
  /** Of its last event: who removes it names it. */
  readonly head: string;
  readonly seq: number;
  /** When the message came that it ended with, in milliseconds since 1970. */
  readonly endedAt: number;
}

/** Which of those that have ended. */
export interface EndedQuery {
  /** Ended earlier than this. */
  readonly before: number;
  readonly kind?: string;
  /** Where the page before this one said to go on. */
  readonly after?: string;
  /** So many are looked at, whenever they ended. */
  readonly limit: number;
}

export interface EndedPage {
  readonly ended: readonly Ended[];
  /** Absent: there are no more. */
  readonly next?: string;
}

/** What goes with an outbox message that left no event. */
export interface Settling {
  /** Of a dead letter: what its last failure was. */
  readonly why?: string;
  /** The reply to whoever asked with `replyAs`: in the outbox from the same transaction on, or another process would answer again (C5). */
  readonly answer?: Message;
}

/** Told of each row that cannot be read (`STORE_CORRUPT`, the message says which one) and was passed over. Without it, one such row is a fault. */
export type Damaged = (error: StoreError, actor?: ActorId) => void;

/** Where actors sleep. Throws `StoreError` only. */
export interface Store extends AsyncDisposable {
  /** Why it takes nothing more until it is opened again. Undefined: it does. */
  readonly fault?: StoreError | undefined;
  /** Pages that only its write-ahead log holds: the number grows while checkpoints fail. Absent: it has no such log. */
  readonly backlog?: number | undefined;
  load(id: ActorId): Promise<Stored | undefined>;
  /** All or nothing, grouped; the next may be handed over before this settles. Settles when durable. */
  commit(id: ActorId, entry: Entry): Promise<void>;
  /** A message from a door that must outlive the process before its turn ran. */
  enqueue(message: Message): Promise<void>;
  /** An outbox message whose turn had no effect (`done`), failed once more (`failed`), or for the third time (`dead`). One that is not there: nothing. */
  settle(messageId: string, how: "done" | "failed" | "dead", more?: Settling): Promise<void>;
  remembered(id: ActorId, key: string): Promise<Pick<Remembered, "call" | "reply"> | undefined>;
  /** Actors that remember a reply to a call of that key, or told it "later": the last one first, at most 100. */
  claimants(key: string): Promise<readonly ActorId[]>;
  /** In order; bodies absent where erased. */
  events(id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]>;
  event(eventId: string): Promise<ChainEvent | undefined>;
  /** The first 1,000: a repeating wake has effects without end. */
  caused(eventId: string): Promise<readonly ChainEvent[]>;
  /** Bodies only, and none from the last full state on. Returns how many. */
  erase(id: ActorId, beforeSeq: number): Promise<number>;
  /**
   * Wakes and expiries that are due, soonest first; with `kinds`, only of actors of these kinds; with `after`, only of actors behind that
   * place. The next page of actors is behind the last entry that is its actor's first.
   */
  due(before: number, limit: number, damaged?: Damaged, kinds?: readonly string[], after?: DuePlace): Promise<readonly Due[]>;
  /**
   * In the order they were committed, without those whose ids are in `except`: at most `limit`, fewer where they are large, and none
   * only where there are no more.
   */
  undelivered(limit: number, damaged?: Damaged, except?: ReadonlySet<string>): Promise<readonly Undelivered[]>;
  letters(limit: number, damaged?: Damaged): Promise<readonly Letter[]>;
  /** A dead letter goes back to the outbox (`replay`), its `replays` counted, or away (`drop`). False: there is none of that id. */
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean>;
  children(id: ActorId): Promise<readonly ActorId[]>;
  list(query: Parameters<Engine["list"]>[0], damaged?: Damaged): Promise<readonly Change[]>;
  count(query: Parameters<Engine["count"]>[0]): Promise<number>;
  find(uid: string): Promise<ActorId | undefined>;
  /** By kinds, then in an order of the store's own. */
  ended(query: EndedQuery): Promise<EndedPage>;
  /**
   * An actor that has ended goes as a whole: its row and its chain, which in a file are overwritten. False, and it stays: that is not
   * what it ended with (C6). What it sent is still on its way, and what it remembered is nobody's.
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

/** A keyed call an actor has taken: its first reply, or none yet where it was told "later" (C4). */
export type KeyedCall = Omit<Remembered, "reply"> & Partial<Pick<Remembered, "reply">>;

/** An actor as it is named on its way from one place to another. */
export interface Travelling {
  readonly id: ActorId;
  /** As after the last event. */
  readonly row: Row;
  /** Of the last event. */
  readonly seq: number;
  readonly head: string;
}

/** All that is kept of an actor. Each iterable is read once, events first, before the next actor is asked for. */
export interface Leaving extends Travelling {
  /** All of them, in order; bodies absent where erased. */
  events(): AsyncIterable<ChainEvent>;
  /** Those that have not expired at `Exporter.at`, ascending by the UTF-8 bytes of their keys. */
  calls(): AsyncIterable<KeyedCall>;
}

/**
 * Everything a place of actors holds. Each actor is whole and of one moment, and all are of the same moment where the place
 * can tell one. Read in the order of these methods, one iterable after the other. Throws `StoreError` only.
 */
export interface Exporter extends AsyncDisposable {
  /** The moment, milliseconds since 1970. */
  readonly at: number;
  /** In the order of kinds, then of keys. Throws `STORE_CORRUPT` at the first that cannot be read. */
  actors(kind?: string): AsyncIterable<Leaving>;
  /** In the order they were committed. */
  undelivered(): AsyncIterable<Undelivered>;
  letters(): AsyncIterable<Letter>;
}

/**
 * A place that takes actors in while nothing else writes there. Calls come one at a time, each after the last one settled.
 * Throws `StoreError` only.
 */
export interface Importer extends AsyncDisposable {
  /**
   * Undefined: it is there already, with this very head. Throws `STORE_CONFLICT`, having written nothing, where it is there
   * with another chain, or another actor has its uid.
   */
  actor(actor: Travelling): Promise<Arrival | undefined>;
  /** Comes last in the outbox. False: it is there already, waiting or as a dead letter. Throws `STORE_CONFLICT` where another is there under its id. */
  message(undelivered: Undelivered): Promise<boolean>;
  /** Likewise, among the dead letters. */
  letter(letter: Letter): Promise<boolean>;
  /** Settles when all that was taken in is durable. Until then a crash may lose what came since the last one, never part of an actor. */
  flush(): Promise<void>;
}

/** One actor on its way in: nothing of it is seen, nor left behind by a crash, before `commit`. */
export interface Arrival {
  /** In order, each verified to follow the one before it. `full`: its body holds the whole state. */
  event(event: ChainEvent, full: boolean): Promise<void>;
  /** After the events, ascending by key. */
  call(call: KeyedCall): Promise<void>;
  /** The chain was verified to its end, and tells this state. */
  commit(state: Json): Promise<void>;
  /** Nothing of it is kept. */
  abort(): Promise<void>;
}

/** SHA-256 of some bytes, as 64 lower-case hex digits. */
export type Digest = string;

/** What was, and was not, in use. */
export interface Collected {
  readonly kept: number;
  readonly dropped: number;
  /** Of what was dropped. */
  readonly bytes: number;
}

/**
 * Bytes by their digest, and labels that name them, in spaces of their own. Safe to share: the same bytes are kept once.
 * Throws `StoreError` only; `STORE_CORRUPT` where kept bytes no longer are what their digest says.
 */
export interface ContentStore extends AsyncDisposable {
  /** Settles when durable. With a space, `contents` of that space tells of it. */
  put(bytes: Uint8Array, space?: string): Promise<Digest>;
  get(digest: Digest): Promise<Uint8Array | undefined>;
  has(digest: Digest): Promise<boolean>;
  /** A label names one digest; without one, the label is gone. Settles when durable. */
  label(space: string, label: string, digest: Digest | undefined): Promise<void>;
  labelled(space: string, label: string): Promise<Digest | undefined>;
  /** In the order of their names: at most `limit` after `after`. */
  labels(space: string, limit: number, after?: string): Promise<readonly string[]>;
  /** What was put into that space and has not been collected, in the order of digests. */
  contents(space: string, limit: number, after?: Digest): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]>;
  /** Drops what no label names and `live` does not: whatever is put while this runs stays. */
  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected>;
}
