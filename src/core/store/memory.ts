import {
  StoreError,
  systemClock,
  type ActorId,
  type ChainEvent,
  type Change,
  type Clock,
  type Damaged,
  type Due,
  type DuePlace,
  type Ended,
  type EndedPage,
  type EndedQuery,
  type Entry,
  type Letter,
  type Message,
  type Remembered,
  type Reply,
  type Row,
  type Settling,
  type Store,
  type Undelivered,
} from "../contract/index.ts";
import { compareIds, kindOf, MultiMap, asReplay, settledNow } from "../contract/internal.ts";

interface Held extends Omit<Remembered, "reply"> {
  readonly reply: Reply | undefined;
}

interface Kept {
  row: Row;
  /** Which of all that ever began it is. */
  readonly place: number;
  seq: number;
  head: string;
  /** Ascending by seq; `events[i].seq` is `firstSeq + i`. */
  readonly events: ChainEvent[];
  readonly firstSeq: number;
  fullSeq: number;
  /** Without a reply: told "later". */
  readonly replies: Map<string, Omit<Held, "key">>;
}

interface Handed {
  readonly id: ActorId;
  readonly entry: Entry;
  readonly resolve: () => void;
}

const MOST_EFFECTS = 1_000;
const CAUSE = /"cause":"([^"\\]*)"/u;
const AT = /,"at":(\d+),"type":/u;

/**
 * A store in this process: all the promises of one on disk but outliving the
 * process. Entries handed over in one go become visible together, a moment later.
 * `clock` decides when remembered replies expire.
 */
export function memoryStore(options: { readonly clock?: Clock } = {}): Store {
  return new MemoryStore(options.clock ?? systemClock);
}

class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #actors = new Map<ActorId, Kept>();
  readonly #uids = new Map<string, ActorId>();
  readonly #events = new Map<string, ChainEvent>();
  readonly #effects = new Map<string, string[]>();
  readonly #outbox = new Map<string, Undelivered>();
  readonly #letters = new Map<string, Letter>();
  /** Only actors with a wake or an expiry. */
  readonly #timed = new Set<ActorId>();
  readonly #children = new MultiMap<ActorId, ActorId>();
  /** By key; the last one last. */
  readonly #claims = new MultiMap<string, ActorId>();
  /** C6: the heads as they will be once what was handed over is visible. */
  readonly #tips = new Map<ActorId, string>();
  /** C5: outbox messages that entries handed over have applied. */
  readonly #taken = new Set<string>();
  #handed: Handed[] = [];
  #begun = 0;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async load(id: ActorId): ReturnType<Store["load"]> {
    this.#open();
    const kept = this.#actors.get(id);
    if (!kept) return undefined;
    return { row: kept.row, seq: kept.seq, head: kept.head, tail: kept.events.slice(kept.fullSeq - kept.firstSeq) };
  }

  commit(id: ActorId, entry: Entry): Promise<void> {
    if (this.#closed) return Promise.reject(closed());
    const tip = this.#tips.get(id) ?? this.#actors.get(id)?.head ?? null;
    if (tip !== entry.after)
      return Promise.reject(new StoreError("STORE_CONFLICT", `${id} has moved on: load it again, then repeat what was meant.`));
    const { consumed } = entry;
    if (consumed !== undefined) {
      if (!this.#outbox.has(consumed) || this.#taken.has(consumed))
        return Promise.reject(new StoreError("STORE_CONFLICT", `${id} has applied message ${consumed} already: load it again.`));
      this.#taken.add(consumed);
    }
    this.#tips.set(id, entry.event.id);
    if (this.#handed.length === 0) queueMicrotask(() => this.#flush());
    return new Promise((resolve) => {
      this.#handed.push({ id, entry, resolve });
    });
  }

  #flush(): void {
    const handed = this.#handed;
    this.#handed = [];
    for (const { id, entry } of handed) this.#keep(id, entry);
    for (const { resolve } of handed) resolve();
  }

  #keep(id: ActorId, entry: Entry): void {
    const { event, row, seq } = entry;
    let kept = this.#actors.get(id);
    if (!kept) {
      kept = { row, place: (this.#begun += 1), seq, head: event.id, events: [], firstSeq: seq, fullSeq: seq, replies: new Map() };
      this.#actors.set(id, kept);
    }
    kept.row = row;
    kept.seq = seq;
    kept.head = event.id;
    kept.events.push(event);
    if (entry.full) kept.fullSeq = seq;
    if (this.#tips.get(id) === event.id) this.#tips.delete(id);
    this.#uids.set(row.uid, id);
    this.#events.set(event.id, event);
    const cause = CAUSE.exec(event.header)?.[1];
    if (cause !== undefined) {
      const effects = this.#effects.get(cause);
      if (effects) effects.push(event.id);
      else this.#effects.set(cause, [event.id]);
    }
    if (row.status !== "stopped" && (row.policy?.expireMs !== undefined || Object.keys(row.wakes).length > 0)) this.#timed.add(id);
    else this.#timed.delete(id);
    if (row.parent !== undefined && row.status === "stopped") this.#children.take(row.parent, id);
    else if (row.parent !== undefined) this.#children.put(row.parent, id);
    if (entry.consumed !== undefined) {
      this.#outbox.delete(entry.consumed);
      this.#taken.delete(entry.consumed);
    }
    for (const message of entry.out) this.#outbox.set(message.id, { message, failures: 0 });
    if (entry.remember) this.#remember(id, kept, entry.remember);
    for (const late of entry.answered ?? []) this.#remember(id, kept, late);
    if (entry.claimed) this.#remember(id, kept, { ...entry.claimed, reply: undefined });
  }

  #remember(id: ActorId, kept: Kept, { key, call, reply, until }: Held): void {
    const now = settledNow(this.#clock);
    for (const [old, other] of kept.replies) {
      if (other.until > now) break;
      kept.replies.delete(old);
      this.#claims.take(old, id);
    }
    kept.replies.set(key, { call, reply, until });
    this.#claims.take(key, id);
    this.#claims.put(key, id);
  }

  async enqueue(message: Message): Promise<void> {
    this.#open();
    this.#outbox.set(message.id, { message, failures: 0 });
  }

  async settle(messageId: string, how: "done" | "failed" | "dead", { why = "", answer }: Settling = {}): Promise<void> {
    this.#open();
    const waiting = this.#outbox.get(messageId);
    if (!waiting) return;
    // Setting an existing key keeps its place: the order of commits.
    if (how === "failed") this.#outbox.set(messageId, { message: waiting.message, failures: waiting.failures + 1 });
    else this.#outbox.delete(messageId);
    if (how === "dead") this.#letters.set(messageId, { message: waiting.message, why, at: this.#clock.now() });
    if (answer !== undefined) this.#outbox.set(answer.id, { message: answer, failures: 0 });
  }

  async remembered(id: ActorId, key: string): ReturnType<Store["remembered"]> {
    this.#open();
    const { call = "", reply, until = 0 } = this.#actors.get(id)?.replies.get(key) ?? {};
    return reply !== undefined && until > settledNow(this.#clock) ? { call, reply } : undefined;
  }

  async claimants(key: string): Promise<readonly ActorId[]> {
    this.#open();
    const now = settledNow(this.#clock);
    const known = [...(this.#claims.get(key) ?? [])].filter((id) => (this.#actors.get(id)?.replies.get(key)?.until ?? 0) > now);
    return known.toReversed().slice(0, 100);
  }

  async events(id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]> {
    this.#open();
    const kept = this.#actors.get(id);
    if (!kept) return [];
    const from = Math.max(0, afterSeq + 1 - kept.firstSeq);
    return kept.events.slice(from, from + limit);
  }

  async event(eventId: string): Promise<ChainEvent | undefined> {
    this.#open();
    return this.#events.get(eventId);
  }

  async caused(eventId: string): Promise<readonly ChainEvent[]> {
    this.#open();
    return (this.#effects.get(eventId) ?? []).slice(0, MOST_EFFECTS).flatMap((id) => this.#events.get(id) ?? []);
  }

  async erase(id: ActorId, beforeSeq: number): Promise<number> {
    this.#open();
    const kept = this.#actors.get(id);
    if (!kept) return 0;
    let count = 0;
    const end = Math.min(beforeSeq, kept.fullSeq) - kept.firstSeq;
    for (let index = 0; index < end; index += 1) {
      const event = kept.events[index];
      if (event?.body === undefined) continue;
      const bare = { id: event.id, header: event.header };
      kept.events[index] = bare;
      this.#events.set(event.id, bare);
      count += 1;
    }
    return count;
  }

  async due(before: number, limit: number, _damaged?: Damaged, kinds?: readonly string[], after?: DuePlace): ReturnType<Store["due"]> {
    this.#open();
    const actors: (readonly Due[])[] = [];
    for (const id of this.#timed) {
      const row = kinds?.includes(kindOf(id)) === false ? undefined : this.#actors.get(id)?.row;
      const due = row === undefined ? [] : dueOf(id, row).filter(({ at }) => at <= before);
      const [first] = due;
      if (first !== undefined && (after === undefined || isBehind(first, after))) actors.push(due);
    }
    const inOrder = actors.toSorted(([one], [other]) => (one && other ? one.at - other.at || compareIds(one.id, other.id) : 0));
    return inOrder
      .flat()
      .toSorted((one, other) => one.at - other.at)
      .slice(0, limit);
  }

  async undelivered(limit: number, _damaged?: Damaged, except?: ReadonlySet<string>): Promise<readonly Undelivered[]> {
    this.#open();
    const first: Undelivered[] = [];
    for (const waiting of this.#outbox.values()) {
      if (first.length >= limit) break;
      if (except?.has(waiting.message.id) !== true) first.push(waiting);
    }
    return first;
  }

  async letters(limit: number): Promise<readonly Letter[]> {
    this.#open();
    return [...this.#letters.values()].slice(0, limit);
  }

  async letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    this.#open();
    const letter = this.#letters.get(messageId);
    if (!letter) return false;
    this.#letters.delete(messageId);
    if (fate === "replay") this.#outbox.set(messageId, { message: asReplay(letter.message), failures: 0 });
    return true;
  }

  async children(id: ActorId): Promise<readonly ActorId[]> {
    this.#open();
    return [...(this.#children.get(id) ?? [])];
  }

  async list({ kind, owner, live, after, limit }: Parameters<Store["list"]>[0]): Promise<readonly Change[]> {
    this.#open();
    const found: Change[] = [];
    for (const id of [...this.#actors.keys()].toSorted(compareIds)) {
      if (found.length >= limit) break;
      const kept = this.#actors.get(id);
      if (!kept || (after !== undefined && compareIds(after, id) >= 0) || !matches(id, kept.row, { kind, owner, live })) continue;
      found.push({ id, seq: kept.seq, head: kept.head, status: kept.row.status });
    }
    return found;
  }

  async count(query: Parameters<Store["count"]>[0]): Promise<number> {
    this.#open();
    let count = 0;
    for (const [id, { row }] of this.#actors) if (matches(id, row, query)) count += 1;
    return count;
  }

  async find(uid: string): Promise<ActorId | undefined> {
    this.#open();
    return this.#uids.get(uid);
  }

  async ended({ before, kind, after = "", limit }: EndedQuery): Promise<EndedPage> {
    this.#open();
    const [from = "", last = "0"] = after.split(" ");
    const stopped = [...this.#actors]
      .filter(([id, { row }]) => row.status === "stopped" && matches(id, row, { kind }))
      .map(([id, { head, seq, place, events }]) => ({ id, head, seq, place, of: kindOf(id), endedAt: atOf(events.at(-1)) }))
      .toSorted((one, other) => (one.of === other.of ? one.place - other.place : one.of < other.of ? -1 : 1))
      .filter(({ of, place }) => of > from || (of === from && place > Number(last)));
    const page = stopped.slice(0, limit);
    const ended = page.filter(({ endedAt }) => endedAt < before).map(({ id, head, seq, endedAt }) => ({ id, head, seq, endedAt }));
    const end = page.at(-1);
    return end === undefined || page.length < limit ? { ended } : { ended, next: `${end.of} ${end.place}` };
  }

  async remove({ id, head }: Pick<Ended, "id" | "head">): Promise<boolean> {
    this.#open();
    const kept = this.#actors.get(id);
    if (kept?.head !== head || kept.row.status !== "stopped" || this.#tips.has(id)) return false;
    this.#actors.delete(id);
    this.#uids.delete(kept.row.uid);
    this.#timed.delete(id);
    for (const key of kept.replies.keys()) this.#claims.take(key, id);
    for (const event of kept.events) {
      this.#events.delete(event.id);
      const cause = CAUSE.exec(event.header)?.[1];
      const effects = cause === undefined ? undefined : this.#effects.get(cause);
      effects?.splice(effects.indexOf(event.id), 1);
      if (cause !== undefined && effects?.length === 0) this.#effects.delete(cause);
    }
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#handed.length > 0) this.#flush();
    this.#closed = true;
  }

  #open(): void {
    if (this.#closed) throw closed();
  }
}

const closed = (): StoreError => new StoreError("STORE_CLOSED", "The store is closed: open it again.");

const atOf = (event: ChainEvent | undefined): number => Number(AT.exec(event?.header ?? "")?.[1] ?? 0);

/** Soonest first. */
function dueOf(id: ActorId, { wakes, policy, lastMessageAt }: Row): readonly Due[] {
  const due = Object.entries(wakes).map(([wake, { at, rang }]): Due => ({ id, wake, at, ...(rang === undefined ? {} : { rang }) }));
  if (policy?.expireMs !== undefined) due.push({ id, wake: "", at: lastMessageAt + policy.expireMs });
  return due.toSorted((one, other) => one.at - other.at);
}

const isBehind = (one: DuePlace, other: DuePlace): boolean =>
  one.at > other.at || (one.at === other.at && compareIds(one.id, other.id) > 0);

interface Which {
  readonly kind?: string | undefined;
  readonly owner?: string | undefined;
  readonly live?: boolean | undefined;
}

const matches = (id: ActorId, row: Row, { kind, owner, live }: Which): boolean =>
  (kind === undefined || kindOf(id) === kind) &&
  (owner === undefined || row.owner === owner) &&
  (live !== true || row.status !== "stopped");
