/**
 * C2: what is handed over together is written in one transaction, in the order it
 * came, and settles when that is durable. C6: a write that is refused (it throws
 * `StoreError` before it wrote anything) fails alone; one whose own content is at fault, or
 * that meets a damaged page, fails alone too; a fault of the disk fails the whole group, of
 * which nothing was kept.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { isOfOneWrite, storeFault } from "./sqlite-error.ts";
import type { WalSync } from "./wal-sync.ts";

/** Rounds of the event loop for which a group stays open at most: one that has much to compute must not keep a caller for long. */
const MOST_ROUNDS = 4;
/** With fewer callers than this none waits for another. */
const CROWD = 4;
/** With so many, what a wait for the disk costs each is next to nothing. */
const ENOUGH = 256;

/** Writes what is there. */
const TOUCH = "UPDATE meta SET value = value WHERE name = 'indexed'";

/** A write that waits for its group. */
export interface Waiting {
  /** Throws what is more than this write's refusal. */
  run(): void;
  /** Once what it wrote is durable, or with why it is not. Throws nothing: others of its group are told after it. */
  settle(fault: Error | undefined): void;
}

class Write<T> implements Waiting {
  readonly #write: () => T;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: Error) => void;
  #outcome: { readonly value: T } | StoreError | undefined;

  constructor(write: () => T, resolve: (value: T) => void, reject: (error: Error) => void) {
    this.#write = write;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  run(): void {
    try {
      this.#outcome = { value: this.#write() };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#outcome = error;
    }
  }

  settle(fault: Error | undefined): void {
    const outcome = this.#outcome;
    if (outcome instanceof StoreError) this.#reject(outcome);
    else if (fault !== undefined) this.#reject(fault);
    else if (outcome !== undefined) this.#resolve(outcome.value);
  }
}

export class GroupCommit {
  readonly #database: Pick<DatabaseSync, "exec" | "isTransaction">;
  readonly #rolledBack: () => void;
  readonly #beforeCommit: (() => void) | undefined;
  readonly #wal: WalSync | undefined;
  #waiting: Waiting[] = [];
  /** Rounds since the first of this group came. */
  #rounds = 0;
  /** How many there were a round ago, and in the group before. */
  #before = 0;
  #last = 0;
  #unsettled = 0;
  #idle: (() => void)[] = [];

  /**
   * `rolledBack` drops what the writes remembered; `beforeCommit` runs inside each transaction, last; `wal` makes a COMMIT
   * durable where the database's own does not.
   */
  constructor(
    database: Pick<DatabaseSync, "exec" | "isTransaction">,
    rolledBack: () => void,
    { beforeCommit, wal }: { readonly beforeCommit?: (() => void) | undefined; readonly wal?: WalSync } = {},
  ) {
    this.#database = database;
    this.#rolledBack = rolledBack;
    this.#beforeCommit = beforeCommit;
    this.#wal = wal;
  }

  /** `write` runs inside the group's transaction, perhaps twice. Settles when durable; rejects with `StoreError` where nothing was kept. */
  add<T>(write: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => this.push(new Write(write, resolve, reject)));
  }

  /** The same of one that is told itself. */
  push(write: Waiting): void {
    this.#unsettled += 1;
    this.#waiting.push(write);
    if (this.#waiting.length === 1) setImmediate(this.#look);
  }

  /** Why the store takes no writes, be it for now. */
  get fault(): StoreError | undefined {
    return this.#wal?.unready(() => {
      if (this.#unsettled === 0) void this.add(() => this.#database.exec(TOUCH)).catch(() => undefined);
    });
  }

  /** Pages that only the log holds. Undefined without one. */
  get backlog(): number | undefined {
    return this.#wal?.backlog;
  }

  /** What was overwritten in the database leaves its log, too. Throws `StoreError`. */
  emptyLog(): void {
    this.#wal?.emptyLog();
  }

  /** Settles when nothing waits any more. */
  drained(): Promise<void> {
    if (this.#unsettled === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /**
   * Callers who were answered together come back one after the other, and a wait for the disk takes as long as ten of them:
   * where there are many, a group stays open while rounds bring more, or the last one had more.
   */
  readonly #look = (): void => {
    const { length } = this.#waiting;
    const crowd = Math.max(length, this.#last) >= CROWD;
    const more = length > this.#before || length < this.#last;
    this.#before = length;
    this.#rounds += 1;
    if (crowd && more && length < ENOUGH && this.#rounds < MOST_ROUNDS) setImmediate(this.#look);
    else this.#close();
  };

  #close(): void {
    this.#rounds = 0;
    this.#before = 0;
    this.#last = this.#waiting.length;
    const group = this.#waiting;
    this.#waiting = [];
    this.#together(group);
  }

  #together(group: readonly Waiting[]): void {
    const refusal = this.#wal?.refusal();
    if (refusal !== undefined) return this.#settle(group, refusal);
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      for (const one of group) one.run();
      this.#beforeCommit?.();
      this.#database.exec("COMMIT");
      this.#wal?.wrote();
    } catch (error) {
      const fault = this.#undo(error);
      if (group.length > 1 && isOfOneWrite(error)) for (const one of group) this.#together([one]);
      else this.#settle(group, fault);
      return;
    }
    if (this.#wal === undefined) this.#settle(group);
    else this.#wal.after((fault) => this.#settle(group, fault));
  }

  #settle(group: readonly Waiting[], fault?: Error): void {
    for (const one of group) one.settle(fault);
    this.#unsettled -= group.length;
    if (this.#unsettled > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const run of idle) run();
  }

  #undo(error: unknown): StoreError {
    const plain = storeFault(error);
    const fault = this.#wal?.failed(plain) ?? plain;
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      // A COMMIT that failed has left its frames in the WAL, where any later commit writes over them. Without one, a restart
      // could bring back what callers were told is not there.
      if (plain.code === "STORE_IO") this.#database.exec(`BEGIN IMMEDIATE; ${TOUCH}; COMMIT`);
    } catch {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
    this.#rolledBack();
    return fault;
  }
}
