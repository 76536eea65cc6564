// Owns: detecting, before SQLite opens a store, that a killed process left a log with synced frames missing; and the alarm that reports it.
// Does not own: the record of what was synced (checkpointer.ts).
//
// SQLite cuts a damaged log without an error, so the log is read here. https://sqlite.org/walformat.html

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isJsonObject, StoreError } from "../contract/index.ts";
import { counted, omitUndefined } from "../contract/internal.ts";
import { SyncRecord } from "./checkpointer.ts";
import { pragma } from "./database.ts";
import { recordOf } from "./lock.ts";

/** Synced frames of a killed process that its log no longer has. */
export interface LogLoss {
  /** `log-missing`: the file does not exist; `log-cut`: it is damaged or shorter than it was. */
  readonly event: "log-missing" | "log-cut";
  readonly log: string;
  /** How many frames are lost, each a changed page. Undefined: unknown. */
  readonly frames?: number;
  /** At least so many commits are lost, which lie behind the damage. Undefined: unknown. */
  readonly commits?: number;
  /** The file that stores this loss until an operator removes it. */
  readonly alarm: string;
  /** The sentence for people. */
  readonly message: string;
}

const HEADER = 32;
const FRAME_HEADER = 24;
const FRAMES_PER_READ = 256;
/**
 * A log within so many restarts of the recorded one counts as a later log of the same store: a loss of power may take the record back by
 * half a minute. The salts of another store's log are rarely so close.
 */
const MAX_RESTARTS = 65_536;

/** What recovery takes from a log, and what it ignores. */
export interface LogExtent {
  /** Every restart of a log increments the first salt and draws the second at random. Both 0: there is no log, or its header is damaged. */
  readonly salts: readonly [number, number];
  /** Frames up to the last commit that recovery finds. */
  readonly frames: number;
  /** Commits of the same log behind the first damaged frame, which recovery does not find. */
  readonly commitsBehind: number;
  /** The database pages in these frames. */
  readonly pages: ReadonlySet<number>;
}

const NO_LOG: LogExtent = { salts: [0, 0], frames: 0, commitsBehind: 0, pages: new Set() };

export const hasHeader = ([salt1, salt2]: LogExtent["salts"]): boolean => salt1 !== 0 || salt2 !== 0;

/** The log's checksum: cumulative, over pairs of 32-bit words. */
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
 * Reads the log at `path`. `rewrite`: writes all of it again and syncs it. A sync that failed before a restart may have dropped pages
 * that are still in the system's cache, and the next sync reports success without them unless they are written again. Throws the system's
 * errors.
 */
export function readLog(path: string, rewrite: boolean): LogExtent {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return NO_LOG;
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
  if (read(head, 0) < HEADER) return NO_LOG;
  const view = new DataView(head.buffer, head.byteOffset, HEADER);
  const magic = view.getUint32(0);
  const littleEndian = magic === 0x377f0682;
  const sum = new Checksum();
  sum.add(view, 0, HEADER - 8, littleEndian);
  const page = view.getUint32(8);
  const isPageSize = page >= 512 && page <= 65_536 && (page & (page - 1)) === 0;
  const isHeader = (littleEndian || magic === 0x377f0683) && isPageSize && sum.equals(view, HEADER - 8);
  const frames = new FrameScan(view, sum, littleEndian);
  const size = FRAME_HEADER + (isHeader ? page : 4_096);
  const chunk = Buffer.alloc(FRAMES_PER_READ * size);
  const chunkView = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
  for (let at = HEADER; ;) {
    const count = read(chunk, at);
    if (isHeader) for (let from = 0; from + size <= count; from += size) frames.add(chunkView, from, size);
    if (count < chunk.length) return isHeader ? frames : NO_LOG;
    at += count;
  }
}

class FrameScan implements LogExtent {
  readonly salts: readonly [number, number];
  readonly pages = new Set<number>();
  frames = 0;
  commitsBehind = 0;
  readonly #sum: Checksum;
  readonly #littleEndian: boolean;
  #seen = 0;
  #isWhole = true;
  /** Pages of a transaction whose commit frame has not come yet. */
  #uncommitted: number[] = [];

  constructor(header: DataView, sum: Checksum, littleEndian: boolean) {
    this.salts = [header.getUint32(16), header.getUint32(20)];
    this.#sum = sum;
    this.#littleEndian = littleEndian;
  }

  add(view: DataView, at: number, size: number): void {
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
    this.#uncommitted.push(page);
    if (commit === 0) return;
    this.frames = this.#seen;
    for (const one of this.#uncommitted) this.pages.add(one);
    this.#uncommitted = [];
  }
}

export interface Inspected {
  /** Found now, or earlier and not acknowledged. */
  readonly loss: LogLoss | undefined;
  /** Found now. */
  readonly isNew: boolean;
  readonly extent: LogExtent;
}

/**
 * Inspects the log of a store that no process holds. This comes before SQLite, which cuts a damaged log and creates a missing one.
 * `rewrite`: see `readLog`. Throws the system's errors.
 */
export function inspectLog(path: string, wasLeft: boolean, rewrite: boolean): Inspected {
  const log = `${path}-wal`;
  const extent = readLog(log, rewrite);
  const isStore = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const found = isStore ? findLoss(path, log, extent, wasLeft) : undefined;
  const before = knownLoss(path);
  return { loss: found && before ? combined(path, before, found) : (found ?? before), isNew: found !== undefined, extent };
}

function findLoss(path: string, log: string, extent: LogExtent, wasLeft: boolean): LogLoss | undefined {
  const isPresent = existsSync(log);
  const record = SyncRecord.read(recordOf(path));
  const commits = extent.commitsBehind > 0 ? extent.commitsBehind : undefined;
  const loss = (event: LogLoss["event"], frames?: number): LogLoss => lossOf(path, event, frames, commits);
  if (typeof record !== "string") {
    const { salts, frames, copied } = record;
    const isSame = salts[0] === extent.salts[0] && salts[1] === extent.salts[1];
    // A restart increments the first salt, and a log restarts only when the database has all of it.
    const restarts = (extent.salts[0] - salts[0]) >>> 0;
    const isLater = hasHeader(extent.salts) && restarts > 0 && restarts < MAX_RESTARTS;
    const lost = isLater ? 0 : frames - Math.max(copied, isSame ? extent.frames : 0);
    if (lost > 0) return loss(isPresent ? "log-cut" : "log-missing", lost);
    if (hasHeader(salts) && hasHeader(extent.salts) && !isSame && !isLater) return loss("log-cut");
  }
  // A whole record would say what is missing.
  if (record === "damaged") return loss(isPresent ? "log-cut" : "log-missing");
  // The log exists as long as a store is open, and a store closed in good order removes the record before the log.
  if (wasLeft && !isPresent) return loss("log-missing");
  return record === "none" && commits !== undefined ? loss("log-cut") : undefined;
}

/**
 * Throws `STORE_CORRUPT` where the file of a database that was just opened is shorter than its page count says; SQLite does not check that
 * when there is a log. An interrupted checkpoint leaves such a file, too, but then the log has the missing pages.
 */
export function refuseShort(path: string, database: DatabaseSync, { pages: inLog }: LogExtent): void {
  const pages = pragma(database, "page_count");
  const pageBytes = pragma(database, "page_size");
  const present = Math.floor(statSync(path).size / pageBytes);
  // SQLite never writes the page that contains its lock bytes.
  const lockPage = 2 ** 30 / pageBytes + 1;
  let missing = 0;
  for (let page = present + 1; page <= pages; page += 1) if (!inLog.has(page) && page !== lockPage) missing += 1;
  if (missing === 0) return;
  throw new StoreError(
    "STORE_CORRUPT",
    `The store's file ${path} was cut: ${missing} of its ${pages} pages are not there. Restore it from a copy, without another log next to it.`,
  );
}

/** True for a dangling link, too. */
const exists = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) !== undefined;

/**
 * Writes the alarm and a copy of the damaged log, which the next write would change. The log of an earlier loss that was not acknowledged
 * stays, under a name that ends in a number. Throws the system's errors.
 */
export function writeAlarm(loss: LogLoss): void {
  const copy = `${loss.alarm}-wal`;
  // Created anew: a file of that name may be a link to something else, or what a full disk left of an earlier attempt.
  for (const file of [`${loss.alarm}.new`, `${copy}.new`]) rmSync(file, { force: true });
  if (existsSync(loss.log)) copyFileSync(loss.log, `${copy}.new`, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  writeFileSync(`${loss.alarm}.new`, `${JSON.stringify(loss)}\n`, { mode: 0o600, flush: true, flag: "wx" });
  if (exists(loss.alarm) && exists(copy)) {
    let number = 1;
    while (exists(`${copy}.${number}`)) number += 1;
    renameSync(copy, `${copy}.${number}`);
  }
  rmSync(copy, { force: true });
  if (existsSync(`${copy}.new`)) renameSync(`${copy}.new`, copy);
  renameSync(`${loss.alarm}.new`, loss.alarm);
}

const alarmOf = (path: string): string => `${path}.log-lost`;

const numberIn = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** A loss found earlier that no operator has acknowledged. */
export function knownLoss(path: string): LogLoss | undefined {
  const alarm = alarmOf(path);
  if (!existsSync(alarm)) return undefined;
  try {
    const stored: unknown = JSON.parse(readFileSync(alarm, "utf8"));
    const { event, frames, commits } = isJsonObject(stored) ? stored : {};
    return lossOf(path, event === "log-missing" ? event : "log-cut", numberIn(frames), numberIn(commits));
  } catch {
    return lossOf(path, "log-cut");
  }
}

const sumOf = (one?: number, other?: number): number | undefined => (one === undefined ? other : one + (other ?? 0));

/** An earlier loss is reported together with the new one. */
const combined = (path: string, before: LogLoss, { event, frames, commits }: LogLoss): LogLoss =>
  lossOf(path, event, sumOf(before.frames, frames), sumOf(before.commits, commits));

function lossOf(path: string, event: LogLoss["event"], frames?: number, commits?: number): LogLoss {
  const log = `${path}-wal`;
  const alarm = alarmOf(path);
  const how =
    event === "log-missing"
      ? "its log was taken away"
      : frames === undefined && commits === undefined
        ? "its log, or the record of it next to the lock, is damaged or another's"
        : "its log is damaged or was cut";
  const count = [
    ...(frames === undefined ? [] : [`${frames} changed pages that were on the disk are lost`]),
    ...(commits === undefined ? [] : [`at least ${counted(commits, "commit lies", "commits lie")} behind the damage`]),
  ];
  const message = `The server before was killed, and ${how} (${log}): turns it acknowledged last ${count.length === 0 ? "may be missing" : `are missing; ${count.join(", ")}`}. Restore the log with the store of that time, or go on without them; then remove ${basename(alarm)} next to it, which keeps this until then.`;
  return { event, log, alarm, ...omitUndefined({ frames, commits }), message };
}
