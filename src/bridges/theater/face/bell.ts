import { type CancelSignal, type Clock, EngineError } from "../../../core/contract/index.ts";

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
