import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, statSync } from "node:fs";
import { StoreError } from "../contract/index.ts";
import { systemCode } from "./sqlite-error.ts";
import type { Synced } from "./sync-record.ts";
import type { WalLog } from "./wal-log.ts";

/** A disk this quick costs less than what smaller groups would, and the way to another thread and back. Milliseconds. */
const QUICK_MS = 0.5;
/** So often it is looked whether the files are where they were: that takes longer than to write a row. */
const LOOK_MS = 1_000;

type Done = (fault?: Error) => void;

/** All writes must have failed for so long before the store says that it is not ready. */
const FAILING_MS = 5_000;

/** The file's two ways to the disk; tests give slow and broken ones. */
export interface Disk {
  /** Absent: `sync` is quick enough. */
  syncNow?(): void;
  sync(done: (error: Error | null) => void): void;
  /** False: what is written is found by nobody who comes later. */
  isInPlace?(): boolean;
  /** False: another process may write, too. */
  isLocked?(): boolean;
  close(): void;
}

/**
 * C2: puts on the disk what SQLite has written to its WAL. With `synchronous = NORMAL` a COMMIT leaves that in the system's
 * hands; where the disk is slow, waiting for it outside SQLite does not stop the thread: other turns run, and what they write
 * goes with the next.
 */
export class WalSync {
  readonly #disk: Disk;
  readonly #now: () => number;
  #next: Done[] = [];
  #busy = false;
  #tookMs = Infinity;
  #lookedAt: number;
  #fault: StoreError | undefined;
  #hasFailed = false;
  readonly #log: WalLog | undefined;
  /** What the last write failed of, since when there was none that did not, and when it was last tried whether one does. */
  #failure: StoreError | undefined;
  #failingSince = 0;
  #triedAt = 0;

  /** `now`: milliseconds, to tell how quick the disk is. */
  constructor(disk: Disk, now: () => number = () => performance.now(), log?: WalLog) {
    this.#disk = disk;
    this.#now = now;
    this.#log = log;
    this.#lookedAt = now();
  }

  /**
   * Why nothing may be written. The disk failed once, and what it has nobody knows any more: a system may drop what it could not
   * write, and then say that all is well. Or the files were moved or removed, and go on only for who has them open. Or the lock
   * file was, so that another server finds nobody here.
   */
  refusal(): StoreError | undefined {
    const now = this.#now();
    if (this.#fault === undefined && now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      if (this.#disk.isInPlace?.() === false)
        this.#fault = new StoreError(
          "STORE_IO",
          "The store's files were moved, removed or replaced while they were in use, so nothing more is kept. Put them back, then restart the server.",
        );
      else if (this.#disk.isLocked?.() === false)
        this.#fault = new StoreError(
          "STORE_IO",
          "The store's lock file was removed or replaced while it was in use, so another server may have the store: nothing more is kept. Stop that one, then restart this server.",
        );
    }
    return this.#fault;
  }

  /** Pages that only the log holds. Undefined without a log. */
  get backlog(): number | undefined {
    return this.#log?.backlog;
  }

  /** A sync failed: what the log has nobody knows, and it must not be copied into the database. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Why nothing can be written, be it for now: `refusal`, or for some seconds each write has failed, or checkpoints do. `tryWrite` is called
   * now and then meanwhile: where nobody writes because the store is not ready, nothing else would find that it is.
   */
  unready(tryWrite: () => void): StoreError | undefined {
    const refusal = this.refusal();
    if (refusal !== undefined) return refusal;
    const failure = this.#failure !== undefined && this.#now() - this.#failingSince >= FAILING_MS ? this.#failure : this.#log?.fault;
    if ((this.#failure ?? failure) !== undefined && this.#now() - this.#triedAt >= LOOK_MS) {
      this.#triedAt = this.#now();
      if (this.#failure === undefined) this.#checked(() => this.#log?.checkpoint());
      tryWrite();
    }
    return failure;
  }

  /**
   * Nothing of a write was kept. Returns why, as far as the system says. A sync that failed inside a COMMIT is no reason to stop: SQLite makes one
   * only when it begins the log anew, so nothing else depends on it, and the next COMMIT writes all of it again.
   */
  failed(fault: StoreError): StoreError {
    if (fault.code !== "STORE_IO" && fault.code !== "STORE_READ_ONLY") return fault;
    const why = unwritten(this.#log?.whyNotWritten(), fault);
    if (this.#failure === undefined) this.#failingSince = this.#now();
    this.#failure = why;
    return why;
  }

  /** A write was. */
  wrote(): void {
    this.#failure = undefined;
  }

  /** Leaves nothing in the log. Throws `StoreError`. */
  emptyLog(): void {
    if (this.#fault) throw this.#fault;
    this.#checked(() => this.#log?.empty());
    if (this.#fault) throw this.#fault;
  }

  /**
   * Calls back once all that is written is on the disk, with `StoreError` where it was not even tried and with another error
   * where nobody can know.
   */
  after(done: Done): void {
    if (this.#fault) return done(this.#fault);
    if (!this.#busy && this.#tookMs < QUICK_MS && this.#disk.syncNow !== undefined) return this.#here(done);
    this.#next.push(done);
    if (!this.#busy) this.#aside();
  }

  /** Settles when all that is written is on the disk. Undefined: it is. Rejects where it could not be. */
  landing(): Promise<void> | undefined {
    if (this.#fault) return Promise.reject(this.#fault);
    if (!this.#busy) return undefined;
    return new Promise((resolve, reject) => this.after((fault) => (fault ? reject(fault) : resolve())));
  }

  /** Returns whether the database has all of the log, so that what is known of the log can go. */
  async close(): Promise<boolean> {
    while (this.#busy) await new Promise<void>((resolve) => this.#next.push(() => resolve()));
    let isCopied = false;
    if (!this.#hasFailed) this.#checked(() => (isCopied = this.#log?.checkpoint() ?? true));
    this.#disk.close();
    this.#log?.close();
    return isCopied && !this.#hasFailed;
  }

  #here(done: Done): void {
    const mark = this.#log?.mark();
    const from = this.#now();
    try {
      this.#disk.syncNow?.();
    } catch (error) {
      return done(this.#broken(error));
    }
    this.#tookMs = this.#now() - from;
    done();
    this.#synced(mark);
  }

  #aside(): void {
    const all = this.#next;
    this.#next = [];
    this.#busy = true;
    const mark = this.#log?.mark();
    const from = this.#now();
    this.#disk.sync((error) => {
      this.#tookMs = this.#now() - from;
      this.#busy = false;
      if (error !== null || this.#hasFailed) {
        const fault = this.#broken(error ?? this.#fault?.cause);
        for (const done of all) done(fault);
      } else {
        for (const done of all) done();
        this.#synced(mark);
      }
      if (this.#busy) return;
      if (this.#hasFailed) this.#failNext();
      else if (this.#next.length > 0) this.#aside();
    });
  }

  #synced(mark: Synced | undefined): void {
    this.#checked(() => this.#log?.synced(mark));
  }

  /** What SQLite syncs itself fails for good, too. */
  #checked(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** Another sync would succeed without the pages that the failed one lost, and those lie before what waits: recovery stops there. */
  #failNext(): void {
    const waiting = this.#next;
    this.#next = [];
    const fault = unknown(this.#fault?.cause);
    for (const done of waiting) done(fault);
  }

  #broken(cause: unknown): Error {
    this.#hasFailed = true;
    const errno = systemCode(cause);
    this.#fault = new StoreError(
      errno === "EROFS" ? "STORE_READ_ONLY" : "STORE_IO",
      `The disk failed to keep what was written to the store${errno === undefined ? "" : ` (${errno})`}. Check it, then restart the server: what the store has then is what counts.`,
      { cause },
    );
    return unknown(cause);
  }
}

const unknown = (cause: unknown): Error => new Error("The disk did not say whether it has this.", { cause });

/** The fault of a write as the system names it, which SQLite does not. */
function unwritten(errno: string | undefined, fault: StoreError): StoreError {
  const { cause } = fault;
  if (errno === "EROFS")
    return new StoreError(
      "STORE_READ_ONLY",
      "The store's file system is mounted read-only (EROFS), perhaps because the system met an error of the disk. Nothing of this was kept; check the disk, mount it for writing, then restart the server.",
      { cause },
    );
  const detail = errno ?? (cause instanceof Error && "errcode" in cause ? `SQLite ${String(cause.errcode)}` : undefined);
  return detail === undefined ? fault : new StoreError(fault.code, `${fault.message} (${detail})`, { cause });
}

/**
 * The WAL of the locked database at `path`, which is there as long as that is open. Opened at once: where a process has no file
 * handle left, its store does not open, and one that is open needs none.
 */
export function walFile(path: string): Disk {
  const file = openSync(`${path}-wal`, "r+");
  const isStill = place(path);
  return {
    syncNow: () => fdatasyncSync(file),
    sync: (done) => fdatasync(file, done),
    isInPlace: () => fstatSync(file).nlink > 0 && isStill(),
    isLocked: place(`${path}.lock`),
    close: () => closeSync(file),
  };
}

/** Whether the file there is still the one of now. */
function place(path: string): () => boolean {
  const { dev, ino } = statSync(path, { bigint: true });
  return () => {
    try {
      const found = statSync(path, { bigint: true, throwIfNoEntry: false });
      return found?.dev === dev && found.ino === ino;
    } catch {
      // What may not be looked at is perhaps still there.
      return true;
    }
  };
}
