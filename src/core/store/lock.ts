// Owns: the lock of a store, and the record next to it of how much of the log is on disk. Does not own: what a lost log means
// (log-loss.ts).

import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { StoreError } from "../contract/index.ts";
import { closedOnThrow, connect, makeFile } from "./database.ts";
import { sqliteCode, systemCode } from "./store-errors.ts";
import { identityOf } from "./wal-sync.ts";

/** A lock this process holds. */
export interface Lock {
  /** The previous holder was killed, or its machine lost power. */
  readonly wasLeft: boolean;
  /** How much of the log is synced, for the next process that opens the store. */
  readonly record: SyncRecord;
  /** The holder is about to close in good order: removes the record. */
  leave(): void;
  /** Once the store is closed. */
  release(): void;
}

/**
 * Takes the lock: one server per store. It is SQLite's own lock on an empty file next to the store. The system releases it however its
 * holder dies, so no lock is ever stale, and a process id that is used again misleads no one. The record next to it names the holder.
 */
export function lockStore(path: string): Lock {
  const lock = `${path}.lock`;
  const recordPath = recordOf(path);
  // Only the owner may read the file, since reading it is enough to lock it.
  makeFile(lock);
  const database = connect(lock, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const code = sqliteCode(error);
    // The lock file is damaged. Nothing is known about the store itself, so it must not be reported as one to restore.
    if (code === 11 || code === 26)
      throw new StoreError(
        "STORE_IO",
        `The lock file ${lock} was written to by something else. It holds nothing: while no server runs, delete it and start again.`,
        { cause: error },
      );
    if (code !== 5) throw error;
    throw new StoreError(
      "STORE_LOCKED",
      `The store ${path} is held by ${holderOf(recordPath)}. Stop that server first, or name another directory; commands that only read work next to it.`,
      { cause: error },
    );
  }
  const wasLeft = existsSync(recordPath);
  const record = closedOnThrow(database, () => SyncRecord.take(recordPath));
  // Where the folder is moved away, the file at this path may be another process's one day.
  const isOwnRecord = identityOf(recordPath);
  return {
    wasLeft,
    record,
    leave() {
      if (isOwnRecord()) rmSync(recordPath, { force: true });
    },
    release: () => {
      record.close();
      database.close();
    },
  };
}

/** The file as SQLite finds it, through links: two names of one file must not have two locks. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // The file does not exist yet. Its folder may be named through a link, which may lead to another folder before the store is closed.
    try {
      return join(realpathSync(dirname(path)), basename(path));
    } catch {
      return path;
    }
  }
}

/** Where the record of the store at `path` is. */
export const recordOf = (path: string): string => `${path}.pid`;

/** Whether a process holds the store at `path` now, and so writes to its files. */
export function isLocked(path: string): boolean {
  const lock = `${path}.lock`;
  if (!existsSync(lock)) return false;
  const database = connect(lock, { readOnly: true, timeout: 0 });
  try {
    database.prepare("SELECT 1 FROM sqlite_master").get();
    return false;
  } catch (error) {
    return sqliteCode(error) === 5;
  } finally {
    database.close();
  }
}

function holderOf(recordPath: string): string {
  try {
    const pid = Number.parseInt(readFileSync(recordPath, "utf8"), 10);
    if (Number.isInteger(pid) && pid > 0) return `process ${pid}`;
  } catch {
    // The holder has taken the lock and not written its id yet.
  }
  return "another process";
}

/** How much of the log is known to be on disk. */
export interface SyncedLog {
  readonly salts: readonly [number, number];
  readonly frames: number;
  /** How many of these frames are in the database too, so that the log is not needed for them. */
  readonly copied: number;
}

const PID_BYTES = 16;
const hex = (number: number): string => number.toString(16).padStart(8, "0");
const fromHex = (text: string | undefined): number => Number.parseInt(text ?? "", 16);
const LINE = /^log ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8})$/u;

/**
 * The file next to the lock: the id of the process that holds the store, for people, and how much of the log was synced. It exists from the
 * opening of a store until it is closed in good order, so a record that is found means that a process was killed.
 *
 * It is written after every sync and not synced itself: a killed process leaves an exact record. A loss of power may leave an older one,
 * which claims less than the log has, never more.
 */
export class SyncRecord {
  readonly #file: number;
  readonly #pid = Buffer.from(`${process.pid}`.padEnd(PID_BYTES - 1) + "\n", "latin1");
  readonly #line = Buffer.alloc(49);

  private constructor(file: number) {
    this.#file = file;
  }

  /** Takes the file over; its line about the log stays until `write`. */
  static take(path: string): SyncRecord {
    // A link by that name may point to another file, which must not be written to.
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined && (!found.isFile() || found.nlink > 1)) rmSync(path);
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    try {
      const record = new SyncRecord(file);
      record.#writePid();
      record.sync();
      return record;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** The record at `path`. "none": it has no line about a log, as older versions wrote it; "damaged": it cannot be trusted. */
  static read(path: string): SyncedLog | "none" | "damaged" {
    if (!existsSync(path)) return "none";
    const line = readFileSync(path, "latin1").split("\n")[1] ?? "";
    if (line === "") return "none";
    const [, salt1, salt2, frames, copied, sum] = LINE.exec(line) ?? [];
    if (sum === undefined || hex(crc32(line.slice(0, 39))) !== sum) return "damaged";
    return { salts: [fromHex(salt1), fromHex(salt2)], frames: fromHex(frames), copied: fromHex(copied) };
  }

  write({ salts: [salt1, salt2], frames, copied }: SyncedLog): void {
    const text = `log ${hex(salt1)} ${hex(salt2)} ${hex(frames)} ${hex(copied)}`;
    this.#line.write(`${text} ${hex(crc32(text))}\n`, "latin1");
    writeSync(this.#file, this.#line, 0, this.#line.length, PID_BYTES);
  }

  /** The error code of writing this file as it is. Undefined: it can be written. */
  writeError(): string | undefined {
    try {
      this.#writePid();
      return undefined;
    } catch (error) {
      return systemCode(error);
    }
  }

  #writePid(): void {
    writeSync(this.#file, this.#pid, 0, this.#pid.length, 0);
  }

  /** Before a step that an older record would take for a loss. */
  sync(): void {
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}
