/** Reading, printing and hashing this much takes one or two milliseconds. */
const TURN_BYTES = 131_072;

/** Yields to the event loop after a certain amount of work: stores may answer without ever yielding. */
export class Pace {
  #taken = 0;

  take(bytes: number): void {
    this.#taken += bytes;
  }

  /** Settles at once after little work. */
  async rest(): Promise<void> {
    if (this.#taken < TURN_BYTES) return;
    this.#taken = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
