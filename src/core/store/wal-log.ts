import { closeSync, openSync, readSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { isFailedSync, storeFault } from "./sqlite-error.ts";
import type { Synced, SyncRecord } from "./sync-record.ts";

/** A checkpoint is made where the log has so many frames that the database has not: 4 MB. */
export const FRAMES = 1_000;
/** One that could not be made, or not wholly, is tried again so many frames later. */
const AGAIN = 250;
/** Where checkpoints fail and the log has grown to so many frames, 16 MB, the store is not ready. */
const TOO_MANY = 4_000;
/** Without `NOOP` frames are not known: so many syncs stand for a full log. */
const SYNCS = 250;

/** Tells `log` and `checkpointed`, the frames of a log. Undefined before SQLite 3.51, which takes that mode for PASSIVE. */
export function logCounts(database: DatabaseSync): StatementSync | undefined {
  const [major = 0, minor = 0] = (process.versions["sqlite"] ?? "").split(".").map(Number);
  return major > 3 || (major === 3 && minor >= 51) ? database.prepare("PRAGMA wal_checkpoint(NOOP)") : undefined;
}

interface Counts {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * The log of an open store: records what of it is on the disk, and copies it into the database. SQLite would do the latter by itself, but
 * hide that it failed.
 */
export class WalLog {
  readonly #database: DatabaseSync;
  readonly #record: SyncRecord;
  readonly #onCheckpoint: (fault: StoreError | undefined) => void;
  readonly #file: number;
  readonly #counts: StatementSync | undefined;
  readonly #salts = Buffer.alloc(8);
  /** Of the last mark. */
  #frames = 0;
  #generation: readonly [number, number] = [0, 0];
  #copied = 0;
  #next = FRAMES;
  #syncs = 0;
  #failure: StoreError | undefined;

  /** `onCheckpoint`: called with why checkpoints began to fail, and without once one succeeds again. */
  constructor(
    path: string,
    database: DatabaseSync,
    record: SyncRecord,
    onCheckpoint: (fault: StoreError | undefined) => void = () => undefined,
  ) {
    this.#database = database;
    this.#record = record;
    this.#onCheckpoint = onCheckpoint;
    this.#counts = logCounts(database);
    this.#file = openSync(`${path}-wal`, "r");
  }

  /** Why the store is not ready: its log cannot be copied into its database, and grows. */
  get fault(): StoreError | undefined {
    return this.#frames >= TOO_MANY ? this.#failure : undefined;
  }

  /** Pages in the log that the database does not have yet, as of the last mark or checkpoint. */
  get backlog(): number {
    return Math.max(0, this.#frames - this.#copied);
  }

  /** What a sync that begins now will have put on the disk. Undefined: SQLite does not say. */
  mark(): Synced | undefined {
    const counts = this.#counts?.get();
    if (counts === undefined) return undefined;
    const frames = Number(counts["log"]);
    // The log may have begun anew: it does with the first write after all of it was copied.
    if (frames < this.#frames || this.#copied >= this.#frames) {
      this.#copied = Number(counts["checkpointed"]);
      this.#generation = this.#readSalts();
    }
    this.#frames = frames;
    return { salts: this.#generation, frames, copied: this.#copied };
  }

  /** A sync that began at `mark` succeeded. Throws where a further one, of a checkpoint, did not. */
  synced(mark: Synced | undefined): void {
    if (mark === undefined) {
      this.#syncs += 1;
      if (this.#syncs >= SYNCS) this.checkpoint();
      return;
    }
    const [salt1, salt2] = this.#generation;
    if (mark.salts[0] === salt1 && mark.salts[1] === salt2) this.#write({ ...mark, copied: this.#copied });
    if (mark.frames >= this.#next) this.checkpoint();
  }

  /** Leaves nothing in the log, of which pages were overwritten in the database. With a reader beside it this copies what it can; the next one does the rest. */
  empty(): void {
    if (!this.checkpoint()) return;
    // On the disk before the log is cut, which would look like a loss otherwise.
    this.#record.sync();
    this.#run("TRUNCATE");
  }

  /** The errno of writing beside the log now, which SQLite keeps to itself; undefined: that can be done. */
  whyNotWritten(): string | undefined {
    return this.#record.whyNotWritten();
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Returns whether the database has all of the log now, and the record says so. Throws where a sync failed. */
  checkpoint(): boolean {
    this.#syncs = 0;
    const counts = this.#run("PASSIVE");
    this.#next = (counts?.log ?? this.#frames) + AGAIN;
    if (counts === undefined) return false;
    this.#copied = counts.checkpointed;
    if (counts.log !== counts.checkpointed) return false;
    this.#next = FRAMES;
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

  /** One that cannot be written stays as it was, and claims less than there is. */
  #write(synced: Synced): boolean {
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
