/** `Importer` on a SQLite store: one transaction between two flushes, a savepoint within it for each actor. */
import type { DatabaseSync } from "node:sqlite";
import { StoreError, systemClock, type Arrival, type Importer, type Letter, type Travelling, type Undelivered } from "../contract/index.ts";
import { ActorInsert } from "./actor-insert.ts";
import { columnsOf } from "./actor-row.ts";
import { Tips } from "./tips.ts";
import { Directory } from "./directory.ts";
import { EventWriter } from "./event-writer.ts";
import { lockedStore } from "./open-store.ts";
import { Outbox } from "./outbox.ts";
import { Replies } from "./replies.ts";
import { storeFault } from "./sqlite-error.ts";
import type { SqliteOptions } from "./sqlite.ts";
import type { WalSync } from "./wal-sync.ts";

/**
 * Made where absent, with its directory. Holds the store's lock: `STORE_LOCKED` while a server has it.
 * Throws `StoreError` as `sqliteStore` does.
 */
export function sqliteImporter(options: Pick<SqliteOptions, "directory" | "path" | "clock" | "onLostLog">): Importer {
  const { clock = systemClock } = options;
  return lockedStore(options, ({ database, wal, close }) => new SqliteImporter(database, wal, () => clock.now(), close));
}

class SqliteImporter implements Importer {
  readonly #database: DatabaseSync;
  readonly #wal: WalSync;
  readonly #directory: Directory;
  readonly #outbox: Outbox;
  readonly #replies: Replies;
  readonly #insert: ActorInsert;
  readonly #close: () => Promise<void>;
  #events: EventWriter;
  /** Something was written since the last flush. */
  #writing = false;
  #open = true;

  constructor(database: DatabaseSync, wal: WalSync, now: () => number, close: () => Promise<void>) {
    this.#database = database;
    this.#wal = wal;
    this.#directory = new Directory(database);
    this.#outbox = new Outbox(database);
    this.#replies = new Replies(database, now);
    this.#events = new EventWriter(database);
    this.#close = close;
    this.#insert = new ActorInsert(database);
  }

  actor(actor: Travelling): Promise<Arrival | undefined> {
    return this.#do(() => {
      const { id, seq, head, row } = actor;
      const there = new Tips(this.#database, 1).read(id);
      if (there?.head === head) return undefined;
      if (there !== undefined)
        throw conflict(
          `${id} is there already with another chain: its event ${there.seq} is ${there.head.slice(0, 12)}…, not event ${seq}, ${head.slice(0, 12)}….`,
        );
      const other = this.#directory.find(row.uid);
      if (other !== undefined) throw conflict(`${other} is there already with the uid of ${id}, ${row.uid}.`);
      this.#database.exec("SAVEPOINT actor");
      const pk = this.#events.begin();
      return this.#arrival(actor, pk);
    });
  }

  message(undelivered: Undelivered): Promise<boolean> {
    return this.#do(() => this.#outbox.keep(undelivered));
  }

  letter(letter: Letter): Promise<boolean> {
    return this.#do(() => this.#outbox.keepLetter(letter));
  }

  async flush(): Promise<void> {
    if (!this.#writing) return;
    this.#writing = false;
    try {
      const refusal = this.#wal.refusal();
      if (refusal !== undefined) throw refusal;
      // Where SQLite gave the transaction up by itself, there is nothing to commit, and it must not look as if there had been.
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw this.#wal.failed(storeFault(error));
    }
    await new Promise<void>((resolve, reject) =>
      this.#wal.after((fault) => (fault === undefined ? resolve() : reject(this.#wal.refusal() ?? fault))),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#close();
  }

  #arrival(actor: Travelling, pk: number): Arrival {
    return {
      event: (event, full) => this.#do(() => this.#events.add(event, full)),
      call: ({ reply, ...claim }) =>
        this.#do(() => (reply === undefined ? this.#replies.claim(pk, claim) : this.#replies.add(pk, { ...claim, reply }))),
      commit: () =>
        this.#do(() => {
          const { id, row, seq, head } = actor;
          const { pos, full } = this.#events;
          this.#insert.run(pk, id, columnsOf(row, seq, head, pos, full).columns);
          this.#database.exec("RELEASE actor");
        }),
      abort: () =>
        this.#do(() => {
          this.#database.exec("ROLLBACK TO actor; RELEASE actor");
          this.#events = new EventWriter(this.#database);
        }),
    };
  }

  async #do<T>(run: () => T): Promise<T> {
    if (!this.#open) throw new StoreError("STORE_CLOSED", "The store is closed. Open it again.");
    try {
      if (!this.#writing) {
        this.#database.exec("BEGIN IMMEDIATE");
        this.#writing = true;
      }
      return run();
    } catch (error) {
      throw storeFault(error);
    }
  }
}

const conflict = (what: string): StoreError =>
  new StoreError("STORE_CONFLICT", `${what} Nothing is ever merged: import into another directory.`);
