// Owns: the rows of all indexes that turns have changed last: in memory, where queries find them, and in one table. Does not own: the tables
// of the indexes, and how a row is moved there (row-table.ts).
//
// Writing a row to its index's table changes some ten pages: one of that table, and others of each SQL index. So the rows that one commit
// changes are first written together, as a list, which is one row of this table. Lists are never changed: a row that changes again is in
// a later list, too, and counts there.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type IndexColumn, type IndexedRow, isList, type Json } from "../contract/index.ts";
import { tryParseJson } from "../contract/internal.ts";
import { int } from "./columns.ts";
import { RECENT_ROWS } from "./schema.ts";
import { isDamage, storeFault } from "./store-errors.ts";

/** With more, those that are replaced included, the oldest are moved. Every query reads all of them, which takes some 0.2 ms. */
const MAX_ROWS = 500;
/** A list has at most so many, and so many are moved at once, which takes some 4 ms. */
const BATCH = 128;

export interface RecentRow extends Pick<IndexedRow, "data" | "columns"> {
  /** The index, by its number. */
  readonly content: number;
  /** The actor, by its number. */
  readonly pk: number;
  readonly key: string;
  readonly owner: string | null;
}

/** The actor has no recent row any more. */
interface Removed {
  readonly content: number;
  readonly pk: number;
  readonly data?: undefined;
}

interface List {
  readonly id: number;
  readonly rows: readonly (RecentRow | Removed)[];
}

const NONE: ReadonlyMap<number, RecentRow> = new Map();

/** Methods that write run in the caller's transaction, which ends with `write`. */
export class RecentRows {
  readonly #database: DatabaseSync;
  readonly #all: StatementSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #clear: StatementSync;
  /** By index and actor. Undefined: the file has not been read. */
  #byIndex: Map<number, Map<number, RecentRow>> | undefined;
  /** From the oldest on. */
  #lists: List[] = [];
  /** The rows of all lists. */
  #size = 0;
  #unwritten: (RecentRow | Removed)[] = [];
  #isDamaged = false;
  #hasDamagedPage = false;
  #maxSize = MAX_ROWS + BATCH;
  /** Lists from this id on are not moved now: they have rows that were postponed. */
  #end = Infinity;
  #postponed = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#all = database.prepare("SELECT id, rows FROM recent_rows ORDER BY id");
    this.#insert = database.prepare("INSERT INTO recent_rows(rows) VALUES(?)");
    this.#delete = database.prepare("DELETE FROM recent_rows WHERE id = ?");
    this.#clear = database.prepare("DELETE FROM recent_rows");
    // A transaction that has met a damaged page cannot rename its table, so this is done before one begins.
    this.#read();
  }

  /** Another process, or a transaction that was rolled back, may have changed the table: it is read again. */
  forget(): void {
    this.#byIndex = undefined;
  }

  /** A list cannot be read, so some rows are missing. */
  get isDamaged(): boolean {
    this.#read();
    return this.#isDamaged;
  }

  /** The rows of an index, by actor. */
  of(content: number): ReadonlyMap<number, RecentRow> {
    return this.#read().get(content) ?? NONE;
  }

  put(row: RecentRow): void {
    setIn(this.#read(), row);
    this.#unwritten.push(row);
  }

  delete(content: number, pk: number): void {
    if (this.#read().get(content)?.delete(pk)) this.#unwritten.push({ content, pk });
  }

  /** Deletes rows, and what was in the place of any row before, from the file. */
  rewrite(isDeleted: (row: RecentRow) => boolean): void {
    const byIndex = this.#read();
    this.#empty();
    this.#lists = [];
    this.#size = 0;
    this.#unwritten = [];
    this.#isDamaged = false;
    this.#hasDamagedPage = false;
    for (const rows of byIndex.values())
      for (const row of rows.values()) {
        if (isDeleted(row)) rows.delete(row.pk);
        else this.#unwritten.push(row);
      }
  }

  #empty(): void {
    if (!this.#hasDamagedPage) return void this.#clear.run();
    // Such a table can be neither emptied nor dropped.
    const count = "SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'damaged_rows_%'";
    const n = int(this.#database.prepare(count).get()?.["n"]);
    this.#database.exec(`ALTER TABLE recent_rows RENAME TO damaged_rows_${n}; ${RECENT_ROWS}`);
  }

  /** Deletes what rows of this actor had before from the file. */
  erase(pk: number): void {
    this.#read();
    if (this.#lists.some(({ rows }) => rows.some((row) => row.pk === pk))) this.rewrite(() => false);
  }

  /** At the end of a transaction. */
  write(): void {
    const rows = this.#unwritten.filter((row) => this.#isCurrent(row));
    this.#unwritten = [];
    for (let from = 0; from < rows.length; from += BATCH) {
      const part = rows.slice(from, from + BATCH);
      const { lastInsertRowid } = this.#insert.run(JSON.stringify(part.map(listed)));
      this.#lists.push({ id: Number(lastInsertRowid), rows: part });
      this.#size += part.length;
    }
  }

  /** Whether there are so many that the oldest should be moved. */
  get isFull(): boolean {
    return this.#size > this.#maxSize;
  }

  /** Moves the oldest to their tables with `move`. Returns whether there are more to move. */
  moveOldest(move: (row: RecentRow) => void): boolean {
    const byIndex = this.#read();
    // Turns may add more in a commit than a batch has.
    const most = Math.max(BATCH, this.#size - this.#maxSize);
    for (let moved = 0; this.#hasMore && moved < most;)
      for (const row of this.#takeOldest()) {
        move(row);
        byIndex.get(row.content)?.delete(row.pk);
        moved += 1;
      }
    if (this.#hasMore) return true;
    this.#maxSize = this.#postponed + MAX_ROWS + BATCH;
    this.#end = Infinity;
    this.#postponed = 0;
    return false;
  }

  get #hasMore(): boolean {
    return this.#size > MAX_ROWS && (this.#lists[0]?.id ?? Infinity) < this.#end;
  }

  /** The oldest cannot be moved, since a page is damaged: makes them the newest. They are tried again once there are more. */
  postponeOldest(): void {
    this.#read();
    this.#end = Math.min(this.#end, (this.#lists.at(-1)?.id ?? 0) + 1);
    const rows: RecentRow[] = [];
    for (let size = this.#size; this.#lists.length > 0 && size - this.#size < BATCH;) rows.push(...this.#takeOldest());
    this.#unwritten.push(...rows);
    this.#postponed += rows.length;
  }

  /** Deletes the oldest list. Returns its rows that nothing has replaced. */
  #takeOldest(): readonly RecentRow[] {
    const list = this.#lists.shift();
    if (list === undefined) return [];
    // FAST leaves what is in pages of its own.
    this.#database.exec("PRAGMA secure_delete = ON");
    try {
      this.#delete.run(list.id);
    } finally {
      this.#database.exec("PRAGMA secure_delete = FAST");
    }
    this.#size -= list.rows.length;
    return list.rows.filter((row) => row.data !== undefined).filter((row) => this.#isCurrent(row));
  }

  #isCurrent(row: RecentRow | Removed): boolean {
    const current = this.#read().get(row.content)?.get(row.pk);
    return row.data === undefined ? current === undefined : current === row;
  }

  #read(): Map<number, Map<number, RecentRow>> {
    if (this.#byIndex !== undefined) return this.#byIndex;
    const byIndex = new Map<number, Map<number, RecentRow>>();
    this.#lists = [];
    this.#size = 0;
    this.#unwritten = [];
    this.#isDamaged = false;
    this.#hasDamagedPage = false;
    for (const { id, rows: text } of this.#stored()) {
      const rows = rowsIn(text);
      if (rows === undefined) this.#isDamaged = true;
      for (const row of rows ?? []) {
        if (row.data === undefined) byIndex.get(row.content)?.delete(row.pk);
        else setIn(byIndex, row);
      }
      this.#lists.push({ id: int(id), rows: rows ?? [] });
      this.#size += rows?.length ?? 0;
    }
    return (this.#byIndex = byIndex);
  }

  #stored(): ReturnType<StatementSync["all"]> {
    try {
      return this.#all.all();
    } catch (error) {
      if (!isDamage(storeFault(error))) throw error;
      this.#isDamaged = true;
      this.#hasDamagedPage = true;
      return [];
    }
  }
}

function setIn(byIndex: Map<number, Map<number, RecentRow>>, row: RecentRow): void {
  const rows = byIndex.get(row.content);
  if (rows === undefined) byIndex.set(row.content, new Map([[row.pk, row]]));
  else rows.set(row.pk, row);
}

const listed = (row: RecentRow | Removed): readonly Json[] =>
  row.data === undefined ? [row.content, row.pk] : [row.content, row.pk, row.key, row.owner, row.data, ...row.columns];

/** Undefined: they are damaged. */
function rowsIn(text: unknown): readonly (RecentRow | Removed)[] | undefined {
  const list = typeof text === "string" ? tryParseJson(text) : undefined;
  if (!isList(list)) return undefined;
  const rows = list.map(rowIn);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

function rowIn(values: Json): RecentRow | Removed | undefined {
  if (!isList(values)) return undefined;
  const [content, pk, key, owner = null, data, ...columns] = values;
  if (typeof content !== "number" || typeof pk !== "number") return undefined;
  if (values.length === 2) return { content, pk };
  if (typeof key !== "string" || typeof data !== "string" || (owner !== null && typeof owner !== "string")) return undefined;
  return columns.every(isColumn) ? { content, pk, key, owner, data, columns } : undefined;
}

const isColumn = (value: Json): value is IndexColumn => value === null || typeof value === "string" || typeof value === "number";
