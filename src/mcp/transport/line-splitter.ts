import { isAscii } from "node:buffer";
import { type Arriving, FREE_BYTES } from "./inflow.ts";

const NEWLINE = 10;
const RETURN = 13;
const FIRST_BYTES = 4_096;

/** Text where that was at hand, else bytes, which may be no UTF-8. */
export type Line = Uint8Array | string;

/**
 * Cuts a stream of bytes into lines, of ASCII as text, since a piece of text needs neither an object nor a decoder of its own. A line
 * that arrives in many pieces is gathered in one growing buffer, so the work is linear in the bytes however they are cut; a line that
 * is too long is thrown away up to its end, in no memory.
 */
export class LineSplitter {
  readonly #maxBytes: () => number;
  readonly #onLine: (line: Line) => void;
  readonly #onTooLong: () => void;
  readonly #begin: (() => Arriving) | undefined;
  #arriving: Arriving | undefined;
  #gathered = Buffer.alloc(0);
  #used = 0;
  #skipping = false;
  #stopped = false;

  /** `begin`: where a line that comes in many pieces takes room. Who has none is to be stopped. */
  constructor(maxBytes: () => number, onLine: (line: Line) => void, onTooLong: () => void, begin?: () => Arriving) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
    this.#begin = begin;
  }

  /** A line has begun and not ended. */
  get partial(): boolean {
    return this.#used > 0 || this.#skipping;
  }

  push(chunk: Uint8Array): void {
    const whole = chunk.lastIndexOf(NEWLINE) + 1;
    let start = 0;
    if (whole > 0 && this.partial) {
      start = chunk.indexOf(NEWLINE) + 1;
      this.#end(chunk.subarray(0, start - 1));
    }
    if (start < whole) this.#lines(chunk.subarray(start, whole));
    if (!this.#stopped && whole < chunk.length) this.#gather(chunk.subarray(whole));
  }

  /** The stream has ended: what is there counts as a line. */
  finish(): void {
    if (!this.#stopped && this.#used > 0) this.#end(new Uint8Array());
    this.stop();
  }

  /** No line any more, not even from the chunk at hand. */
  stop(): void {
    this.#stopped = true;
    this.#forget();
  }

  #lines(bytes: Uint8Array): void {
    if (isAscii(bytes)) return this.#texts(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1"));
    let start = 0;
    while (!this.#stopped && start < bytes.length) {
      const end = bytes.indexOf(NEWLINE, start);
      this.#end(bytes.subarray(start, end));
      start = end + 1;
    }
  }

  #texts(text: string): void {
    let start = 0;
    while (!this.#stopped && start < text.length) {
      const end = text.indexOf("\n", start);
      if (end - start > this.#maxBytes()) this.#onTooLong();
      else {
        const last = text.charCodeAt(end - 1) === RETURN ? end - 1 : end;
        if (last > start) this.#onLine(text.slice(start, last));
      }
      start = end + 1;
    }
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
    } else if (this.#fits(this.#used + rest.length)) this.#append(rest);
  }

  #fits(size: number): boolean {
    if (size <= FREE_BYTES || this.#begin === undefined) return true;
    this.#arriving ??= this.#begin();
    return this.#arriving.holds(size);
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
    this.#arriving?.end();
    this.#arriving = undefined;
  }
}
