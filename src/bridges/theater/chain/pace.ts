/** In about a millisecond or two so much is read, printed and hashed. */
const TURN_BYTES = 131_072;

/** Lets others have the event loop whenever so much of it was taken: stores may answer without ever giving it back. */
export class Pace {
  #taken = 0;

  take(bytes: number): void {
    this.#taken += bytes;
  }

  /** Settles at once where little was taken. */
  async rest(): Promise<void> {
    if (this.#taken < TURN_BYTES) return;
    this.#taken = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
