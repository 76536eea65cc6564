import type { Clock } from "../contract/index.ts";

const MOST = 64;
const LONGEST_MS = 1;

/**
 * What is to be written while requests are still being read is written together, at the end of the event loop's round. Each write
 * by itself wakes its reader, who is asleep again before the next: under load that is a third of what a request costs. Not more
 * than so many wait for each other, nor longer than so: what is known when a long turn begins waits for that one turn, and for
 * none behind it.
 */
export class WriteBatch<T> {
  readonly #clock: Clock;
  readonly #write: (one: T) => void;
  #waiting: T[] = [];
  #since = 0;
  #due = false;

  constructor(clock: Clock, write: (one: T) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  add(one: T): void {
    const waiting = this.#waiting.push(one);
    if (waiting === 1) this.#since = this.#clock.now();
    else if (waiting === MOST || this.#clock.now() - this.#since > LONGEST_MS) return this.flush();
    if (this.#due) return;
    this.#due = true;
    setImmediate(this.#end);
  }

  /** More has come to one that waits already. */
  grown(): void {
    if (this.#clock.now() - this.#since > LONGEST_MS) this.flush();
  }

  readonly #end = (): void => {
    this.#due = false;
    this.flush();
  };

  /** Writes what waits. */
  flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    let left = 0;
    try {
      for (const one of all) {
        left += 1;
        this.#write(one);
      }
    } finally {
      // What one throws is no matter of those behind it.
      for (const one of all.slice(left)) this.add(one);
    }
  }
}
