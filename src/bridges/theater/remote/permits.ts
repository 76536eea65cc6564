import type { Clock } from "../../../core/contract/index.ts";

/** A semaphore with a bounded queue and a bounded wait. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #maxWaiting: number;
  readonly #clock: Clock;

  constructor(count: number, waiting: number, clock: Clock) {
    this.#free = count;
    this.#maxWaiting = waiting;
    this.#clock = clock;
  }

  /** False if too many wait, or the wait took too long. */
  async acquire(limitMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    if (this.#waiting.length >= this.#maxWaiting) return false;
    return await new Promise((resolve) => {
      const proceed = (): void => {
        undo();
        resolve(true);
      };
      const undo = this.#clock.after(limitMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1);
        resolve(false);
      });
      this.#waiting.push(proceed);
    });
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
