import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, statSync } from "node:fs";
import { StoreError } from "../contract/index.ts";

/** A disk this quick costs less than what smaller groups would, and the way to another thread and back. Milliseconds. */
const QUICK_MS = 0.5;
/** So often it is looked whether the files are where they were: that takes longer than to write a row. */
const LOOK_MS = 1_000;

type Done = (fault?: Error) => void;

/** The file's two ways to the disk; tests give slow and broken ones. */
export interface Disk {
  syncNow(): void;
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

  /** `now`: milliseconds, to tell how quick the disk is. */
  constructor(disk: Disk, now: () => number = () => performance.now()) {
    this.#disk = disk;
    this.#now = now;
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

  /**
   * Calls back once all that is written is on the disk, with `StoreError` where it was not even tried and with another error
   * where nobody can know.
   */
  after(done: Done): void {
    if (this.#fault) return done(this.#fault);
    if (!this.#busy && this.#tookMs < QUICK_MS) return this.#here(done);
    this.#next.push(done);
    if (!this.#busy) this.#aside();
  }

  /** Settles when all that is written is on the disk. Undefined: it is. Rejects where it could not be. */
  landing(): Promise<void> | undefined {
    if (this.#fault) return Promise.reject(this.#fault);
    if (!this.#busy) return undefined;
    return new Promise((resolve, reject) => this.after((fault) => (fault ? reject(fault) : resolve())));
  }

  async close(): Promise<void> {
    while (this.#busy) await new Promise<void>((resolve) => this.#next.push(() => resolve()));
    this.#disk.close();
  }

  #here(done: Done): void {
    const from = this.#now();
    try {
      this.#disk.syncNow();
    } catch (error) {
      return done(this.#broken(error));
    }
    this.#tookMs = this.#now() - from;
    done();
  }

  #aside(): void {
    const all = this.#next;
    this.#next = [];
    this.#busy = true;
    const from = this.#now();
    this.#disk.sync((error) => {
      this.#tookMs = this.#now() - from;
      this.#busy = false;
      if (error !== null) {
        // Another sync would succeed without the pages this one lost, and those lie before what waits: recovery stops there.
        const waiting = this.#next;
        this.#next = [];
        const fault = this.#broken(error);
        for (const done of all) done(fault);
        for (const done of waiting) done(fault);
        return;
      }
      for (const done of all) done();
      if (this.#next.length > 0 && !this.#busy) this.#aside();
    });
  }

  #broken(cause: unknown): Error {
    this.#fault = new StoreError(
      "STORE_IO",
      "The disk failed to keep what was written to the store. Check it, then restart the server: what the store has then is what counts.",
      { cause },
    );
    return new Error("The disk did not say whether it has this.", { cause });
  }
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
