// Owns: `FaultyStore`, which injects faults into another store. Does not own: deciding where (torture.ts).
import {
  type ActorId,
  type Closable,
  type Damaged,
  type Entry,
  type Message,
  type OutboxAck,
  type Store,
  StoreError,
} from "../core/contract/index.ts";

/** A place where a fault can be injected: before a method is called, or after it has settled and before the caller learns of it. */
export type FaultPlace = `${"before" | "after"} ${FaultyMethod}`;
type FaultyMethod =
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
 * `fail`: a `StoreError`, and nothing is stored (before a call only). `lose`: the call is done, but its result is lost: an error
 * without a code. `crash`: the process ends: this and every later call never settles. `delay`: the result comes some rounds later.
 */
export type Fault = "pass" | "fail" | "lose" | "crash" | "delay";

/**
 * A store that injects faults before and after its calls. Entries reach the inner store in order.
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
  #lastCommit: Promise<void> = Promise.resolve();
  readonly #crash = Promise.withResolvers<void>();
  readonly #pending = new Set<Promise<unknown>>();

  constructor(inner: Store, decide: (place: FaultPlace) => Fault) {
    this.#inner = inner;
    this.#decide = decide;
  }

  /** Settles at the crash. */
  get whenCrashed(): Promise<void> {
    return this.#crash.promise;
  }

  /** Without faults of their own: indexes are written by commits. */
  get indexes(): Store["indexes"] {
    return this.#inner.indexes;
  }

  get crashed(): boolean {
    return this.#crashed;
  }

  /**
   * Settles when all calls of the inner store have settled. Await it after a crash, before the store is opened again: a real store has
   * no pending writes of a process that has ended.
   */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  /** Simulates the end of the process. */
  crash(): void {
    this.#crashed = true;
    this.#crash.resolve();
  }

  async #call<T>(method: FaultyMethod, call: () => Promise<T>): Promise<T> {
    await this.#inject(`before ${method}`);
    const result = await this.#track(call());
    await this.#inject(`after ${method}`);
    return result;
  }

  #track<T>(result: Promise<T>): Promise<T> {
    const over = settled(result).finally(() => this.#pending.delete(over));
    this.#pending.add(over);
    return result;
  }

  async #inject(place: FaultPlace): Promise<void> {
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
    // In a queue: after a delay, a later entry must not reach the inner store first.
    const submitted = this.#submit(this.#lastCommit, id, entry);
    this.#lastCommit = settled(submitted);
    return this.#finish(submitted);
  }

  async #submit(previous: Promise<void>, id: ActorId, entry: Entry): Promise<{ readonly stored: Promise<void> }> {
    await previous;
    await this.#inject("before commit");
    return { stored: this.#track(this.#inner.commit(id, entry)) };
  }

  async #finish(submitted: Promise<{ readonly stored: Promise<void> }>): Promise<void> {
    const { stored } = await submitted;
    await stored;
    await this.#inject("after commit");
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  load(id: ActorId): ReturnType<Store["load"]> {
    return this.#call("load", () => this.#inner.load(id));
  }
  enqueue(message: Message): Promise<void> {
    return this.#call("enqueue", () => this.#inner.enqueue(message));
  }
  settle(messageId: string, how: "done" | "failed" | "dead", more?: OutboxAck): Promise<void> {
    return this.#call("settle", () => this.#inner.settle(messageId, how, more));
  }
  remembered(id: ActorId, key: string): ReturnType<Store["remembered"]> {
    return this.#call("remembered", () => this.#inner.remembered(id, key));
  }
  claimants(key: string): ReturnType<Store["claimants"]> {
    return this.#call("claimants", () => this.#inner.claimants(key));
  }
  undelivered(...query: Parameters<Store["undelivered"]>): ReturnType<Store["undelivered"]> {
    return this.#call("undelivered", () => this.#inner.undelivered(...query));
  }
  due(...query: Parameters<Store["due"]>): ReturnType<Store["due"]> {
    return this.#call("due", () => this.#inner.due(...query));
  }
  event(eventId: string): ReturnType<Store["event"]> {
    return this.#call("event", () => this.#inner.event(eventId));
  }
  children(id: ActorId): ReturnType<Store["children"]> {
    return this.#call("children", () => this.#inner.children(id));
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
  letters(limit: number, damaged?: Damaged, except?: ReadonlySet<string>): ReturnType<Store["letters"]> {
    return this.#inner.letters(limit, damaged, except);
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
    return this.#call("remove", () => this.#inner.remove(ended));
  }
  /** The inner store stays open, since it outlives crashes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lastCommit;
  }
}

const NEVER: Promise<never> = new Promise(() => undefined);

async function settled(promise: Promise<unknown>): Promise<void> {
  await Promise.allSettled([promise]);
}
