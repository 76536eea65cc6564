// Owns: one actor in memory (its state and the end of its chain), and how it is loaded from the store.
// Does not own: the order of its turns (cell.ts), or which of them are durable (uncommitted.ts).
import {
  afterCrash,
  atMostBytes,
  type Base,
  begin,
  entryOf,
  type Extra,
  extraOf,
  faults,
  type Kind,
  mayStart,
  NOTHING_SINCE,
  type Plan,
  sinceAfter,
  type SinceFull,
  stateFrom,
  statusOf,
  upcast,
  type Upcast,
  needsSnapshot,
} from "../chain/internal.ts";
import type { ActorId, Clock, EngineError, Entry, Json, Message, Row, Snapshot, Status, Store, Stored } from "../contract/index.ts";
import { counted, omitUndefined } from "../contract/internal.ts";
import { LazySnapshot, MemoryEvent } from "./lazy-heads.ts";

const NONE: readonly number[] = [];

/** The end of an actor's chain, uncommitted turns included, and how far back its last snapshot is. */
class ChainTail {
  head: string | null = null;
  /** The last event was written by another version of the behaviour. */
  stale = false;
  #since: SinceFull = NOTHING_SINCE;

  get needsSnapshot(): boolean {
    return this.stale || this.head === null || needsSnapshot(this.#since);
  }

  append(entry: Pick<Entry, "event" | "full">): void {
    this.head = entry.event.id;
    this.#since = sinceAfter(this.#since, entry);
    if (entry.full) this.stale = false;
  }
}

interface Failures {
  readonly crashes: readonly number[];
  readonly why: EngineError | undefined;
}

/** The newest state of an actor, durable or not. C3: only `apply`, `applyInMemory` and `restore` change it. */
export class ActorState implements Base {
  readonly id: ActorId;
  readonly kind: Kind;
  memory: boolean;
  status: Status | "not-started" = "not-started";
  state: Json = null;
  life = "";
  createdAt = 0;
  extra: Extra;
  bytes = 0;
  seq = 0;
  /** When it last received a message. */
  lastAt = 0;
  messageCount = 0;
  /** As it is stored: when the message of its last event came, or a later one. `lastAt` counts every message. */
  lastMessageAt = 0;
  /** The version of the behaviour that wrote the state. */
  version = 0;
  /** A memory actor's only event. */
  last: MemoryEvent | undefined;
  #tail: ChainTail | undefined;
  /** Most actors never have any. */
  #failures: Failures | undefined;

  constructor(kind: Kind, id: ActorId, memory: boolean) {
    this.kind = kind;
    this.id = id;
    this.memory = memory;
    this.extra = kind.plain;
  }

  /** Times of crashes within the window. */
  get crashes(): readonly number[] {
    return this.#failures?.crashes ?? NONE;
  }

  /** Why the actor has failed, or had failed before it was restarted. */
  get why(): EngineError | undefined {
    return this.#failures?.why;
  }

  get failure(): EngineError | undefined {
    return this.status === "failed" ? this.why : undefined;
  }

  /** It failed by crashes: only this process knows that, so the actor must stay in memory. */
  get crashedOut(): boolean {
    return this.status === "failed" && this.crashes.length > 0;
  }

  /** Returns why this crash has failed the actor, if it has; the caller then calls `fail`. */
  countCrash(now: number): string | undefined {
    const { restart } = this.extra.policy;
    const { times, fails } = afterCrash(this.crashes, now, restart);
    this.#failures = { crashes: times, why: this.why };
    return fails ? `it crashed ${counted(times.length, "time")} within ${restart?.withinMs ?? 0} ms` : undefined;
  }

  fail(why: EngineError): void {
    this.status = "failed";
    this.#failures = { crashes: this.crashes, why };
  }

  /** Resets its crashes. An actor on disk that has failed has to be loaded again: its state may be at fault. */
  forgive(): void {
    this.#failures = { crashes: NONE, why: this.why };
    if (this.status === "failed" && this.memory) this.status = "live";
  }

  /** Why it refuses a message; undefined: it accepts it. */
  refusal(message: Message, clock: Clock): EngineError | undefined {
    const { id, status, extra } = this;
    if (message.deadline !== undefined && message.deadline <= clock.now()) return faults.deadline(id, false, false);
    if (status === "failed") return this.why;
    if (status === "live") {
      const isStranger = extra.owner !== undefined && message.viewer !== undefined && message.viewer.principal !== extra.owner;
      return isStranger ? faults.noActor(id) : undefined;
    }
    if (mayStart(this.kind, message)) return undefined;
    return status === "not-started" ? faults.noActor(id) : faults.stopped(id);
  }

  /** Its behaviour declares that this message is ignored, without an error, if there is no live actor. */
  ignores(message: Message): boolean {
    return (this.status === "stopped" || this.status === "not-started") && this.kind.behaviour.lapses?.(message) === true;
  }

  snapshot(): Snapshot {
    const { id, seq, last, state, version, createdAt, lastMessageAt, messageCount } = this;
    const { owner, uid = this.life } = this.extra;
    const status = this.status === "not-started" ? "live" : this.status;
    const persistence = this.memory ? "memory" : "disk";
    const head = this.#tail?.head ?? null;
    const known: Snapshot = { id, uid, seq, head: head ?? "", status, state, version, createdAt, lastMessageAt, messageCount, persistence };
    if (head === null && last !== undefined) return new LazySnapshot(known, last, owner);
    return owner === undefined ? known : { ...known, owner };
  }

  /** The first state of a life that this message starts. Throws what `initial` throws, and `ENGINE_MISSING`. */
  begin(message: Message, store: Store | undefined): Base {
    const { uid = this.life, muted } = this.extra;
    const base = begin(this.kind, this.id, message, this.life === "" ? undefined : { uid, ...(muted && { muted }) });
    const { persistence } = base.extra.policy;
    if (persistence === "distributed") throw faults.engineMissing(this.kind.name, "engine");
    if (persistence === "disk" && store === undefined) throw faults.engineMissing(this.kind.name, "store");
    return base;
  }

  /** The entry of a turn for the store. If it throws, nothing has changed. */
  entryFor(plan: Plan, consumed: string | undefined, now: number, indexed: Entry["indexed"]): Entry {
    const place = {
      parent: this.#tail?.head ?? null,
      full: plan.born || (this.#tail?.needsSnapshot ?? true),
      messageCount: plan.born ? 1 : this.messageCount + 1,
      lastMessageAt: this.lastAt,
      consumed,
      indexed,
    };
    return entryOf(this.kind, plan, place, now);
  }

  /** A turn's entry is about to be handed to the store. */
  apply(plan: Plan, entry: Entry): void {
    this.memory = false;
    this.#take(plan);
    // The same object in each row, so that the store does not write unchanged timers again.
    if (plan.setWakes.length > 0) this.extra = { ...plan.extra, wakes: entry.row.wakes };
    this.#tail ??= new ChainTail();
    this.#tail.append(entry);
  }

  /** Commits a turn of a memory actor. */
  applyInMemory(plan: Plan): MemoryEvent {
    const event = new MemoryEvent(this.kind, plan, this.last);
    this.memory = true;
    this.#tail = undefined;
    this.#take(plan);
    return (this.last = event);
  }

  #take(plan: Plan): void {
    this.state = plan.state;
    this.bytes = plan.bytes;
    this.extra = plan.extra;
    this.seq = plan.seq;
    this.messageCount = plan.born ? 1 : this.messageCount + 1;
    if (plan.born) this.#failures = undefined;
    this.life = plan.life;
    this.createdAt = plan.createdAt;
    this.lastMessageAt = this.lastAt;
    this.version = this.kind.behaviour.version;
    this.status = statusOf(plan);
  }

  /** Takes over the stored state. Returns why the actor cannot receive messages, if it cannot. */
  restore(loaded: LoadedActor | undefined): EngineError | undefined {
    this.#tail = loaded?.tail;
    this.seq = loaded?.seq ?? 0;
    this.status = loaded?.row.status ?? "not-started";
    if (loaded === undefined) {
      // Nothing of a life that was removed, or never stored, is carried into the next.
      this.life = "";
      this.extra = this.kind.plain;
      this.state = null;
      return undefined;
    }
    const { row, failure } = loaded;
    this.life = row.life;
    this.createdAt = row.createdAt;
    this.lastAt = Math.max(this.lastAt, row.lastMessageAt);
    this.lastMessageAt = row.lastMessageAt;
    this.messageCount = row.messageCount;
    this.version = failure === undefined ? this.kind.behaviour.version : row.version;
    this.extra = loaded.extra;
    this.state = loaded.state;
    this.bytes = loaded.bytes;
    return row.status === "stopped" ? undefined : failure;
  }
}

/** A stored actor, migrated to the present version of its behaviour. */
export interface LoadedActor {
  readonly row: Row;
  readonly seq: number;
  readonly tail: ChainTail;
  readonly extra: Extra;
  readonly state: Json;
  readonly bytes: number;
  /** Why it cannot receive messages. Its state is then as it was stored, or null if that cannot be read. */
  readonly failure: EngineError | undefined;
}

/** Undefined: the store has no such actor. Throws what the store throws. */
export async function loadActor(store: Store | undefined, { kind, id }: ActorState): Promise<LoadedActor | undefined> {
  const stored = await store?.load(id);
  if (stored === undefined) return undefined;
  const { row, seq } = stored;
  const tail = new ChainTail();
  stored.tail.forEach((event, index) => tail.append({ event, full: index === 0 }));
  tail.head = stored.head;
  const { state, failure } = migratedState(kind, id, stored, tail);
  return { row, seq, tail, extra: extraOf(kind, row), state, bytes: atMostBytes(state), failure };
}

function migratedState(kind: Kind, id: ActorId, stored: Stored, tail: ChainTail): Pick<Upcast, "state" | "failure"> {
  try {
    const understood = upcast(kind, id, stateFrom(stored.tail));
    tail.stale = understood.stale;
    return understood;
  } catch (error) {
    return { state: null, failure: faults.failed(id, "its chain could not be read", error) };
  }
}

/** Appends an event to the chain that is made of what the store has. */
export async function appendToStored(store: Store | undefined, id: ActorId, make: (stored: Stored) => Entry): Promise<Entry> {
  const stored = await store?.load(id);
  if (store === undefined || stored === undefined) throw faults.noActor(id);
  const entry = make(stored);
  await store.commit(id, entry);
  return entry;
}

/** The row that an actor in memory would have in a store. */
export function rowInMemory({ life, version, createdAt, lastMessageAt, messageCount, status, extra }: ActorState): Row {
  const { uid = life, override, owner, parent, muted, wakes, pending } = extra;
  return {
    uid,
    life,
    version,
    createdAt,
    lastMessageAt,
    messageCount,
    status: status === "not-started" ? "live" : status,
    wakes,
    pending,
    ...omitUndefined({ policy: override, owner, parent, muted }),
  };
}

/** The state of an actor whose kind is not served here. */
export const rawState = (stored: Stored): Json => stateFrom(stored.tail).state;

/** A snapshot of an actor in the store, with this state. */
export function storedSnapshot(id: ActorId, { row, seq, head }: Omit<Stored, "tail">, state: Json): Snapshot {
  const { uid, status, version, createdAt, lastMessageAt, messageCount, owner } = row;
  const known: Snapshot = { id, uid, seq, head, status, state, version, createdAt, lastMessageAt, messageCount, persistence: "disk" };
  return owner === undefined ? known : { ...known, owner };
}
