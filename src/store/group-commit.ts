/**
 * C2: what is handed over in one tick goes to disk in one transaction, in the order it
 * came, and settles when that is durable. C6: a write that is refused (it throws
 * `StoreError` before it wrote anything) fails alone; one whose own content is at fault
 * fails alone too; a fault of the disk fails the whole group, of which nothing was kept.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { isItsOwnFault, storeFault } from "./sqlite-error.ts";

interface Waiting {
  readonly write: () => unknown;
  readonly done: (value: unknown) => void;
  readonly failed: (error: StoreError) => void;
  outcome?: { readonly value: unknown } | { readonly error: StoreError };
}

export class GroupCommit {
  readonly #database: Pick<DatabaseSync, "exec" | "isTransaction">;
  readonly #rolledBack: () => void;
  readonly #beforeCommit: (() => void) | undefined;
  #waiting: Waiting[] = [];
  #scheduled = false;
  #idle: (() => void)[] = [];

  /** `rolledBack` drops what the writes remembered; `beforeCommit` runs inside each transaction, last. */
  constructor(database: Pick<DatabaseSync, "exec" | "isTransaction">, rolledBack: () => void, beforeCommit?: () => void) {
    this.#database = database;
    this.#rolledBack = rolledBack;
    this.#beforeCommit = beforeCommit;
  }

  /** `write` runs inside the group's transaction, perhaps twice. Settles when durable; rejects with `StoreError` only. */
  add<T>(write: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T;
      this.#waiting.push({
        write: () => {
          result = write();
        },
        done: () => resolve(result),
        failed: reject,
      });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.flush());
    });
  }

  /** Settles when nothing waits any more. */
  drained(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  flush(): void {
    this.#scheduled = false;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length > 0) this.#together(group);
    const idle = this.#idle;
    this.#idle = [];
    for (const run of idle) run();
  }

  #together(group: readonly Waiting[]): void {
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      for (const one of group) this.#one(one);
      this.#beforeCommit?.();
      this.#database.exec("COMMIT");
    } catch (error) {
      const fault = this.#undo(error);
      if (group.length > 1 && isItsOwnFault(error)) for (const one of group) this.#together([one]);
      else for (const one of group) one.failed(fault);
      return;
    }
    for (const one of group) {
      if (one.outcome && "error" in one.outcome) one.failed(one.outcome.error);
      else one.done(undefined);
    }
  }

  #one(one: Waiting): void {
    try {
      one.outcome = { value: one.write() };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      one.outcome = { error };
    }
  }

  #undo(error: unknown): StoreError {
    const fault = storeFault(error);
    try {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      // A COMMIT whose fsync failed has left its frames in the WAL, where any later commit writes over them.
      // Without one, a restart could bring back what callers were told is not there.
      if (fault.code === "STORE_IO") this.#database.exec("BEGIN IMMEDIATE; UPDATE meta SET value = value WHERE name = 'indexed'; COMMIT");
    } catch {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
    this.#rolledBack();
    return fault;
  }
}
