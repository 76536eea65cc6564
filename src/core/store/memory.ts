// Owns: the `Store` contract in memory, for tests and for actors that need not outlive the process. Does not own: the rules it shares
// with the store on SQLite (rules.ts).

import {
  type ActorId,
  type ChainEvent,
  type Change,
  checkOptions,
  type Clock,
  type Closable,
  type Damaged,
  type DeadLetter,
  type Due,
  type DuePlace,
  type Ended,
  type EndedPage,
  type EndedQuery,
  type Entry,
  type IndexStore,
  type KeyedCall,
  type ListQuery,
  type Message,
  type OutboxAck,
  type Row,
  type Store,
  type Stored,
  systemClock,
  type Undelivered,
} from "../contract/index.ts";
import { asReplay, compareIds, kindOf, MultiMap, settledNow } from "../contract/internal.ts";
import { MemoryIndexes } from "./memory-indexes.ts";
import {
  causeOf,
  closed,
  conflict,
  dueOf,
  endedAfter,
  endedPage,
  type EndedRow,
  MAX_CLAIMANTS,
  MAX_EFFECTS,
  wholeNumber,
} from "./rules.ts";

interface Actor {
  row: Row;
  /** Its number among all actors that ever began. */
  readonly place: number;
  seq: number;
  head: string;
  /** Ascending by seq; `events[i].seq` is `firstSeq + i`. */
  readonly events: ChainEvent[];
  readonly firstSeq: number;
  fullSeq: number;
  /** By key, oldest first. A call without a reply will be answered later. */
  readonly calls: Map<string, KeyedCall>;
}

interface PendingEntry {
  readonly id: ActorId;
  readonly entry: Entry;
  readonly resolve: () => void;
}

const AT = /,"at":(\d+),"type":/u;
const timeOf = (event: ChainEvent | undefined): number => Number(AT.exec(event?.header ?? "")?.[1] ?? 0);

/**
 * A store in this process, with all guarantees of the one on disk except that nothing outlives the process. Entries committed together
 * become visible together, in the next microtask. `clock` decides when remembered replies expire.
 */
export function memoryStore(options: { readonly clock?: Clock } = {}): Store & Closable {
  checkOptions("memoryStore", options, { clock: true });
  return new MemoryStore(options.clock ?? systemClock);
}

class MemoryStore implements Store, Closable {
  readonly indexes: IndexStore;
  readonly #rows: MemoryIndexes;
  readonly #clock: Clock;
  readonly #actors = new Map<ActorId, Actor>();
  readonly #uids = new Map<string, ActorId>();
  readonly #events = new Map<string, ChainEvent>();
  /** Ids of the events that name this one as their cause. */
  readonly #effects = new MultiMap<string, string>();
  readonly #outbox = new Map<string, Undelivered>();
  readonly #letters = new Map<string, DeadLetter>();
  /** Only actors with a wake or an expiry. */
  readonly #timed = new Set<ActorId>();
  readonly #children = new MultiMap<ActorId, ActorId>();
  /** Actors that have a call of this key, the latest last. */
  readonly #claimants = new MultiMap<string, ActorId>();
  /** C6: the heads as they will be when pending entries are visible. */
  readonly #pendingHeads = new Map<ActorId, string>();
  /** C5: outbox messages that pending entries have applied. */
  readonly #pendingConsumed = new Set<string>();
  #pending: PendingEntry[] = [];
  #begun = 0;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rows = new MemoryIndexes({
      checkOpen: () => this.#checkOpen(),
      list: (kind) => [...this.#actors.keys()].filter((id) => kindOf(id) === kind).toSorted(compareIds),
      load: (id) => this.#stored(id),
    });
    this.indexes = this.#rows;
  }

  async load(id: ActorId): ReturnType<Store["load"]> {
    this.#checkOpen();
    return this.#stored(id);
  }

  #stored(id: ActorId): Stored | undefined {
    const actor = this.#actors.get(id);
    if (!actor) return undefined;
    return { row: actor.row, seq: actor.seq, head: actor.head, tail: actor.events.slice(actor.fullSeq - actor.firstSeq) };
  }

  commit(id: ActorId, entry: Entry): Promise<void> {
    if (this.#closed) return Promise.reject(closed("store"));
    const head = this.#pendingHeads.get(id) ?? this.#actors.get(id)?.head ?? null;
    if (head !== entry.after) return Promise.reject(conflict(id, "has had another turn meanwhile"));
    const { consumed } = entry;
    if (consumed !== undefined) {
      if (!this.#outbox.has(consumed) || this.#pendingConsumed.has(consumed))
        return Promise.reject(conflict(id, `has applied message ${consumed} already`));
      this.#pendingConsumed.add(consumed);
    }
    this.#pendingHeads.set(id, entry.event.id);
    if (this.#pending.length === 0) queueMicrotask(() => this.#flush());
    return new Promise((resolve) => {
      this.#pending.push({ id, entry, resolve });
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { id, entry } of pending) this.#apply(id, entry);
    for (const { resolve } of pending) resolve();
  }

  #apply(id: ActorId, entry: Entry): void {
    const { event, row, seq } = entry;
    let actor = this.#actors.get(id);
    if (!actor) {
      actor = { row, place: (this.#begun += 1), seq, head: event.id, events: [], firstSeq: seq, fullSeq: seq, calls: new Map() };
      this.#actors.set(id, actor);
    }
    actor.row = row;
    actor.seq = seq;
    actor.head = event.id;
    actor.events.push(event);
    if (entry.full) actor.fullSeq = seq;
    if (this.#pendingHeads.get(id) === event.id) this.#pendingHeads.delete(id);
    this.#uids.set(row.uid, id);
    this.#events.set(event.id, event);
    const cause = causeOf(event.header);
    if (cause !== undefined) this.#effects.put(cause, event.id);
    if (row.status !== "stopped" && (row.policy?.expireMs !== undefined || Object.keys(row.wakes).length > 0)) this.#timed.add(id);
    else this.#timed.delete(id);
    if (row.parent !== undefined && row.status === "stopped") this.#children.take(row.parent, id);
    else if (row.parent !== undefined) this.#children.put(row.parent, id);
    if (entry.consumed !== undefined) {
      this.#outbox.delete(entry.consumed);
      this.#pendingConsumed.delete(entry.consumed);
    }
    for (const message of entry.out) this.#outbox.set(message.id, { message, failures: 0 });
    if (entry.remember) this.#remember(id, actor, entry.remember);
    for (const answered of entry.answered ?? []) this.#remember(id, actor, answered);
    if (entry.claimed) this.#remember(id, actor, entry.claimed);
    this.#rows.write(id, row.owner, entry.indexed);
  }

  #remember(id: ActorId, { calls }: Actor, call: KeyedCall): void {
    const now = settledNow(this.#clock);
    for (const [key, { until }] of calls) {
      if (until > now) break;
      calls.delete(key);
      this.#claimants.take(key, id);
    }
    calls.set(call.key, call);
    this.#claimants.take(call.key, id);
    this.#claimants.put(call.key, id);
  }

  async touch(id: ActorId, at: number): Promise<void> {
    // Behind the entries that were committed before.
    await Promise.resolve();
    this.#checkOpen();
    const actor = this.#actors.get(id);
    if (actor !== undefined && actor.row.status !== "stopped" && actor.row.lastMessageAt < at)
      actor.row = { ...actor.row, lastMessageAt: at };
  }

  async enqueue(message: Message): Promise<void> {
    this.#checkOpen();
    this.#outbox.set(message.id, { message, failures: 0 });
  }

  async settle(messageId: string, how: "done" | "failed" | "dead", { why = "", answer }: OutboxAck = {}): Promise<void> {
    this.#checkOpen();
    const waiting = this.#outbox.get(messageId);
    if (!waiting) return;
    // Setting an existing key preserves its position, which is the order of commits.
    if (how === "failed") this.#outbox.set(messageId, { message: waiting.message, failures: waiting.failures + 1 });
    else this.#outbox.delete(messageId);
    if (how === "dead") this.#letters.set(messageId, { message: waiting.message, why, at: this.#clock.now() });
    if (answer !== undefined) this.#outbox.set(answer.id, { message: answer, failures: 0 });
  }

  async remembered(id: ActorId, key: string): ReturnType<Store["remembered"]> {
    this.#checkOpen();
    const { call = "", reply, until = 0 } = this.#actors.get(id)?.calls.get(key) ?? {};
    return reply !== undefined && until > settledNow(this.#clock) ? { call, reply } : undefined;
  }

  async claimants(key: string): Promise<readonly ActorId[]> {
    this.#checkOpen();
    const now = settledNow(this.#clock);
    const current = [...(this.#claimants.get(key) ?? [])].filter((id) => (this.#actors.get(id)?.calls.get(key)?.until ?? 0) > now);
    return current.toReversed().slice(0, MAX_CLAIMANTS);
  }

  async events(id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]> {
    this.#checkOpen();
    const actor = this.#actors.get(id);
    if (!actor) return [];
    const from = Math.max(0, wholeNumber("afterSeq", afterSeq) + 1 - actor.firstSeq);
    return actor.events.slice(from, from + wholeNumber("limit", limit));
  }

  async event(eventId: string): Promise<ChainEvent | undefined> {
    this.#checkOpen();
    return this.#events.get(eventId);
  }

  async caused(eventId: string): Promise<readonly ChainEvent[]> {
    this.#checkOpen();
    return [...(this.#effects.get(eventId) ?? [])].slice(0, MAX_EFFECTS).flatMap((id) => this.#events.get(id) ?? []);
  }

  async erase(id: ActorId, beforeSeq: number): Promise<number> {
    this.#checkOpen();
    const actor = this.#actors.get(id);
    if (!actor) return 0;
    let count = 0;
    const end = Math.min(wholeNumber("beforeSeq", beforeSeq), actor.fullSeq) - actor.firstSeq;
    for (let index = 0; index < end; index += 1) {
      const event = actor.events[index];
      if (event?.body === undefined) continue;
      const bare = { id: event.id, header: event.header };
      actor.events[index] = bare;
      this.#events.set(event.id, bare);
      count += 1;
    }
    return count;
  }

  async due(before: number, limit: number, _damaged?: Damaged, kinds?: readonly string[], after?: DuePlace): ReturnType<Store["due"]> {
    this.#checkOpen();
    const actors: (readonly Due[])[] = [];
    for (const id of this.#timed) {
      const row = kinds?.includes(kindOf(id)) === false ? undefined : this.#actors.get(id)?.row;
      const due = row === undefined ? [] : dueOf(id, row, before);
      const [first] = due;
      if (first !== undefined && (after === undefined || comparePlaces(first, after) > 0)) actors.push(due);
    }
    const inOrder = actors.toSorted(([one], [other]) => (one && other ? comparePlaces(one, other) : 0));
    return inOrder
      .flat()
      .toSorted((one, other) => one.at - other.at)
      .slice(0, limit);
  }

  async undelivered(limit: number, _damaged?: Damaged, except?: ReadonlySet<string>): Promise<readonly Undelivered[]> {
    this.#checkOpen();
    const first: Undelivered[] = [];
    for (const waiting of this.#outbox.values()) {
      if (first.length >= limit) break;
      if (except?.has(waiting.message.id) !== true) first.push(waiting);
    }
    return first;
  }

  async letters(limit: number, _damaged?: Damaged, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    this.#checkOpen();
    return [...this.#letters.values()].filter(({ message }) => except?.has(message.id) !== true).slice(0, limit);
  }

  async letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    this.#checkOpen();
    const letter = this.#letters.get(messageId);
    if (!letter) return false;
    this.#letters.delete(messageId);
    if (fate === "replay") this.#outbox.set(messageId, { message: asReplay(letter.message), failures: 0 });
    return true;
  }

  async children(id: ActorId): Promise<readonly ActorId[]> {
    this.#checkOpen();
    return [...(this.#children.get(id) ?? [])];
  }

  async list({ after, limit, ...which }: ListQuery): Promise<readonly Change[]> {
    this.#checkOpen();
    const found: Change[] = [];
    for (const id of [...this.#actors.keys()].toSorted(compareIds)) {
      if (found.length >= limit) break;
      const actor = this.#actors.get(id);
      if (!actor || (after !== undefined && compareIds(after, id) >= 0) || !matches(id, actor.row, which)) continue;
      found.push({ id, seq: actor.seq, head: actor.head, status: actor.row.status });
    }
    return found;
  }

  async count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    this.#checkOpen();
    let count = 0;
    for (const [id, { row }] of this.#actors) if (matches(id, row, query)) count += 1;
    return count;
  }

  async find(uid: string): Promise<ActorId | undefined> {
    this.#checkOpen();
    return this.#uids.get(uid);
  }

  async ended(query: EndedQuery): Promise<EndedPage> {
    this.#checkOpen();
    const after = endedAfter(query);
    const rows: EndedRow[] = [];
    for (const [id, { head, seq, place, row, events }] of this.#actors) {
      const kind = kindOf(id);
      const isBehind = kind > after.kind || (kind === after.kind && place > after.place);
      if (row.status === "stopped" && isBehind && (query.kind === undefined || kind === query.kind))
        rows.push({ id, head, seq, place, endedAt: timeOf(events.at(-1)) });
    }
    return endedPage(rows.toSorted(compareEnded).slice(0, query.limit), query);
  }

  async remove({ id, head }: Pick<Ended, "id" | "head">): Promise<boolean> {
    this.#checkOpen();
    const actor = this.#actors.get(id);
    if (actor?.head !== head || actor.row.status !== "stopped" || this.#pendingHeads.has(id)) return false;
    this.#actors.delete(id);
    this.#uids.delete(actor.row.uid);
    this.#timed.delete(id);
    this.#rows.removed(id);
    for (const key of actor.calls.keys()) this.#claimants.take(key, id);
    for (const event of actor.events) {
      this.#events.delete(event.id);
      const cause = causeOf(event.header);
      if (cause !== undefined) this.#effects.take(cause, event.id);
    }
    return true;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#pending.length > 0) this.#flush();
    this.#closed = true;
  }

  #checkOpen(): void {
    if (this.#closed) throw closed("store");
  }
}

const comparePlaces = (one: DuePlace, other: DuePlace): number => one.at - other.at || compareIds(one.id, other.id);

/** By kind, then by place. */
function compareEnded(one: EndedRow, other: EndedRow): number {
  const [kind, otherKind] = [kindOf(one.id), kindOf(other.id)];
  return kind === otherKind ? one.place - other.place : kind < otherKind ? -1 : 1;
}

const matches = (id: ActorId, row: Row, { kind, owner, live }: Omit<ListQuery, "after" | "limit">): boolean =>
  (kind === undefined || kindOf(id) === kind) &&
  (owner === undefined || row.owner === owner) &&
  (live !== true || row.status !== "stopped");
