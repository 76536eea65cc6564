import type { Clock } from "../../../core/contract/index.ts";

/** A semaphore with a bounded queue and a bounded wait. */
export class Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #most: number;
  readonly #clock: Clock;

  constructor(count: number, waiting: number, clock: Clock) {
    this.#free = count;
    this.#most = waiting;
    this.#clock = clock;
  }

  /** False if too many wait, or the wait took too long. */
  async take(limitMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    if (this.#waiting.length >= this.#most) return false;
    return await new Promise((resolve) => {
      const go = (): void => {
        undo();
        resolve(true);
      };
      const undo = this.#clock.after(limitMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        resolve(false);
      });
      this.#waiting.push(go);
    });
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
