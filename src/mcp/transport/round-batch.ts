import type { Clock } from "../../core/contract/index.ts";

const MOST = 64;
const LONGEST_MS = 1;

/**
 * What comes in one round of the event loop is done together at its end: requests are taken up once no more are being read, and
 * what is to be written is written once none is being answered. Each write by itself wakes its reader, who is asleep again before
 * the next, and code that runs by turns with other code finds the processor's caches full of that. Not more than so many wait for
 * each other, nor longer than so: what is known when a long turn begins waits for that one turn, and for none behind it.
 */
export class RoundBatch<T> {
  readonly #clock: Clock;
  readonly #each: (one: T) => void;
  readonly #after: (() => void) | undefined;
  #waiting: T[] = [];
  #since = 0;
  #due: NodeJS.Immediate | undefined;

  /** `after` runs whenever all that waited has been done. */
  constructor(clock: Clock, each: (one: T) => void, after?: () => void) {
    this.#clock = clock;
    this.#each = each;
    this.#after = after;
  }

  add(one: T): void {
    const waiting = this.#waiting.push(one);
    if (waiting === 1) this.#since = this.#clock.now();
    else if (waiting === MOST || this.#clock.now() - this.#since > LONGEST_MS) return this.flush();
    this.#due ??= setImmediate(this.#end);
  }

  /** More has come to one that waits already. */
  grown(): void {
    if (this.#clock.now() - this.#since > LONGEST_MS) this.flush();
  }

  readonly #end = (): void => {
    this.#due = undefined;
    this.flush();
  };

  /** Does what waits. */
  flush(): void {
    // A round that nothing is left for would keep the event loop from its sleep once more.
    clearImmediate(this.#due);
    this.#due = undefined;
    const all = this.#waiting;
    this.#waiting = [];
    let done = 0;
    try {
      for (const one of all) {
        done += 1;
        this.#each(one);
      }
      this.#after?.();
    } finally {
      // What one throws is no matter of those behind it, who still come before all that came since.
      if (done < all.length) {
        this.#waiting = [...all.slice(done), ...this.#waiting];
        this.#due ??= setImmediate(this.#end);
      }
    }
  }
}
