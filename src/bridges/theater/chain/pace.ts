/** Reading, printing and hashing this much takes one or two milliseconds. */
const BYTES_PER_TURN = 131_072;

/** Yields to the event loop after a certain amount of work: stores may answer without ever yielding. */
export class WorkPacer {
  #done = 0;

  count(bytes: number): void {
    this.#done += bytes;
  }

  /** Settles at once after little work. */
  async yieldIfDue(): Promise<void> {
    if (this.#done < BYTES_PER_TURN) return;
    this.#done = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
