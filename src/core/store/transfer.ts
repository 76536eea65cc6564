// Owns: `Exporter` and `Importer` on a SQLite store. Does not own: the format of an export (core/chain).

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  type Closable,
  type ActorId,
  type ActorImport,
  type ChainEvent,
  type Change,
  type Exporter,
  type Importer,
  type KeyedCall,
  type LeavingActor,
  type DeadLetter,
  StoreError,
  systemClock,
  type ExportedActor,
  type Undelivered,
} from "../contract/index.ts";
import { ActorTable, type Head, HeadCache } from "./actor-table.ts";
import { Directory } from "./find-actors.ts";
import { eventIn, EventTable, missingEvent, NO_SKIPS, skipsAfter } from "./event-table.ts";
import { damaged, isDamage, sqliteCode, storeFault } from "./store-errors.ts";
import { actorId, int, text } from "./columns.ts";
import { IndexTables } from "./index-tables.ts";
import { type LockedFile, openLockedStore, openReadableStore } from "./open-store.ts";
import { OutboxTable } from "./outbox-table.ts";
import { keyedCallIn, Replies } from "./remembered-replies.ts";
import { closed } from "./rules.ts";
import { Sequences } from "./schema.ts";
import type { SqliteOptions } from "./sqlite.ts";

type TransferOptions = Pick<SqliteOptions, "directory" | "path" | "clock" | "onLostLog">;

const ACTORS_PER_PAGE = 1_000;
/** A page has the places of events, since the size of an event is not known before it is read. */
const PLACES_PER_PAGE = 1_024;

/**
 * Reads in one transaction, so that all of the export is of one moment, next to a running server too. What that server writes meanwhile
 * stays in its log until this is disposed of. Throws `StoreError`: `STORE_IO` where there is no store, `STORE_NEWER`, `STORE_CORRUPT`,
 * `STORE_READ_ONLY` (of an older schema).
 */
export function sqliteExporter(options: TransferOptions): Exporter & Closable {
  return openReadableStore(options, (database) => {
    // The moment is that of the first read, not of BEGIN.
    database.exec("BEGIN; SELECT value FROM meta");
    return new SqliteExporter(database, (options.clock ?? systemClock).now());
  });
}

const statements = (database: DatabaseSync) => ({
  places: database.prepare(
    `WITH RECURSIVE walk(pos, n) AS (
       VALUES(?1, 1) UNION ALL
       SELECT e.prev, n + 1 FROM walk JOIN event e ON e.pos = walk.pos WHERE e.prev IS NOT NULL AND n < ?2)
     SELECT pos FROM walk`,
  ),
  event: database.prepare("SELECT actor, seq, id, header, body FROM event WHERE pos = ?"),
  call: database.prepare("SELECT key, call, until + 0.0 AS until, reply, sum FROM remembered WHERE key = ? AND actor = ?"),
});

class SqliteExporter implements Exporter, Closable {
  readonly at: number;
  readonly #database: DatabaseSync;
  readonly #directory: Directory;
  readonly #log: EventTable;
  readonly #outbox: OutboxTable;
  readonly #sql: ReturnType<typeof statements>;
  #open = true;

  constructor(database: DatabaseSync, at: number) {
    this.#sql = statements(database);
    this.at = at;
    this.#database = database;
    this.#directory = new Directory(database);
    this.#log = new EventTable(database);
    this.#outbox = new OutboxTable(database);
  }

  async *actors(kind?: string): AsyncGenerator<LeavingActor> {
    const heads = new HeadCache(this.#database);
    const calls = this.#read(
      () => new CallsByActor(this.#database, this.at, kind),
      // The query reads all rows of actors, so a damaged one is looked for by its name.
      (error) => this.#unreadable(kind) ?? error,
    );
    for (const page of this.#pages(kind))
      for (const { id } of page) {
        const head = this.#read(
          () => {
            const found = heads.read(id);
            if (found === undefined) throw damaged(`the row of ${id} is not where its name leads`);
            return found;
          },
          (error) => (error.message.includes(id) ? error : damaged(`the row of ${id} cannot be read`, error)),
        );
        yield {
          id,
          row: head.row,
          seq: head.seq,
          head: head.head,
          events: () => stream(this.#events(head)),
          calls: () => stream(this.#calls(head, id, calls)),
        };
        calls.skipAll(id);
      }
    if (calls.next !== undefined) throw damaged(`a reply is remembered for ${calls.next.id}, which is not listed`);
  }

  undelivered(): AsyncIterable<Undelivered> {
    return stream(this.#checked(this.#outbox.everyUndelivered(), "messages that wait"));
  }

  letters(): AsyncIterable<DeadLetter> {
    return stream(this.#checked(this.#outbox.everyLetter(), "dead letters"));
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#database.close();
  }

  *#events(head: Head): Generator<ChainEvent> {
    for (let seq = 0; seq < head.seq;) {
      const last = Math.min(head.seq, seq + PLACES_PER_PAGE);
      const count = last - seq;
      const places = this.#read(() => this.#sql.places.all(this.#log.seek(head, last), count));
      for (const { pos } of places.toReversed()) {
        seq += 1;
        yield this.#read(() => {
          const columns = this.#sql.event.get(int(pos));
          if (columns === undefined || columns["actor"] !== head.pk || columns["seq"] !== seq) throw missingEvent(seq);
          return eventIn(columns);
        });
      }
      if (seq !== last) throw missingEvent(seq + 1);
    }
  }

  *#calls(head: Head, id: ActorId, calls: CallsByActor): Generator<KeyedCall> {
    for (let next = calls.next; next?.id === id; next = this.#read(() => calls.skip())) {
      const { key } = next;
      yield this.#read(() => {
        const columns = this.#sql.call.get(key, head.pk);
        if (columns === undefined) throw damaged("a remembered reply is missing");
        return keyedCallIn(columns);
      });
    }
  }

  /** The actors, in pages. Throws at the first that cannot be read. */
  *#pages(kind: string | undefined): Generator<readonly Change[]> {
    for (let after: ActorId | undefined; ;) {
      const query = { limit: ACTORS_PER_PAGE, ...(kind === undefined ? {} : { kind }), ...(after === undefined ? {} : { after }) };
      const page = this.#read(() =>
        this.#directory.list(query, (error) => {
          throw error;
        }),
      );
      yield page;
      after = page.at(-1)?.id;
      if (page.length < ACTORS_PER_PAGE) return;
    }
  }

  /** The fault of the first row that cannot be read. Undefined: all rows can, or not even their names. */
  #unreadable(kind: string | undefined): StoreError | undefined {
    try {
      for (const _ of this.#pages(kind));
      return undefined;
    } catch (error) {
      return isDamage(error) ? error : undefined;
    }
  }

  *#checked<T>(items: Generator<T>, what: string): Generator<T> {
    for (;;) {
      const next = this.#read(
        () => items.next(),
        (error) => (sqliteCode(error.cause) === undefined ? error : damaged(`some of the ${what} cannot be read`, error)),
      );
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** `describe` adds to a damage what is damaged. */
  #read<T>(run: () => T, describe?: (error: StoreError) => StoreError): T {
    if (!this.#open) throw new StoreError("STORE_CLOSED", "This export is over: begin another.");
    try {
      return run();
    } catch (error) {
      const fault = storeFault(error);
      throw describe !== undefined && isDamage(fault) ? describe(fault) : fault;
    }
  }
}

/**
 * The keys of remembered replies, in the order of actors, then of keys. Their index is by key, and looking it up for each actor would
 * read all of it each time, so SQLite sorts them once, in a temporary file where they are many.
 */
class CallsByActor {
  readonly #rows: Iterator<Record<string, SQLOutputValue>>;
  next: { readonly id: ActorId; readonly key: string } | undefined;

  constructor(database: DatabaseSync, at: number, kind: string | undefined) {
    const sorted = database.prepare(
      `SELECT a.kind AS kind, a.key AS name, r.key AS key FROM remembered r JOIN actor a ON a.id = r.actor
       WHERE r.until > ?1 AND (?2 IS NULL OR a.kind = ?2) ORDER BY a.kind, a.key, r.key`,
    );
    this.#rows = sorted.iterate(at, kind ?? null);
    this.skip();
  }

  skip(): typeof this.next {
    const { value, done } = this.#rows.next();
    return (this.next = done === true ? undefined : { id: actorId(value["kind"], value["name"]), key: text(value["key"]) });
  }

  /** Skips what the caller did not read of this actor's. */
  skipAll(id: ActorId): void {
    while (this.next?.id === id) this.skip();
  }
}

async function* stream<T>(items: Generator<T>): AsyncGenerator<T> {
  yield* items;
}

/**
 * The store is created where absent, with its directory. Holds the store's lock: `STORE_LOCKED` while a server has it. Throws
 * `StoreError` as `sqliteStore` does.
 */
export function sqliteImporter(options: TransferOptions): Importer & Closable {
  const { clock = systemClock } = options;
  return openLockedStore(options, (file) => new SqliteImporter(file, () => clock.now()));
}

/** Writes one transaction between two flushes, with a savepoint in it for each actor. */
class SqliteImporter implements Importer, Closable {
  readonly #file: LockedFile;
  readonly #directory: Directory;
  readonly #log: EventTable;
  readonly #outbox: OutboxTable;
  readonly #replies: Replies;
  readonly #actors: ActorTable;
  readonly #indexes: IndexTables;
  readonly #sequences: Sequences;
  /** The last place in the log, and the last actor's id. */
  #pos: number;
  #pk: number;
  /** Something was written since the last flush. */
  #writing = false;
  #open = true;

  constructor(file: LockedFile, now: () => number) {
    const { database } = file;
    this.#file = file;
    this.#directory = new Directory(database);
    this.#log = new EventTable(database);
    this.#outbox = new OutboxTable(database);
    this.#replies = new Replies(database, now);
    this.#actors = new ActorTable(database);
    this.#indexes = new IndexTables(database);
    this.#sequences = new Sequences(database);
    this.#pos = this.#sequences.event;
    this.#pk = this.#sequences.actor;
  }

  actor(actor: ExportedActor): Promise<ActorImport | undefined> {
    return this.#write((database) => {
      const { id, seq, head, row } = actor;
      const present = new HeadCache(database).read(id);
      if (present?.head === head) return undefined;
      if (present !== undefined)
        throw conflict(
          `${id} is there already with another chain: its event ${present.seq} is ${present.head.slice(0, 12)}…, not event ${seq}, ${head.slice(0, 12)}….`,
        );
      const other = this.#directory.find(row.uid);
      if (other !== undefined) throw conflict(`${other} is there already with the uid of ${id}, ${row.uid}.`);
      database.exec("SAVEPOINT actor");
      return this.#arrival(actor, (this.#pk += 1));
    });
  }

  #arrival({ id, row, seq: lastSeq, head }: ExportedActor, pk: number): ActorImport {
    let seq = 0;
    let skips = NO_SKIPS;
    let lastFull = 0;
    return {
      event: (event, full) =>
        this.#write(() => {
          const prev = seq === 0 ? null : this.#pos;
          seq += 1;
          this.#pos += 1;
          this.#log.append(this.#pos, pk, seq, prev, skips, event);
          skips = skipsAfter(seq, this.#pos, skips);
          if (full) lastFull = this.#pos;
        }),
      call: (call) => this.#write(() => this.#replies.add(pk, call)),
      commit: () =>
        this.#write((database) => {
          this.#actors.insert(id, pk, row, lastSeq, head, this.#pos, lastFull);
          // Only its code knows what of it is in an index.
          this.#indexes.makeStale(id);
          database.exec("RELEASE actor");
        }),
      abort: () =>
        this.#write((database) => {
          database.exec("ROLLBACK TO actor; RELEASE actor");
          this.#pos = this.#sequences.event;
          this.#pk = this.#sequences.actor;
        }),
    };
  }

  message(undelivered: Undelivered): Promise<boolean> {
    return this.#write(() => this.#outbox.import(undelivered));
  }

  letter(letter: DeadLetter): Promise<boolean> {
    return this.#write(() => this.#outbox.importLetter(letter));
  }

  async flush(): Promise<void> {
    if (!this.#writing) return;
    this.#writing = false;
    const { database, wal } = this.#file;
    try {
      const refusal = wal.refusal();
      if (refusal !== undefined) throw refusal;
      // Fails where SQLite has rolled the transaction back by itself, so that a flush never succeeds without it.
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw wal.writeFailed(storeFault(error));
    }
    await new Promise<void>((resolve, reject) => wal.after((fault) => (fault === undefined ? resolve() : reject(wal.refusal() ?? fault))));
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#file.close();
  }

  async #write<T>(run: (database: DatabaseSync) => T): Promise<T> {
    if (!this.#open) throw closed("store");
    const { database } = this.#file;
    try {
      if (!this.#writing) {
        database.exec("BEGIN IMMEDIATE");
        this.#writing = true;
      }
      return run(database);
    } catch (error) {
      throw storeFault(error);
    }
  }
}

const conflict = (what: string): StoreError =>
  new StoreError("STORE_CONFLICT", `${what} Nothing is ever merged: import into another directory.`);
