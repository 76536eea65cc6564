// Owns: checkpoints of an open store, and the record of how much of its log is synced. Does not own: syncing (wal-sync.ts).

import { closeSync, constants, existsSync, fdatasyncSync, lstatSync, openSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { StoreError } from "../contract/index.ts";
import { isFailedSync, storeFault, systemCode } from "./store-errors.ts";

/** A checkpoint is due when the log has so many frames that are not in the database: 4 MB. */
export const CHECKPOINT_FRAMES = 1_000;
/** A checkpoint that failed or was incomplete is retried so many frames later. */
const RETRY_FRAMES = 250;
/** The store is not ready when checkpoints fail and the log has grown to so many frames, 16 MB. */
const MAX_FRAMES = 4_000;
/** Where SQLite does not count frames, a checkpoint is due after so many syncs. */
const CHECKPOINT_SYNCS = 250;

/** Returns `log` and `checkpointed`, in frames. Undefined before SQLite 3.51, which takes the mode NOOP for PASSIVE. */
export function frameCounts(database: DatabaseSync): StatementSync | undefined {
  const [major = 0, minor = 0] = (process.versions["sqlite"] ?? "").split(".").map(Number);
  return major > 3 || (major === 3 && minor >= 51) ? database.prepare("PRAGMA wal_checkpoint(NOOP)") : undefined;
}

interface Counts {
  readonly log: number;
  readonly checkpointed: number;
}

/** Records how much of the log is on disk, and copies the log into the database. SQLite's automatic checkpoints would hide that one failed. */
export class Checkpointer {
  readonly #database: DatabaseSync;
  readonly #record: SyncRecord;
  readonly #onCheckpoint: (fault: StoreError | undefined) => void;
  readonly #file: number;
  readonly #counts: StatementSync | undefined;
  readonly #salts = Buffer.alloc(8);
  /** As of the last mark. */
  #frames = 0;
  #generation: readonly [number, number] = [0, 0];
  #copied = 0;
  /** The next checkpoint is due at so many frames. */
  #dueFrames = CHECKPOINT_FRAMES;
  #syncs = 0;
  #failure: StoreError | undefined;

  /** `onCheckpoint`: called with the reason when checkpoints begin to fail, and without one when one succeeds again. */
  constructor(
    path: string,
    database: DatabaseSync,
    record: SyncRecord,
    onCheckpoint: (fault: StoreError | undefined) => void = () => undefined,
  ) {
    this.#database = database;
    this.#record = record;
    this.#onCheckpoint = onCheckpoint;
    this.#counts = frameCounts(database);
    this.#file = openSync(`${path}-wal`, "r");
  }

  /** Why the store is not ready: its log cannot be copied into its database, and grows. */
  get fault(): StoreError | undefined {
    return this.#frames >= MAX_FRAMES ? this.#failure : undefined;
  }

  /** Pages in the log that are not in the database, as of the last mark or checkpoint. */
  get backlog(): number {
    return Math.max(0, this.#frames - this.#copied);
  }

  /** What a sync that begins now will have put on disk. Undefined: SQLite does not count frames. */
  mark(): SyncedLog | undefined {
    const counts = this.#counts?.get();
    if (counts === undefined) return undefined;
    const frames = Number(counts["log"]);
    // The log may have restarted: it does with the first write after all of it was copied.
    if (frames < this.#frames || this.#copied >= this.#frames) {
      this.#copied = Number(counts["checkpointed"]);
      this.#generation = this.#readSalts();
    }
    this.#frames = frames;
    return { salts: this.#generation, frames, copied: this.#copied };
  }

  /** A sync that began at `mark` succeeded. Throws where a further sync, that of a checkpoint, failed. */
  synced(mark: SyncedLog | undefined): void {
    if (mark === undefined) {
      this.#syncs += 1;
      if (this.#syncs >= CHECKPOINT_SYNCS) this.checkpoint();
      return;
    }
    const [salt1, salt2] = this.#generation;
    if (mark.salts[0] === salt1 && mark.salts[1] === salt2) this.#write({ ...mark, copied: this.#copied });
    if (mark.frames >= this.#dueFrames) this.checkpoint();
  }

  /**
   * Empties the log after pages were overwritten in the database. While another process reads, this copies what it can; the next call
   * does the rest.
   */
  empty(): void {
    if (!this.checkpoint()) return;
    // On disk before the log is cut, which would look like a loss otherwise.
    this.#record.sync();
    this.#run("TRUNCATE");
  }

  /** The error code of writing next to the log now, which SQLite does not report. Undefined: writing works. */
  writeError(): string | undefined {
    return this.#record.writeError();
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Returns whether all of the log is now in the database, and the record says so. Throws where a sync failed. */
  checkpoint(): boolean {
    this.#syncs = 0;
    const counts = this.#run("PASSIVE");
    this.#dueFrames = (counts?.log ?? this.#frames) + RETRY_FRAMES;
    if (counts === undefined) return false;
    this.#copied = counts.checkpointed;
    if (counts.log !== counts.checkpointed) return false;
    this.#dueFrames = CHECKPOINT_FRAMES;
    this.#frames = counts.log;
    return this.#write({ salts: this.#generation, frames: counts.log, copied: counts.log });
  }

  #run(mode: "PASSIVE" | "TRUNCATE"): Counts | undefined {
    try {
      const { busy, log, checkpointed } = this.#database.prepare(`PRAGMA wal_checkpoint(${mode})`).get() ?? {};
      if (busy !== 0) return undefined;
      if (this.#failure !== undefined) this.#onCheckpoint(undefined);
      this.#failure = undefined;
      return { log: Number(log), checkpointed: Number(checkpointed) };
    } catch (error) {
      if (isFailedSync(error)) throw error;
      const { code, message } = storeFault(error);
      const isFirst = this.#failure === undefined;
      this.#failure = new StoreError(code, `The store's log cannot be copied into its file, and grows until it can. ${message}`, {
        cause: error,
      });
      if (isFirst) this.#onCheckpoint(this.#failure);
      return undefined;
    }
  }

  /** A record that cannot be written stays as it was, and claims less than the log has. */
  #write(synced: SyncedLog): boolean {
    try {
      this.#record.write(synced);
      return true;
    } catch {
      return false;
    }
  }

  #readSalts(): readonly [number, number] {
    if (readSync(this.#file, this.#salts, 0, 8, 16) < 8) return [0, 0];
    return [this.#salts.readUInt32BE(0), this.#salts.readUInt32BE(4)];
  }
}

// ── the record of the log ───────────────────────────────────────────────────

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
    const [pid = "", line = ""] = readFileSync(path, "latin1").split("\n");
    if (line === "") return /^\d* *$/.test(pid) ? "none" : "damaged";
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
