// Owns: the tables of actors, and the numbers that are never used twice. Does not own: migration (database.ts).

import type { DatabaseSync, StatementSync } from "node:sqlite";

/** "Trpe": marks the file as a store of actors. */
export const APPLICATION = 0x54_72_70_65;

export const RECENT_ROWS = "CREATE TABLE recent_rows(id INTEGER PRIMARY KEY, rows TEXT NOT NULL)";

/**
 * One script per schema version, each from the version before. A released script is never changed.
 *
 * `actor`: `sum` is a CRC-32 of the row, since no hash of the chain covers it. `due` is a lower bound of the actor's next wake or expiry.
 *
 * `event` is a log: rows are appended, and each names the actor's previous event by place (`prev`). It has no index, since one would cost
 * two thirds of the durable turns a second. `back` and `far` are skip pointers (see event-table.ts).
 *
 * `seek` finds events by id and by cause; it is filled on demand, up to `meta.indexed`.
 *
 * `meta.actor` and `meta.event` are the highest `id` and `pos` at the time an actor was removed (see `Sequences`).
 */
export const SCHEMA: readonly string[] = [
  `
  CREATE TABLE actor(
    id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, head TEXT NOT NULL, pos INTEGER NOT NULL, full INTEGER NOT NULL,
    version INTEGER NOT NULL, seen INTEGER NOT NULL, count INTEGER NOT NULL, sum INTEGER NOT NULL, due INTEGER,
    kind TEXT NOT NULL, key TEXT NOT NULL, uid TEXT NOT NULL, status TEXT NOT NULL, owner TEXT, parent TEXT, rest TEXT NOT NULL);
  CREATE UNIQUE INDEX actor_name ON actor(kind, key);
  CREATE UNIQUE INDEX actor_uid ON actor(uid);
  CREATE INDEX actor_owner ON actor(owner, kind, key) WHERE owner IS NOT NULL;
  CREATE INDEX actor_parent ON actor(parent, kind, key) WHERE parent IS NOT NULL;
  CREATE INDEX actor_due ON actor(due) WHERE due IS NOT NULL;
  CREATE TABLE event(
    pos INTEGER PRIMARY KEY, actor INTEGER NOT NULL, seq INTEGER NOT NULL, prev INTEGER, back INTEGER, far INTEGER,
    id TEXT NOT NULL, header TEXT NOT NULL, body TEXT);
  CREATE TABLE seek(hash INTEGER NOT NULL, pos INTEGER NOT NULL, PRIMARY KEY(hash, pos)) WITHOUT ROWID;
  CREATE TABLE outbox(pos INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, failures INTEGER NOT NULL, message TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE letter(pos INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, why TEXT NOT NULL, message TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE remembered(actor INTEGER NOT NULL, key TEXT NOT NULL, until INTEGER NOT NULL, reply TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(key, actor)) WITHOUT ROWID;
  CREATE INDEX remembered_until ON remembered(until);
  CREATE TABLE tally(kind TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES('indexed', 0);
  `,
  "ALTER TABLE remembered ADD COLUMN call TEXT NOT NULL DEFAULT ''",
  // Only of stopped actors, so that starting one does not pay for the index.
  "CREATE INDEX actor_stopped ON actor(kind) WHERE status = 'stopped'",
  // The last remaining event of each removed actor: the row is deleted first, its events afterwards in batches.
  "CREATE TABLE gone(pos INTEGER PRIMARY KEY)",
  // Each has a table of rows, `index_rows_<id>`.
  `CREATE TABLE content_index(
     id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, fields TEXT NOT NULL, ordering TEXT, definition TEXT NOT NULL, state TEXT NOT NULL)`,
  // The members that are searched, as a list. An index that has some has a table of words, `index_words_<id>`.
  "ALTER TABLE content_index ADD COLUMN searched TEXT",
  // Actors that something wrote to without maintaining an index.
  `CREATE TABLE stale_row(content INTEGER NOT NULL, actor TEXT NOT NULL, PRIMARY KEY(content, actor)) WITHOUT ROWID;
   UPDATE content_index SET state = 'building' WHERE state = 'stale'`,
  // The rows of indexes that were changed last, with the columns of `index_rows_<id>`, and none after those that their index has.
  `CREATE TABLE recent_row(
     content INTEGER NOT NULL, actor INTEGER NOT NULL, key TEXT NOT NULL, owner TEXT, data TEXT NOT NULL,
     c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, PRIMARY KEY(content, actor)) WITHOUT ROWID`,
  // For quotas: of one owner very many may have stopped.
  "CREATE INDEX actor_owner_live ON actor(owner, kind, key) WHERE owner IS NOT NULL AND status <> 'stopped'",
  // The rows of indexes that were changed last, now as lists in JSON (see recent-rows.ts). Those of the old table are computed again.
  `DROP TABLE recent_row; ${RECENT_ROWS}; UPDATE content_index SET state = 'building'`,
];

const highest = (table: "actor" | "event", column: string): string =>
  `max(coalesce((SELECT max(${column}) FROM ${table}), 0), coalesce((SELECT value FROM meta WHERE name = '${table}'), 0))`;

/** The highest actor id and event place ever used. A removed one is not used again: remembered replies and the index of events still name it. */
export class Sequences {
  readonly #actor: StatementSync;
  readonly #event: StatementSync;
  readonly #save: StatementSync;

  constructor(database: DatabaseSync) {
    this.#actor = database.prepare(`SELECT ${highest("actor", "id")} AS n`);
    this.#event = database.prepare(`SELECT ${highest("event", "pos")} AS n`);
    this.#save = database.prepare(
      `INSERT INTO meta VALUES('actor', ${highest("actor", "id")}), ('event', ${highest("event", "pos")})
       ON CONFLICT(name) DO UPDATE SET value = excluded.value`,
    );
  }

  get actor(): number {
    return Number(this.#actor.get()?.["n"]);
  }

  get event(): number {
    return Number(this.#event.get()?.["n"]);
  }

  /** In the transaction that removes rows, before it does. */
  save(): void {
    this.#save.run();
  }
}
