// Owns: the stage's change hints, shared by all listeners, and waits for them. Does not own: what changed (watch-resource.ts).
import { type CancelSignal, type Clock, EngineError } from "../../../core/contract/index.ts";
import { MultiMap } from "../../../core/contract/internal.ts";
import type { Stage, StageChange } from "../stage.ts";

/** Wakes one waiter. A notification without a waiter wakes the next one at once. */
export class Wakeup {
  #isNotified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /** Settles when notified, or after `ms`. Throws `CANCELLED`. */
  async wait(clock: Clock, ms: number, signal: CancelSignal | undefined): Promise<void> {
    if (!this.#isNotified && signal?.aborted !== true) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const undo = clock.after(ms, resolve);
      signal?.addEventListener("abort", resolve, { once: true });
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
      signal?.removeEventListener("abort", resolve);
      undo();
    }
    this.#isNotified = false;
    if (signal?.aborted === true) throw new EngineError("CANCELLED", "The wait was cancelled; nothing was changed by it.");
  }
}

/** The waits in progress. `close` ends them. */
export class PendingWaits {
  readonly #wakeups = new Set<Wakeup>();
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  async with<T>(use: (wakeup: Wakeup) => Promise<T>): Promise<T> {
    const wakeup = new Wakeup();
    this.#wakeups.add(wakeup);
    try {
      return await use(wakeup);
    } finally {
      this.#wakeups.delete(wakeup);
    }
  }

  close(): void {
    this.#closed = true;
    for (const wakeup of this.#wakeups) wakeup.notify();
  }
}

type Listener = (change: StageChange) => void;

/** Shares one watch of the stage among all listeners. It lasts only while there are any, since a remote stage polls while watched. */
export class ChangeHints {
  readonly #stage: Pick<Stage, "watch" | "prioritize">;
  readonly #all = new Set<Listener>();
  readonly #byActor = new MultiMap<string, Listener>();
  #undo: (() => void) | undefined;

  constructor(stage: Pick<Stage, "watch" | "prioritize">) {
    this.#stage = stage;
  }

  /** Listens to changes of every actor. Returns a function that removes the listener. */
  forAll(listener: Listener): () => void {
    const own: Listener = (change) => listener(change);
    this.#all.add(own);
    this.#start();
    return () => {
      this.#all.delete(own);
      this.#stopIfUnused();
    };
  }

  /** Listens to changes of one actor, by its id. Returns a function that removes the listener. */
  forActor(actor: string, listener: Listener): () => void {
    const own: Listener = (change) => listener(change);
    this.#byActor.put(actor, own);
    this.#start();
    const undo = this.prioritize(actor);
    return () => {
      undo();
      this.#byActor.take(actor, own);
      this.#stopIfUnused();
    };
  }

  /** A listener to all changes needs those of this actor. Returns a function that ends this. */
  prioritize(actor: string): () => void {
    return this.#stage.prioritize?.(actor) ?? (() => undefined);
  }

  close(): void {
    this.#all.clear();
    this.#byActor.clear();
    this.#stopIfUnused();
  }

  #start(): void {
    this.#undo ??= this.#stage.watch((change) => {
      for (const listener of Array.from(this.#all)) listener(change);
      for (const listener of Array.from(this.#byActor.get(change.actor) ?? [])) listener(change);
    });
  }

  #stopIfUnused(): void {
    if (this.#all.size > 0 || this.#byActor.size > 0) return;
    this.#undo?.();
    this.#undo = undefined;
  }
}
