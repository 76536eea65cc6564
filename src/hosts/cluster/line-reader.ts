const NEWLINE = 10;
const FIRST_BYTES = 1_024;

/** Cuts bytes into lines. One growing buffer, since a list of pieces could cost a hundred times their bytes. */
export class LineReader {
  #gathered = Buffer.alloc(0);
  #used = 0;
  #stopped = false;

  /** Every whole line, until `stop`. False: a line is longer than `maxBytes()`, and nothing is read any more. */
  push(chunk: Uint8Array, maxBytes: () => number, onLine: (line: Uint8Array) => void): boolean {
    let start = 0;
    while (!this.#stopped) {
      const end = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      if (this.#used + piece.length > maxBytes()) {
        this.stop();
        return false;
      }
      if (end < 0) {
        this.#gather(piece, maxBytes());
        break;
      }
      start = end + 1;
      if (this.#used === 0) {
        onLine(piece);
        continue;
      }
      this.#gather(piece, maxBytes());
      const line = this.#gathered.subarray(0, this.#used);
      this.#gathered = Buffer.alloc(0);
      this.#used = 0;
      onLine(line);
    }
    return true;
  }

  stop(): void {
    this.#stopped = true;
    this.#gathered = Buffer.alloc(0);
    this.#used = 0;
  }

  #gather(piece: Uint8Array, maxBytes: number): void {
    const needed = this.#used + piece.length;
    if (needed > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(Math.max(FIRST_BYTES, this.#gathered.length * 2), maxBytes)));
      this.#gathered.copy(larger, 0, 0, this.#used);
      this.#gathered = larger;
    }
    this.#gathered.set(piece, this.#used);
    this.#used = needed;
  }
}
