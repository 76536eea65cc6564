import {
  type Closable,
  StoreError,
  type ActorId,
  type Damaged,
  type Entry,
  type Message,
  type OutboxAck,
  type Store,
} from "../core/contract/index.ts";

/** Before the store is asked, or after it has answered and before the asker hears. */
export type FaultPlace = `${"before" | "after"} ${Asked}`;
type Asked =
  | "load"
  | "commit"
  | "enqueue"
  | "settle"
  | "remembered"
  | "claimants"
  | "undelivered"
  | "due"
  | "event"
  | "children"
  | "remove";

/**
 * `fail`: a `StoreError`, and nothing was kept (before a call only). `lose`: it is done, but the answer is
 * lost in an error that says nothing. `crash`: the process ends: this and every later call never settles.
 * `delay`: the answer comes some rounds later.
 */
export type Fault = "pass" | "fail" | "lose" | "crash" | "delay";

/**
 * A store whose every await is a place to fail. Entries reach the inner store in their order.
 *
 * @example
 * ```ts
 * import { memoryStore } from "troupe/store";
 * import { FaultyStore } from "troupe/testing";
 *
 * // The third commit fails, and nothing of it is stored.
 * let commits = 0;
 * const store = new FaultyStore(memoryStore(), (place) => (place === "before commit" && ++commits === 3 ? "fail" : "pass"));
 * ```
 */
export class FaultyStore implements Store, Closable {
  readonly #inner: Store;
  readonly #decide: (place: FaultPlace) => Fault;
  #crashed = false;
  #line: Promise<void> = Promise.resolve();
  readonly #crash = Promise.withResolvers<void>();
  readonly #asked = new Set<Promise<unknown>>();

  constructor(inner: Store, decide: (place: FaultPlace) => Fault) {
    this.#inner = inner;
    this.#decide = decide;
  }

  /** Settles when a crash was decided. */
  get whenCrashed(): Promise<void> {
    return this.#crash.promise;
  }

  /** Their faults are those of the commits they share. */
  get indexes(): Store["indexes"] {
    return this.#inner.indexes;
  }

  get crashed(): boolean {
    return this.#crashed;
  }

  /**
   * Settles when the inner store has answered all it was asked. What a process handed over before it died
   * lands or is lost before another opens its store; an inner store that writes later would land it after.
   */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#asked);
  }

  /** The process ends here and now. */
  crash(): void {
    this.#crashed = true;
    this.#crash.resolve();
  }

  async #around<T>(method: Asked, ask: () => Promise<T>): Promise<T> {
    await this.#meet(`before ${method}`);
    const answer = await this.#tracked(ask());
    await this.#meet(`after ${method}`);
    return answer;
  }

  #tracked<T>(answer: Promise<T>): Promise<T> {
    const over = settled(answer).finally(() => this.#asked.delete(over));
    this.#asked.add(over);
    return answer;
  }

  async #meet(place: FaultPlace): Promise<void> {
    if (this.#crashed) await NEVER;
    switch (this.#decide(place)) {
      case "fail":
        throw new StoreError("STORE_IO", "The disk failed, as the test wanted.");
      case "lose":
        throw new Error("The answer was lost, as the test wanted.");
      case "crash":
        this.crash();
        await NEVER;
        break;
      case "delay":
        for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
        if (this.#crashed) await NEVER;
        break;
      case "pass":
        break;
    }
  }

  commit(id: ActorId, entry: Entry): Promise<void> {
    // A delay must not let a later entry overtake: all wait in one line up to the hand-over.
    const handed = this.#handOver(this.#line, id, entry);
    this.#line = settled(handed);
    return this.#answer(handed);
  }

  async #handOver(before: Promise<void>, id: ActorId, entry: Entry): Promise<{ readonly kept: Promise<void> }> {
    await before;
    await this.#meet("before commit");
    return { kept: this.#tracked(this.#inner.commit(id, entry)) };
  }

  async #answer(handed: Promise<{ readonly kept: Promise<void> }>): Promise<void> {
    const { kept } = await handed;
    await kept;
    await this.#meet("after commit");
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  load(id: ActorId): ReturnType<Store["load"]> {
    return this.#around("load", () => this.#inner.load(id));
  }
  enqueue(message: Message): Promise<void> {
    return this.#around("enqueue", () => this.#inner.enqueue(message));
  }
  settle(messageId: string, how: "done" | "failed" | "dead", more?: OutboxAck): Promise<void> {
    return this.#around("settle", () => this.#inner.settle(messageId, how, more));
  }
  remembered(id: ActorId, key: string): ReturnType<Store["remembered"]> {
    return this.#around("remembered", () => this.#inner.remembered(id, key));
  }
  claimants(key: string): ReturnType<Store["claimants"]> {
    return this.#around("claimants", () => this.#inner.claimants(key));
  }
  undelivered(...asked: Parameters<Store["undelivered"]>): ReturnType<Store["undelivered"]> {
    return this.#around("undelivered", () => this.#inner.undelivered(...asked));
  }
  due(...asked: Parameters<Store["due"]>): ReturnType<Store["due"]> {
    return this.#around("due", () => this.#inner.due(...asked));
  }
  event(eventId: string): ReturnType<Store["event"]> {
    return this.#around("event", () => this.#inner.event(eventId));
  }
  children(id: ActorId): ReturnType<Store["children"]> {
    return this.#around("children", () => this.#inner.children(id));
  }
  events(id: ActorId, afterSeq: number, limit: number): ReturnType<Store["events"]> {
    return this.#inner.events(id, afterSeq, limit);
  }
  caused(eventId: string): ReturnType<Store["caused"]> {
    return this.#inner.caused(eventId);
  }
  erase(id: ActorId, beforeSeq: number): Promise<number> {
    return this.#inner.erase(id, beforeSeq);
  }
  letters(limit: number, damaged?: Damaged): ReturnType<Store["letters"]> {
    return this.#inner.letters(limit, damaged);
  }
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    return this.#inner.letter(messageId, fate);
  }
  list(query: Parameters<Store["list"]>[0], damaged?: Damaged): ReturnType<Store["list"]> {
    return this.#inner.list(query, damaged);
  }
  count(query: Parameters<Store["count"]>[0]): Promise<number> {
    return this.#inner.count(query);
  }
  find(uid: string): ReturnType<Store["find"]> {
    return this.#inner.find(uid);
  }
  ended(query: Parameters<Store["ended"]>[0]): ReturnType<Store["ended"]> {
    return this.#inner.ended(query);
  }
  remove(ended: Parameters<Store["remove"]>[0]): Promise<boolean> {
    return this.#around("remove", () => this.#inner.remove(ended));
  }
  /** The inner store stays open: it outlives crashes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#line;
  }
}

const NEVER: Promise<never> = new Promise(() => undefined);

async function settled(promise: Promise<unknown>): Promise<void> {
  await Promise.allSettled([promise]);
}
