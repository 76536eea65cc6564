// Owns: putting the write-ahead log on disk, and when a store takes no more writes. Does not own: transactions (group-commit.ts),
// checkpoints (checkpointer.ts).

import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, statSync } from "node:fs";
import { StoreError } from "../contract/index.ts";
import type { Checkpointer, SyncedLog } from "./checkpointer.ts";
import { systemCode } from "./store-errors.ts";

/** Below this, waiting for the disk on this thread costs less than smaller batches and the way to another thread and back. Milliseconds. */
const QUICK_MS = 0.5;
/** How often to check that the files are where they were, which takes longer than writing a row. Milliseconds. */
const CHECK_MS = 1_000;
/** The store is not ready after all writes have failed for so long. Milliseconds. */
const FAILING_MS = 5_000;

type Done = (fault?: Error) => void;

/** How the log gets onto the disk; tests provide slow and broken disks. */
export interface Disk {
  /** Absent: `sync` is quick enough. */
  syncNow?(): void;
  sync(done: (error: Error | null) => void): void;
  /** False: the files were moved, and no later process would find what is written. */
  isInPlace?(): boolean;
  /** False: another process may write, too. */
  isLocked?(): boolean;
  close(): void;
}

/**
 * C2: puts on disk what SQLite has written to its log. With `synchronous = NORMAL` a COMMIT hands the log to the operating system only.
 * Where the disk is slow, waiting for it outside SQLite does not block the thread: other turns run, and their writes go with the next sync.
 */
export class WalSync {
  readonly #disk: Disk;
  readonly #now: () => number;
  readonly #checkpoints: Checkpointer | undefined;
  /** Callbacks for the next sync. */
  #next: Done[] = [];
  #syncing = false;
  /** How long the last sync took. */
  #tookMs = Infinity;
  #checkedAt: number;
  #fault: StoreError | undefined;
  #hasFailed = false;
  /** Why the last write failed, since when all have failed, and when a write was last tried to find out whether one succeeds. */
  #writeFailure: StoreError | undefined;
  #failingSince = 0;
  #triedAt = 0;

  /** `now`: milliseconds, to measure the disk. */
  constructor(disk: Disk, now: () => number = () => performance.now(), checkpoints?: Checkpointer) {
    this.#disk = disk;
    this.#now = now;
    this.#checkpoints = checkpoints;
    this.#checkedAt = now();
  }

  /**
   * Why nothing may be written until a restart. A sync failed: the system may have dropped what it could not write, and report success
   * later. Or the files were moved or removed, so that only this process still sees them. Or the lock file was, so that another server
   * could start on this store.
   */
  refusal(): StoreError | undefined {
    const now = this.#now();
    if (this.#fault === undefined && now - this.#checkedAt >= CHECK_MS) {
      this.#checkedAt = now;
      if (this.#disk.isInPlace?.() === false)
        this.#fault = new StoreError(
          "STORE_IO",
          "The store's files were moved, removed or replaced while they were in use, so nothing more is written. Put them back, then restart the server.",
        );
      else if (this.#disk.isLocked?.() === false)
        this.#fault = new StoreError(
          "STORE_IO",
          "The store's lock file was removed or replaced while it was in use, so another server may have the store: nothing more is written. Stop that one, then restart this server.",
        );
    }
    return this.#fault;
  }

  /** Pages that only the log has. Undefined without a checkpointer. */
  get backlog(): number | undefined {
    return this.#checkpoints?.backlog;
  }

  /** A sync failed: the log may have gaps, and must not be copied into the database. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Why nothing can be written, perhaps only for now: `refusal`, or all writes, or all checkpoints, have failed for some seconds. Meanwhile
   * this calls `tryWrite` now and then: clients do not write to a store that is not ready, so nothing else would notice its recovery.
   */
  unready(tryWrite: () => void): StoreError | undefined {
    const refusal = this.refusal();
    if (refusal !== undefined) return refusal;
    const failure = this.#writeFailure;
    const isFailing = failure !== undefined && this.#now() - this.#failingSince >= FAILING_MS;
    const fault = isFailing ? failure : this.#checkpoints?.fault;
    if ((failure ?? fault) !== undefined && this.#now() - this.#triedAt >= CHECK_MS) {
      this.#triedAt = this.#now();
      if (failure === undefined) this.#guardSync(() => this.#checkpoints?.checkpoint());
      tryWrite();
    }
    return fault;
  }

  /**
   * A transaction failed and was rolled back. Returns the reason as the system reports it. A sync that failed inside a COMMIT does not
   * stop the store: SQLite syncs there only when it restarts the log, so no earlier commit depends on it, and the next COMMIT writes all
   * of it again.
   */
  writeFailed(fault: StoreError): StoreError {
    if (fault.code !== "STORE_IO" && fault.code !== "STORE_READ_ONLY") return fault;
    if (this.#writeFailure === undefined) this.#failingSince = this.#now();
    return (this.#writeFailure = withSystemCode(fault, this.#checkpoints?.writeError()));
  }

  writeSucceeded(): void {
    this.#writeFailure = undefined;
  }

  /** Empties the log. Throws `StoreError`. */
  emptyLog(): void {
    if (this.#fault) throw this.#fault;
    this.#guardSync(() => this.#checkpoints?.empty());
    if (this.#fault) throw this.#fault;
  }

  /**
   * Calls back when everything written so far is on disk; with a `StoreError` where no sync was tried, and with another error where the
   * outcome is unknown.
   */
  after(done: Done): void {
    if (this.#fault) return done(this.#fault);
    if (!this.#syncing && this.#tookMs < QUICK_MS && this.#disk.syncNow !== undefined) return this.#syncHere(done);
    this.#next.push(done);
    if (!this.#syncing) this.#syncOnThread();
  }

  /** Settles when everything written so far is on disk; rejects where a sync failed. Undefined: all of it is on disk already. */
  pending(): Promise<void> | undefined {
    if (this.#fault) return Promise.reject(this.#fault);
    if (!this.#syncing) return undefined;
    return new Promise((resolve, reject) => this.after((fault) => (fault ? reject(fault) : resolve())));
  }

  /** Returns whether all of the log is in the database, so that the record of the log can be removed. */
  async close(): Promise<boolean> {
    while (this.#syncing) await new Promise<void>((resolve) => this.#next.push(() => resolve()));
    const isCopied = this.copyAll();
    this.#disk.close();
    this.#checkpoints?.close();
    return isCopied;
  }

  /** Copies the log into the database. Returns whether all of it is there. A sync that runs proves nothing of it, and no commit needs it. */
  copyAll(): boolean {
    let isCopied = false;
    if (!this.#hasFailed) this.#guardSync(() => (isCopied = this.#checkpoints?.checkpoint() ?? true));
    return isCopied && !this.#hasFailed;
  }

  #syncHere(done: Done): void {
    const mark = this.#checkpoints?.mark();
    const from = this.#now();
    try {
      this.#disk.syncNow?.();
    } catch (error) {
      return done(this.#syncFailed(error));
    }
    this.#tookMs = this.#now() - from;
    done();
    this.#synced(mark);
  }

  #syncOnThread(): void {
    const all = this.#next;
    this.#next = [];
    this.#syncing = true;
    const mark = this.#checkpoints?.mark();
    const from = this.#now();
    this.#disk.sync((error) => {
      this.#tookMs = this.#now() - from;
      this.#syncing = false;
      if (error !== null || this.#hasFailed) {
        const fault = this.#syncFailed(error ?? this.#fault?.cause);
        for (const done of all) done(fault);
      } else {
        for (const done of all) done();
        this.#synced(mark);
      }
      if (this.#syncing) return;
      if (this.#hasFailed) this.#failNext();
      else if (this.#next.length > 0) this.#syncOnThread();
    });
  }

  #synced(mark: SyncedLog | undefined): void {
    this.#guardSync(() => this.#checkpoints?.synced(mark));
  }

  /** A sync that SQLite itself makes, and that fails, counts as any other. */
  #guardSync(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#syncFailed(error);
    }
  }

  /** Another sync would succeed without the pages the failed one lost; those precede what waits, so recovery would stop before it. */
  #failNext(): void {
    const waiting = this.#next;
    this.#next = [];
    const fault = outcomeUnknown(this.#fault?.cause);
    for (const done of waiting) done(fault);
  }

  #syncFailed(cause: unknown): Error {
    this.#hasFailed = true;
    const errno = systemCode(cause);
    this.#fault = new StoreError(
      errno === "EROFS" ? "STORE_READ_ONLY" : "STORE_IO",
      `The disk failed to store what was written to the store${errno === undefined ? "" : ` (${errno})`}. Check it, then restart the server: what the store has then is what counts.`,
      { cause },
    );
    return outcomeUnknown(cause);
  }
}

const outcomeUnknown = (cause: unknown): Error => new Error("The disk did not say whether it has this.", { cause });

/** The fault of a write with the system's error code, which SQLite does not report. */
function withSystemCode(fault: StoreError, errno: string | undefined): StoreError {
  const { cause } = fault;
  if (errno === "EROFS")
    return new StoreError(
      "STORE_READ_ONLY",
      "The store's file system is mounted read-only (EROFS), perhaps because the system met an error of the disk. Nothing of this was written; check the disk, mount it for writing, then restart the server.",
      { cause },
    );
  const detail = errno ?? (cause instanceof Error && "errcode" in cause ? `SQLite ${String(cause.errcode)}` : undefined);
  return detail === undefined ? fault : new StoreError(fault.code, `${fault.message} (${detail})`, { cause });
}

/**
 * The log of the locked database at `path`, which exists as long as that is open. Opened at once: a process without free file handles then
 * fails to open its store, and an open store needs no further handle.
 */
export function walFile(path: string): Disk {
  const file = openSync(`${path}-wal`, "r+");
  const isSameFile = identityOf(path);
  return {
    syncNow: () => fdatasyncSync(file),
    sync: (done) => fdatasync(file, done),
    isInPlace: () => fstatSync(file).nlink > 0 && isSameFile(),
    isLocked: identityOf(`${path}.lock`),
    close: () => closeSync(file),
  };
}

/** Returns a check that `path` is still the file it is now. */
export function identityOf(path: string): () => boolean {
  const { dev, ino } = statSync(path, { bigint: true });
  return () => {
    try {
      const found = statSync(path, { bigint: true, throwIfNoEntry: false });
      return found?.dev === dev && found.ino === ino;
    } catch {
      // A path that may not be inspected may still be the same file.
      return true;
    }
  };
}
