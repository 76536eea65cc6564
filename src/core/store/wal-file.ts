/** The write-ahead log as it lies in its file, read without SQLite, which cuts a damaged one without an error. https://sqlite.org/walformat.html */
import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from "node:fs";

const HEADER = 32;
const FRAME_HEADER = 24;
const FRAMES_AT_ONCE = 256;

/** What recovery keeps of a log, and what it leaves behind. */
export interface LogExtent {
  /** Every restart of a log counts the first up and draws the second. Both 0: there is no log, or its header is damaged. */
  readonly salts: readonly [number, number];
  /** Frames up to the last commit that recovery finds. */
  readonly frames: number;
  /** Commits of the same log behind the first damaged frame: recovery does not find them. */
  readonly commitsBehind: number;
  /** The pages of the database that these are. */
  readonly pages: ReadonlySet<number>;
}

const NONE: LogExtent = { salts: [0, 0], frames: 0, commitsBehind: 0, pages: new Set() };

/** Cumulative, over pairs of 32-bit words. */
class Checksum {
  s0 = 0;
  s1 = 0;
  add(view: DataView, from: number, to: number, littleEndian: boolean): void {
    let { s0, s1 } = this;
    for (let at = from; at < to; at += 8) {
      s0 = (s0 + view.getUint32(at, littleEndian) + s1) >>> 0;
      s1 = (s1 + view.getUint32(at + 4, littleEndian) + s0) >>> 0;
    }
    this.s0 = s0;
    this.s1 = s1;
  }
  equals(view: DataView, at: number): boolean {
    return this.s0 === view.getUint32(at) && this.s1 === view.getUint32(at + 4);
  }
}

/**
 * Reads the log at `path`. `rewrite`: what is read is written again and synced. A sync that failed before a restart may have dropped pages
 * that the cache still has, and the next one reports success without them unless they are written again. Throws the system's errors.
 */
export function readLog(path: string, rewrite: boolean): LogExtent {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return NONE;
  const file = openSync(path, rewrite ? "r+" : "r");
  try {
    const extent = scan(file, rewrite);
    if (rewrite) fdatasyncSync(file);
    return extent;
  } finally {
    closeSync(file);
  }
}

function scan(file: number, rewrite: boolean): LogExtent {
  const read = (into: Buffer, at: number): number => {
    const count = readSync(file, into, 0, into.length, at);
    if (rewrite) for (let done = 0; done < count;) done += writeSync(file, into, done, count - done, at + done);
    return count;
  };
  const head = Buffer.alloc(HEADER);
  if (read(head, 0) < HEADER) return NONE;
  const view = new DataView(head.buffer, head.byteOffset, HEADER);
  const magic = view.getUint32(0);
  const littleEndian = magic === 0x377f0682;
  const sum = new Checksum();
  sum.add(view, 0, HEADER - 8, littleEndian);
  const page = view.getUint32(8);
  const isPageSize = page >= 512 && page <= 65_536 && (page & (page - 1)) === 0;
  const isHeader = (littleEndian || magic === 0x377f0683) && isPageSize && sum.equals(view, HEADER - 8);
  const walk = new Walk(view, sum, littleEndian);
  const size = FRAME_HEADER + (isHeader ? page : 4_096);
  const chunk = Buffer.alloc(FRAMES_AT_ONCE * size);
  const frames = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
  for (let at = HEADER; ;) {
    const count = read(chunk, at);
    if (isHeader) for (let from = 0; from + size <= count; from += size) walk.frame(frames, from, size);
    if (count < chunk.length) return isHeader ? walk : NONE;
    at += count;
  }
}

class Walk implements LogExtent {
  readonly salts: readonly [number, number];
  readonly pages = new Set<number>();
  frames = 0;
  commitsBehind = 0;
  readonly #sum: Checksum;
  readonly #littleEndian: boolean;
  #seen = 0;
  #isWhole = true;
  /** Pages of a transaction whose commit has not come yet. */
  #open: number[] = [];

  constructor(header: DataView, sum: Checksum, littleEndian: boolean) {
    this.salts = [header.getUint32(16), header.getUint32(20)];
    this.#sum = sum;
    this.#littleEndian = littleEndian;
  }

  frame(view: DataView, at: number, size: number): void {
    const [salt1, salt2] = this.salts;
    const isOfThisLog = view.getUint32(at + 8) === salt1 && view.getUint32(at + 12) === salt2;
    const page = view.getUint32(at);
    const commit = view.getUint32(at + 4);
    if (this.#isWhole) {
      this.#sum.add(view, at, at + 8, this.#littleEndian);
      this.#sum.add(view, at + FRAME_HEADER, at + size, this.#littleEndian);
      this.#isWhole = isOfThisLog && page !== 0 && this.#sum.equals(view, at + 16);
    }
    if (!this.#isWhole) {
      if (isOfThisLog && commit !== 0) this.commitsBehind += 1;
      return;
    }
    this.#seen += 1;
    this.#open.push(page);
    if (commit === 0) return;
    this.frames = this.#seen;
    for (const one of this.#open) this.pages.add(one);
    this.#open = [];
  }
}
