const NEWLINE = 10;
const RETURN = 13;
const FIRST_BYTES = 4_096;

/**
 * Cuts a stream of bytes into lines. A line that arrives in many pieces is
 * gathered in one growing buffer, so the work is linear in the bytes however they
 * are cut; a line that is too long is thrown away up to its end, in no memory.
 */
export class LineSplitter {
  readonly #maxBytes: () => number;
  readonly #onLine: (line: Uint8Array) => void;
  readonly #onTooLong: () => void;
  #gathered = Buffer.alloc(0);
  #used = 0;
  #skipping = false;
  #stopped = false;

  constructor(maxBytes: () => number, onLine: (line: Uint8Array) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  /** A line has begun and not ended. */
  get partial(): boolean {
    return this.#used > 0 || this.#skipping;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    while (!this.#stopped) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      this.#end(chunk.subarray(start, end));
      start = end + 1;
    }
    if (!this.#stopped && start < chunk.length) this.#gather(chunk.subarray(start));
  }

  /** The stream has ended: what is there counts as a line. */
  finish(): void {
    if (!this.#stopped && this.#used > 0) this.#end(new Uint8Array());
    this.stop();
  }

  /** No line any more, not even from the chunk at hand. */
  stop(): void {
    this.#stopped = true;
    this.#gathered = Buffer.alloc(0);
    this.#used = 0;
  }

  #end(rest: Uint8Array): void {
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    if (this.#used + rest.length > this.#maxBytes()) {
      this.#forget();
      this.#onTooLong();
      return;
    }
    let line = rest;
    if (this.#used > 0) {
      this.#append(rest);
      line = this.#gathered.subarray(0, this.#used);
      this.#forget();
    }
    const length = line.at(-1) === RETURN ? line.length - 1 : line.length;
    if (length > 0) this.#onLine(length === line.length ? line : line.subarray(0, length));
  }

  #gather(rest: Uint8Array): void {
    if (this.#skipping) return;
    if (this.#used + rest.length > this.#maxBytes()) {
      this.#forget();
      this.#skipping = true;
      this.#onTooLong();
    } else this.#append(rest);
  }

  #append(rest: Uint8Array): void {
    const needed = this.#used + rest.length;
    if (needed > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, needed, Math.min(this.#gathered.length * 2, this.#maxBytes())));
      this.#gathered.copy(larger, 0, 0, this.#used);
      this.#gathered = larger;
    }
    this.#gathered.set(rest, this.#used);
    this.#used = needed;
  }

  // The buffer goes with its line: whoever got it may keep it.
  #forget(): void {
    this.#gathered = Buffer.alloc(0);
    this.#used = 0;
  }
}
