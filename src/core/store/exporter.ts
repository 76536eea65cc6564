/** `Exporter` on a SQLite store: one read transaction, so that all of it is of one moment, whatever a server writes meanwhile. */
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  StoreError,
  systemClock,
  type ActorId,
  type ChainEvent,
  type Change,
  type Damaged,
  type Exporter,
  type KeyedCall,
  type Leaving,
  type Letter,
  type Undelivered,
} from "../contract/index.ts";
import { type Tip, Tips } from "./tips.ts";
import { actorId, damaged, int, text } from "./column.ts";
import { Directory } from "./directory.ts";
import { History, missing, readEvent } from "./history.ts";
import { readableStore } from "./open-store.ts";
import { Outbox } from "./outbox.ts";
import { callIn } from "./replies.ts";
import { isDamage, sqliteCode, storeFault } from "./sqlite-error.ts";
import type { SqliteOptions } from "./sqlite.ts";

const ACTORS = 1_000;
/** Places, not events: how large these are nobody knows before they are read. */
const PLACES = 1_024;

/**
 * Beside a running server too. What that one writes meanwhile stays in its log until this is disposed of.
 * Throws `StoreError`: `STORE_IO` where there is no store, `STORE_NEWER`, `STORE_CORRUPT`, `STORE_READ_ONLY` (of an older schema).
 */
export function sqliteExporter(options: Pick<SqliteOptions, "directory" | "path" | "clock" | "onLostLog">): Exporter {
  return readableStore(options, (database) => {
    // The moment is that of the first row read, not of BEGIN.
    database.exec("BEGIN; SELECT value FROM meta");
    return new SqliteExporter(database, (options.clock ?? systemClock).now());
  });
}

class SqliteExporter implements Exporter {
  readonly at: number;
  readonly #database: DatabaseSync;
  readonly #directory: Directory;
  readonly #history: History;
  readonly #outbox: Outbox;
  readonly #places: StatementSync;
  readonly #event: StatementSync;
  readonly #call: StatementSync;
  #open = true;

  constructor(database: DatabaseSync, at: number) {
    this.at = at;
    this.#database = database;
    this.#directory = new Directory(database);
    this.#history = new History(database);
    this.#outbox = new Outbox(database);
    this.#places = database.prepare(
      `WITH RECURSIVE walk(pos, n) AS (
         VALUES(?1, 1) UNION ALL
         SELECT e.prev, n + 1 FROM walk JOIN event e ON e.pos = walk.pos WHERE e.prev IS NOT NULL AND n < ?2)
       SELECT pos FROM walk`,
    );
    this.#event = database.prepare("SELECT actor, seq, id, header, body FROM event WHERE pos = ?");
    this.#call = database.prepare("SELECT key, call, until + 0.0 AS until, reply, sum FROM remembered WHERE key = ? AND actor = ?");
  }

  async *actors(kind?: string): AsyncGenerator<Leaving> {
    const tips = new Tips(this.#database, 1);
    const calls = this.#read(
      () => new CallsInOrder(this.#database, this.at, kind),
      // It reads the rows of all of them: one that cannot be read is told by its name below.
      (error) => this.#unreadable(kind) ?? error,
    );
    let after: ActorId | undefined;
    for (;;) {
      const from = after;
      const page = this.#read(() => this.#page(kind, from, throwIt));
      for (const { id } of page) {
        const tip = this.#read(
          () => {
            const found = tips.read(id);
            if (found === undefined) throw damaged(`the row of ${id} is not where its name leads`);
            return found;
          },
          (error) => (error.message.includes(id) ? error : damaged(`the row of ${id} cannot be read`, error)),
        );
        yield {
          id,
          row: tip.row,
          seq: tip.seq,
          head: tip.head,
          events: () => each(this.#events(tip)),
          calls: () => each(this.#calls(tip, id, calls)),
        };
        calls.leave(id);
      }
      after = page.at(-1)?.id;
      if (page.length < ACTORS) break;
    }
    if (calls.next !== undefined) throw damaged(`a reply is remembered for ${calls.next.id}, which is not listed`);
  }

  undelivered(): AsyncIterable<Undelivered> {
    return each(this.#guarded(this.#outbox.everyUndelivered(), "messages that wait"));
  }

  letters(): AsyncIterable<Letter> {
    return each(this.#guarded(this.#outbox.everyLetter(), "dead letters"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#database.close();
  }

  *#events(tip: Tip): Generator<ChainEvent> {
    for (let seq = 0; seq < tip.seq;) {
      const last = Math.min(tip.seq, seq + PLACES);
      const count = last - seq;
      const places = this.#read(() => this.#places.all(this.#history.seek(tip, last).pos, count));
      for (const { pos } of places.toReversed()) {
        seq += 1;
        yield this.#read(() => {
          const columns = this.#event.get(int(pos));
          if (columns === undefined || columns["actor"] !== tip.pk || columns["seq"] !== seq) throw missing(seq);
          return readEvent(columns);
        });
      }
      if (seq !== last) throw missing(seq + 1);
    }
  }

  *#calls(tip: Tip, id: ActorId, calls: CallsInOrder): Generator<KeyedCall> {
    for (let next = calls.next; next?.id === id; next = this.#read(() => calls.skip())) {
      const { key } = next;
      yield this.#read(() => {
        const columns = this.#call.get(key, tip.pk);
        if (columns === undefined) throw damaged("a remembered reply is missing");
        return callIn(columns);
      });
    }
  }

  #page(kind: string | undefined, after: ActorId | undefined, lost: Damaged): readonly Change[] {
    return this.#directory.list(
      { limit: ACTORS, ...(kind === undefined ? {} : { kind }), ...(after === undefined ? {} : { after }) },
      lost,
    );
  }

  /** Undefined: no row is, or not even their names can be. */
  #unreadable(kind: string | undefined): StoreError | undefined {
    try {
      for (let after: ActorId | undefined; ;) {
        const page = this.#page(kind, after, throwIt);
        if (page.length < ACTORS) return undefined;
        after = page.at(-1)?.id;
      }
    } catch (error) {
      return isDamage(error) ? error : undefined;
    }
  }

  *#guarded<T>(items: Generator<T>, what: string): Generator<T> {
    for (;;) {
      const next = this.#read(
        () => items.next(),
        (error) => (sqliteCode(error.cause) === undefined ? error : damaged(`some of the ${what} cannot be read`, error)),
      );
      if (next.done === true) return;
      yield next.value;
    }
  }

  /** `named` says of damage whose it is. */
  #read<T>(run: () => T, named?: (error: StoreError) => StoreError): T {
    if (!this.#open) throw new StoreError("STORE_CLOSED", "This export is over: begin another.");
    try {
      return run();
    } catch (error) {
      const fault = storeFault(error);
      throw named !== undefined && isDamage(fault) ? named(fault) : fault;
    }
  }
}

const throwIt: Damaged = (error) => {
  throw error;
};

/**
 * Who remembers replies to which keys, in the order of actors, then of keys. Their own index is by key: asking it for each
 * actor would read all of them each time, so SQLite sorts them once, in a file of its own where they are many.
 */
class CallsInOrder {
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

  /** Nobody asked for the rest of this actor's. */
  leave(id: ActorId): void {
    while (this.next?.id === id) this.skip();
  }
}

async function* each<T>(items: Generator<T>): AsyncGenerator<T> {
  yield* items;
}
