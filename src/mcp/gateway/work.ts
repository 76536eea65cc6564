import { Cancellation, type Clock } from "../../core/contract/index.ts";

/** Counts what runs, so that a drain knows when it has ended. */
export class Work {
  #running = 0;
  /** Aborted once no new work is taken. */
  readonly closing = new Cancellation();
  readonly #idle = new Set<() => void>();

  get running(): number {
    return this.#running;
  }

  /** No new work is taken. */
  get closed(): boolean {
    return this.closing.aborted;
  }

  close(): void {
    this.closing.abort();
  }

  /** Counts in what runs until it has settled, and passes it on. */
  during<T>(run: () => T | Promise<T>): T | Promise<T> {
    this.#running += 1;
    let result: T | Promise<T>;
    try {
      result = run();
    } catch (error) {
      this.#ended();
      throw error;
    }
    if (result instanceof Promise) {
      return result.then(
        (value) => {
          this.#ended();
          return value;
        },
        (error: unknown) => {
          this.#ended();
          throw error;
        },
      );
    }
    this.#ended();
    return result;
  }

  /** Settles when nothing runs, or after `graceMs`: true where it ended by itself. */
  idle(clock: Clock, graceMs: number): Promise<boolean> {
    if (this.#running === 0) return Promise.resolve(true);
    if (graceMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      // The clock keeps no process alive, and one that exits in the middle of a drain has not drained.
      const alive = setInterval(() => undefined, 60_000);
      const undo = clock.after(graceMs, () => {
        clearInterval(alive);
        this.#idle.delete(ended);
        resolve(false);
      });
      const ended = (): void => {
        clearInterval(alive);
        undo();
        resolve(true);
      };
      this.#idle.add(ended);
    });
  }

  /** Settles when nothing runs. */
  quiet(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  #ended(): void {
    this.#running -= 1;
    if (this.#running > 0 || this.#idle.size === 0) return;
    const waiting = [...this.#idle];
    this.#idle.clear();
    for (const ended of waiting) ended();
  }
}
