import { createHash, type Hash } from "node:crypto";

const BEFORE = ',"sum":"';
const AFTER = '"}';
const TAIL_BYTES = BEFORE.length + 64 + AFTER.length;

/**
 * The sums of an export: each is the SHA-256 of every byte before its `,"sum":"`, from the second line on; the first line
 * has one for itself alone, so that two exports of the same data are the same from their second line on.
 */
export class DumpSum {
  #hash: Hash = createHash("sha256");

  /** The first line is over. */
  begin(): void {
    this.#hash = createHash("sha256");
  }

  /** A line without a sum. */
  plain(line: string | Uint8Array): void {
    this.#hash.update(line);
    this.#hash.update("\n");
  }

  /** The text, an object's, with its sum. */
  sealed(text: string): string {
    const open = text.slice(0, -1);
    this.#hash.update(open);
    const tail = `${BEFORE}${this.#hash.copy().digest("hex")}${AFTER}`;
    this.#hash.update(`${tail}\n`);
    return open + tail;
  }

  /** Where such a line's text ends, before its sum. Undefined: it has none, or not the one of what was read so far. */
  opened(line: Uint8Array): number | undefined {
    const end = line.length - TAIL_BYTES;
    if (end < 1) return undefined;
    this.#hash.update(line.subarray(0, end));
    const tail = `${BEFORE}${this.#hash.copy().digest("hex")}${AFTER}`;
    if (Buffer.from(line.buffer, line.byteOffset + end, TAIL_BYTES).toString("latin1") !== tail) return undefined;
    this.#hash.update(`${tail}\n`);
    return end;
  }
}
