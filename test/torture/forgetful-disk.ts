import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs";

const PAGE = 4_096;

export interface ForgetfulDiskOptions {
  /** Whether the next sync fails. */
  readonly fails: () => boolean;
  /** When a sync ends. Default: in a later iteration of the event loop. */
  readonly end?: (sync: () => void) => void;
}

/**
 * A disk below a store's WAL that fails as on Linux: pages that a failed sync could not write are dropped, and the next sync, which
 * no longer includes them, reports success. `loseCache` leaves the file as after a loss of power.
 *
 * Only the syncs of the WAL are simulated. Checkpoints go to the real disk, which then has the whole WAL: call `checkpointed` after one.
 */
export class ForgetfulDisk {
  readonly #path: string;
  readonly #fails: () => boolean;
  readonly #end: (sync: () => void) => void;
  #file: number | undefined;
  /** The file at the last sync, failed or not: pages that differ now are dirty. */
  #cached: Buffer;
  /** The content of the disk. */
  #durable: Buffer;
  syncs = 0;

  /** `path`: the store's file. The current content of its WAL counts as synced. */
  constructor(path: string, { fails, end = (sync) => void setImmediate(sync) }: ForgetfulDiskOptions) {
    this.#path = `${path}-wal`;
    this.#fails = fails;
    this.#end = end;
    this.#cached = existsSync(this.#path) ? readFileSync(this.#path) : Buffer.alloc(0);
    this.#durable = Buffer.from(this.#cached);
  }

  sync(done: (error: Error | null) => void): void {
    this.#end(() => {
      this.syncs += 1;
      const failed = this.#fails();
      const now = this.#read();
      const durable = Buffer.alloc(now.length);
      this.#durable.copy(durable);
      for (let at = 0; at < now.length; at += PAGE) {
        const page = now.subarray(at, at + PAGE);
        const isDirty = !page.equals(this.#cached.subarray(at, at + PAGE));
        if (isDirty && !failed) page.copy(durable, at);
      }
      this.#durable = durable;
      this.#cached = now;
      done(failed ? Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }) : null);
    });
  }

  /** All of the WAL is on the disk, or no longer needed. */
  checkpointed(): void {
    this.#cached = this.#read();
    this.#durable = Buffer.from(this.#cached);
  }

  /** Replaces the WAL by the content of the disk. */
  loseCache(): void {
    writeFileSync(this.#path, this.#durable);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #read(): Buffer {
    this.#file ??= openSync(this.#path, "r");
    const bytes = Buffer.alloc(fstatSync(this.#file).size);
    readSync(this.#file, bytes, 0, bytes.length, 0);
    return bytes;
  }
}
