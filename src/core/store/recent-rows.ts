// Owns: the rows of an index that turns have changed last, in one small table for all indexes. Does not own: the index's own table, and how a
// row is moved there (row-table.ts).
//
// Writing a row to its index's table changes some ten pages: one of that table, and others of each SQL index. The rows of one commit are in
// different pages, but in this table they are next to each other. Queries read both tables.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { int } from "./columns.ts";

/** Every query reads all of them, which takes some 0.2 ms. */
const MAX_ROWS = 500;
/** So many are moved at once, which takes some 4 ms. */
const BATCH = 128;

/** The recent rows of one index. */
export class RecentRows {
  /** What follows FROM: its rows, with the columns of the index's own table. */
  readonly from: string;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #clear: StatementSync;
  readonly #first: StatementSync;
  readonly #count: StatementSync;
  readonly #batch: StatementSync;
  /** Rows that were put since they were counted. */
  #uncounted = 0;

  constructor(database: DatabaseSync, content: number, columns: readonly string[]) {
    const all = columns.join(", ");
    const rows = `recent_row WHERE content = ${content}`;
    this.from = `(SELECT ${all} FROM ${rows})`;
    this.#put = database.prepare(
      `INSERT OR REPLACE INTO recent_row(content, ${all}) VALUES(${content}, ${columns.map(() => "?").join(", ")})`,
    );
    this.#delete = database.prepare(`DELETE FROM ${rows} AND actor = ?`);
    this.#clear = database.prepare(`DELETE FROM ${rows}`);
    this.#first = database.prepare(`SELECT 1 FROM ${rows} LIMIT 1`);
    this.#count = database.prepare(`SELECT count(*) AS n FROM ${rows}`);
    this.#batch = database.prepare(`SELECT actor FROM ${rows} ORDER BY actor > ? DESC, actor LIMIT ${BATCH}`);
  }

  get isEmpty(): boolean {
    return this.#first.get() === undefined;
  }

  /** The values of the columns, the actor first. Returns whether there may be too many rows now, once for each batch. */
  put(values: readonly SQLInputValue[]): boolean {
    this.#put.run(...values);
    this.#uncounted = (this.#uncounted + 1) % BATCH;
    return this.#uncounted === 0;
  }

  delete(actor: number): void {
    this.#delete.run(actor);
  }

  clear(): void {
    this.#clear.run();
  }

  /** Those to move, which follow this actor: where one batch cannot be written, because a page is damaged, another one can. */
  surplus(actor: number): readonly number[] {
    if (int(this.#count.get()?.["n"]) <= MAX_ROWS) return [];
    return this.#batch.all(actor).map((row) => int(row["actor"]));
  }
}
