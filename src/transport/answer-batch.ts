import type { Clock } from "../contract/index.ts";

const MOST = 64;
const LONGEST_MS = 1;

/**
 * Answers that are known while requests are still being read leave together, at the end of the event loop's round. Each one sent
 * by itself wakes its reader, who is asleep again before the next: under load that is a third of what a request costs. Not more
 * than so many wait for each other, nor longer than so: whoever comes behind a long turn pays for it, not who came before.
 */
export class AnswerBatch<T> {
  readonly #clock: Clock;
  readonly #leave: (answer: T) => void;
  #waiting: T[] = [];
  #since = 0;
  #due = false;

  /** `leave` sees to its own errors. */
  constructor(clock: Clock, leave: (answer: T) => void) {
    this.#clock = clock;
    this.#leave = leave;
  }

  add(answer: T): void {
    const waiting = this.#waiting.push(answer);
    if (waiting === 1) this.#since = this.#clock.now();
    else if (waiting === MOST || this.#clock.now() - this.#since > LONGEST_MS) return this.#flush();
    if (this.#due) return;
    this.#due = true;
    setImmediate(this.#end);
  }

  readonly #end = (): void => {
    this.#due = false;
    this.#flush();
  };

  #flush(): void {
    const answers = this.#waiting;
    this.#waiting = [];
    for (const answer of answers) this.#leave(answer);
  }
}
