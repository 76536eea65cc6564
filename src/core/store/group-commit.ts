// Owns: batching writes into transactions. Does not own: what is written (commit-turn.ts), when it is on disk (wal-sync.ts).
//
// C2: writes that arrive together share a transaction, in the order they came, and settle when that is durable. C6: a write that is
// refused (it throws `StoreError` before it wrote anything) fails alone. So does one whose content is at fault or that meets a damaged
// page. A fault of the disk fails the whole batch, of which nothing is written.

import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { isOfOneWrite, storeFault } from "./store-errors.ts";
import type { WalSync } from "./wal-sync.ts";

/** How many rounds of the event loop a batch stays open at most: a turn that computes for long must not delay the others. */
const MAX_ROUNDS = 4;
/** With fewer writes than this, none waits for another. */
const CROWD = 4;
/** With so many writes, the wait for the disk costs each next to nothing. */
const ENOUGH = 256;

/** Writes a row as it is. */
const TOUCH = "UPDATE meta SET value = value WHERE name = 'indexed'";

/** A write in a batch. */
export interface PendingWrite {
  /** Why this write alone was refused. Set by the batch. */
  refusal: StoreError | undefined;
  /** Runs in the transaction, perhaps twice. Throws `StoreError` only before it wrote anything. */
  run(): void;
  /** Called when the write is durable, or with the reason why it is not. Throws nothing, since others of its batch are settled after it. */
  settle(fault: Error | undefined): void;
}

class FunctionWrite<T> implements PendingWrite {
  refusal: StoreError | undefined;
  readonly #write: () => T;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: Error) => void;
  #result: { readonly value: T } | undefined;

  constructor(write: () => T, resolve: (value: T) => void, reject: (error: Error) => void) {
    this.#write = write;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  run(): void {
    this.#result = { value: this.#write() };
  }

  settle(fault: Error | undefined): void {
    if (fault !== undefined) this.#reject(fault);
    else if (this.#result !== undefined) this.#resolve(this.#result.value);
  }
}

export class GroupCommit {
  readonly #database: Pick<DatabaseSync, "exec" | "isTransaction">;
  readonly #onRollback: () => void;
  readonly #beforeCommit: (() => void) | undefined;
  readonly #wal: WalSync | undefined;
  #batch: PendingWrite[] = [];
  /** Rounds of the event loop since the first write of this batch. */
  #rounds = 0;
  /** The size of this batch a round ago, and of the previous batch. */
  #sizeBefore = 0;
  #lastSize = 0;
  #unsettled = 0;
  #onDrained: (() => void)[] = [];

  /**
   * `onRollback` drops what writes have cached; `beforeCommit` runs at the end of each transaction; `wal` makes a COMMIT durable where the
   * database's own does not.
   */
  constructor(
    database: Pick<DatabaseSync, "exec" | "isTransaction">,
    onRollback: () => void,
    { beforeCommit, wal }: { readonly beforeCommit?: (() => void) | undefined; readonly wal?: WalSync } = {},
  ) {
    this.#database = database;
    this.#onRollback = onRollback;
    this.#beforeCommit = beforeCommit;
    this.#wal = wal;
  }

  /** `write` runs in the batch's transaction, perhaps twice. Settles when it is durable; rejects with `StoreError` where nothing was written. */
  add<T>(write: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => this.push(new FunctionWrite(write, resolve, reject)));
  }

  push(write: PendingWrite): void {
    this.#unsettled += 1;
    this.#batch.push(write);
    if (this.#batch.length === 1) setImmediate(this.#flush);
  }

  /** Why the store takes no writes, perhaps only for now. */
  get fault(): StoreError | undefined {
    return this.#wal?.unready(() => {
      if (this.#unsettled === 0) void this.add(() => this.#database.exec(TOUCH)).catch(() => undefined);
    });
  }

  /** Pages that only the log has. Undefined without a log. */
  get backlog(): number | undefined {
    return this.#wal?.backlog;
  }

  /** Removes from the log what was overwritten in the database. Throws `StoreError`. */
  emptyLog(): void {
    this.#wal?.emptyLog();
  }

  /** Settles when all writes have. */
  drained(): Promise<void> {
    if (this.#unsettled === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  /**
   * Callers that were answered together write again one after the other, and a wait for the disk takes as long as ten of their turns. So
   * with many callers a batch stays open for another round of the event loop while it grows, or is smaller than the previous one.
   */
  readonly #flush = (): void => {
    const { length } = this.#batch;
    const isCrowd = Math.max(length, this.#lastSize) >= CROWD;
    const mayGrow = length > this.#sizeBefore || length < this.#lastSize;
    this.#sizeBefore = length;
    this.#rounds += 1;
    if (isCrowd && mayGrow && length < ENOUGH && this.#rounds < MAX_ROUNDS) {
      setImmediate(this.#flush);
      return;
    }
    this.#rounds = 0;
    this.#sizeBefore = 0;
    this.#lastSize = length;
    const batch = this.#batch;
    this.#batch = [];
    this.#commitBatch(batch);
  };

  #commitBatch(batch: readonly PendingWrite[]): void {
    const refusal = this.#wal?.refusal();
    if (refusal !== undefined) return this.#settle(batch, refusal);
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      for (const write of batch) runWrite(write);
      this.#beforeCommit?.();
      this.#database.exec("COMMIT");
      this.#wal?.writeSucceeded();
    } catch (error) {
      const fault = this.#rollBack(error);
      if (batch.length > 1 && isOfOneWrite(error)) for (const write of batch) this.#commitBatch([write]);
      else this.#settle(batch, fault);
      return;
    }
    if (this.#wal === undefined) this.#settle(batch);
    else this.#wal.after((fault) => this.#settle(batch, fault));
  }

  #settle(batch: readonly PendingWrite[], fault?: Error): void {
    for (const write of batch) write.settle(write.refusal ?? fault);
    this.#unsettled -= batch.length;
    if (this.#unsettled > 0) return;
    const drained = this.#onDrained;
    this.#onDrained = [];
    for (const run of drained) run();
  }

  #rollBack(error: unknown): StoreError {
    const plain = storeFault(error);
    const fault = this.#wal?.writeFailed(plain) ?? plain;
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      // A COMMIT that failed has left its frames in the log, and the next commit overwrites them. Without one, a restart could bring back
      // what was reported as not written.
      if (plain.code === "STORE_IO") this.#database.exec(`BEGIN IMMEDIATE; ${TOUCH}; COMMIT`);
    } catch {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
    this.#onRollback();
    return fault;
  }
}

function runWrite(write: PendingWrite): void {
  write.refusal = undefined;
  try {
    write.run();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    write.refusal = error;
  }
}
