// Owns: doing the work of one event-loop turn together, at its end. Does not own: the work.
import type { Clock } from "../../core/contract/index.ts";

const BATCH_MAX = 64;
const DELAY_MAX_MS = 1;

/**
 * Collects the work of one event-loop turn and does it at the turn's end: first all requests that were read, then all responses
 * that are ready.
 *
 * Responses of one turn are written together because each write by itself wakes the process that reads it, which falls asleep
 * again before the next write; and because code that alternates with other code evicts it from the processor's caches. The delay
 * is bounded by count and by age, so that a long turn delays what is already known once, and nothing behind it.
 */
export class TickBatcher<T> {
  readonly #clock: Clock;
  readonly #run: (item: T) => void;
  readonly #afterBatch: (() => void) | undefined;
  #items: T[] = [];
  #startedAt = 0;
  #scheduled: NodeJS.Immediate | undefined;

  /** `afterBatch` runs whenever a batch is done. */
  constructor(clock: Clock, run: (item: T) => void, afterBatch?: () => void) {
    this.#clock = clock;
    this.#run = run;
    this.#afterBatch = afterBatch;
  }

  add(item: T): void {
    const size = this.#items.push(item);
    if (size === 1) this.#startedAt = this.#clock.now();
    else if (size === BATCH_MAX || this.#clock.now() - this.#startedAt > DELAY_MAX_MS) return this.flush();
    this.#scheduled ??= setImmediate(this.#endOfTurn);
  }

  /** An item that is already in the batch has grown: checks the batch's age. */
  grown(): void {
    if (this.#clock.now() - this.#startedAt > DELAY_MAX_MS) this.flush();
  }

  readonly #endOfTurn = (): void => {
    this.#scheduled = undefined;
    this.flush();
  };

  /** Runs the batch now. */
  flush(): void {
    // A leftover immediate would keep the event loop from sleeping for one more turn.
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const batch = this.#items;
    this.#items = [];
    let done = 0;
    try {
      for (const item of batch) {
        done += 1;
        this.#run(item);
      }
      this.#afterBatch?.();
    } finally {
      // If one item throws, the rest of the batch runs in the next turn, before anything added since.
      if (done < batch.length) {
        this.#items = [...batch.slice(done), ...this.#items];
        this.#scheduled ??= setImmediate(this.#endOfTurn);
      }
    }
  }
}
