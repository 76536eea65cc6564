import { type CancelSignal, type Clock, EngineError } from "../../../core/contract/index.ts";

/** Wakes one waiter. A notification without a waiter wakes the next one at once. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Settles when notified, or after `ms`. Throws `CANCELLED`. */
  async next(clock: Clock, ms: number, signal: CancelSignal | undefined): Promise<void> {
    if (!this.#rung && signal?.aborted !== true) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const undo = clock.after(ms, resolve);
      signal?.addEventListener("abort", resolve, { once: true });
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
      signal?.removeEventListener("abort", resolve);
      undo();
    }
    this.#rung = false;
    if (signal?.aborted === true) throw new EngineError("CANCELLED", "The wait was cancelled; nothing was changed by it.");
  }
}

/** The waits in progress. `close` ends them. */
export class Bells {
  readonly #bells = new Set<Bell>();
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  async with<T>(use: (bell: Bell) => Promise<T>): Promise<T> {
    const bell = new Bell();
    this.#bells.add(bell);
    try {
      return await use(bell);
    } finally {
      this.#bells.delete(bell);
    }
  }

  close(): void {
    this.#closed = true;
    for (const bell of this.#bells) bell.ring();
  }
}
