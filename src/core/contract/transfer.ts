import type { ActorId } from "./actor.ts";
import type { ChainEvent } from "./chain.ts";
import type { Letter } from "./engine.ts";
import type { Json } from "./json.ts";
import type { Remembered, Row, Undelivered } from "./store.ts";

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
