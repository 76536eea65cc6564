import {
  atMostBytes,
  type Extra,
  extraOf,
  faults,
  type Kind,
  NOTHING_SINCE,
  sinceAfter,
  type SinceFull,
  stateFrom,
  understand,
  type Understood,
  wantsFull,
} from "../chain/internal.ts";
import type { ActorId, EngineError, Entry, Json, Row, Snapshot, Store, Stored } from "../contract/index.ts";

/** Where an actor's chain ends, its lead included, and how far back its last whole state is. */
export class Tail {
  head: string | null = null;
  /** Written by another version of the behaviour. */
  stale = false;
  #since: SinceFull = NOTHING_SINCE;

  get wantsFull(): boolean {
    return this.stale || this.head === null || wantsFull(this.#since);
  }

  grow(entry: Pick<Entry, "event" | "full">): void {
    this.head = entry.event.id;
    this.#since = sinceAfter(this.#since, entry);
    if (entry.full) this.stale = false;
  }
}

/** A stored actor as this behaviour understands it. */
export interface Woken {
  readonly row: Row;
  readonly seq: number;
  readonly tail: Tail;
  readonly extra: Extra;
  readonly state: Json;
  readonly bytes: number;
  /** Why it cannot take messages. Its state is then as it was stored, or null where that cannot be read. */
  readonly failure: EngineError | undefined;
}

/** Undefined: the store knows no such actor. Throws what the store throws. */
export async function wake(store: Store | undefined, kind: Kind, id: ActorId): Promise<Woken | undefined> {
  const stored = await store?.load(id);
  if (stored === undefined) return undefined;
  const { row, seq } = stored;
  const tail = new Tail();
  stored.tail.forEach((event, index) => tail.grow({ event, full: index === 0 }));
  tail.head = stored.head;
  const { state, failure } = stateOf(kind, id, stored, tail);
  return { row, seq, tail, extra: extraOf(kind, row), state, bytes: atMostBytes(state), failure };
}

/** For an actor whose kind is not known here. */
export const rawState = (stored: Stored): Json => stateFrom(stored.tail).state;

/** Of an actor in the store, whose state this is. */
export function storedSnapshot(id: ActorId, { row, seq, head }: Omit<Stored, "tail">, state: Json): Snapshot {
  const { uid, status, version, createdAt, lastMessageAt, messageCount, owner } = row;
  const known: Snapshot = { id, uid, seq, head, status, state, version, createdAt, lastMessageAt, messageCount, persistence: "disk" };
  return owner === undefined ? known : { ...known, owner };
}

function stateOf(kind: Kind, id: ActorId, stored: Stored, tail: Tail): Pick<Understood, "state" | "failure"> {
  try {
    const understood = understand(kind, id, stateFrom(stored.tail));
    tail.stale = understood.stale;
    return understood;
  } catch (error) {
    return { state: null, failure: faults.failed(id, "its chain could not be read", error) };
  }
}
