// Owns: the rows of all indexes that turns have changed last: in memory, where queries find them, and in one table. Does not own: the tables
// of the indexes, and how a row is moved there (row-table.ts).
//
// Writing a row to its index's table changes some ten pages: one of that table, and others of each SQL index. So the rows that one commit
// changes are first written together, as a list, which is one row of this table. Lists are never changed: a row that changes again, or is
// moved, is in a later list, too, and counts there.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type IndexedRow, isJsonObject, isList, type Json } from "../contract/index.ts";
import { indexedColumns, tryParseJson } from "../contract/internal.ts";
import { int } from "./columns.ts";
import { overwriting } from "./database.ts";
import { RECENT_ROWS } from "./schema.ts";
import { isDamage, storeFault } from "./store-errors.ts";

/** Of an index. Every query reads all of them, which takes some 0.2 ms. */
const MAX_ROWS = 500;
/** So many are moved at once, which takes some 4 ms. A list has at most so many. */
const BATCH = 128;
/** With more entries than this, of which most do not count any more, the lists are written anew. */
const MAX_ENTRIES = 1_500;
/** Of all lists. With more, all rows are moved. */
const MAX_CHARACTERS = 500_000;

export interface RecentRow extends Pick<IndexedRow, "data"> {
  /** Of a row that was read from the file, empty until `of` is called for its index. */
  columns: IndexedRow["columns"];
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

const NO_SURPLUS: ReadonlyMap<number, number> = new Map();
const NONE: ReadonlyMap<number, RecentRow> = new Map();

/** Methods that write run in the caller's transaction, which ends with `write`. */
export class RecentRows {
  readonly #database: DatabaseSync;
  readonly #all: StatementSync;
  readonly #insert: StatementSync;
  readonly #clear: StatementSync;
  /** By index and actor. Undefined: the file has not been read. */
  #byIndex: Map<number, Map<number, RecentRow>> | undefined;
  /** Indexes with rows from the file that have no columns yet. */
  readonly #withoutColumns = new Set<number>();
  /** In all lists. */
  #entries = 0;
  #characters = 0;
  /** The actors that are in lists. */
  #listed = new Set<number>();
  #unwritten: (RecentRow | Removed)[] = [];
  /** By index: the last actor whose row was moved. Rows next to each other change fewer pages. */
  readonly #moved = new Map<number, number>();
  /** By index: after how many more rows they are moved again. */
  readonly #pauses = new Map<number, number>();
  #isDamaged = false;
  #hasDamagedPage = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#all = database.prepare("SELECT rows FROM recent_rows ORDER BY id");
    this.#insert = database.prepare("INSERT INTO recent_rows(rows) VALUES(?)");
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

  /** The rows of the index with these fields, by actor. */
  of(content: number, fields: readonly string[]): ReadonlyMap<number, RecentRow> {
    const rows = this.#read().get(content);
    if (rows === undefined) return NONE;
    if (this.#withoutColumns.delete(content))
      for (const row of rows.values()) {
        const members = tryParseJson(row.data);
        // In place: it may be one that is to be written at the end of this transaction.
        if (isJsonObject(members)) row.columns = indexedColumns(fields, members);
      }
    return rows;
  }

  put(row: RecentRow): void {
    setIn(this.#read(), row);
    this.#unwritten.push(row);
    const pause = this.#pauses.get(row.content);
    if (pause === undefined) return;
    if (pause === 1) this.#pauses.delete(row.content);
    else this.#pauses.set(row.content, pause - 1);
  }

  delete(content: number, pk: number): void {
    if (this.#read().get(content)?.delete(pk)) this.#unwritten.push({ content, pk });
  }

  /** Deletes rows, and what was in the place of any row before, from the file. */
  rewrite(isDeleted: (row: RecentRow) => boolean): void {
    const byIndex = this.#read();
    this.#empty();
    this.#reset();
    for (const rows of byIndex.values())
      for (const row of rows.values()) {
        if (isDeleted(row)) rows.delete(row.pk);
        else this.#unwritten.push(row);
      }
  }

  #empty(): void {
    if (this.#hasDamagedPage) {
      // Such a table can be neither emptied nor dropped.
      const count = "SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'damaged_rows_%'";
      const n = int(this.#database.prepare(count).get()?.["n"]);
      this.#database.exec(`ALTER TABLE recent_rows RENAME TO damaged_rows_${n}; ${RECENT_ROWS}`);
      return;
    }
    overwriting(this.#database, () => this.#clear.run());
  }

  /** Deletes what rows of this actor had before from the file. */
  erase(pk: number): void {
    this.#read();
    if (this.#listed.has(pk)) this.rewrite(() => false);
  }

  /** At the end of a transaction. */
  write(): void {
    if (this.#unwritten.length === 0) return;
    const entries = this.#entries + this.#unwritten.length;
    const isLong = entries > MAX_ENTRIES || this.#characters > MAX_CHARACTERS;
    if (isLong && entries > 2 * this.#count) this.rewrite(() => false);
    const rows = this.#unwritten.filter((row) => this.#isCurrent(row));
    this.#unwritten = [];
    for (let from = 0; from < rows.length; from += BATCH) {
      const items = rows.slice(from, from + BATCH).map(listed);
      const text = `[${items.join(",")}]`;
      this.#insert.run(text);
      this.#characters += text.length;
    }
    for (const { pk } of rows) this.#listed.add(pk);
    this.#entries += rows.length;
  }

  get #count(): number {
    return [...this.#read().values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** For each index with so many rows that some should be moved, how many batches. */
  get surplus(): ReadonlyMap<number, number> {
    let surplus: Map<number, number> | undefined;
    const max = this.#characters > MAX_CHARACTERS ? 0 : MAX_ROWS;
    for (const [content, { size }] of this.#read())
      if ((max === 0 ? size > 0 : size > MAX_ROWS + BATCH) && !this.#pauses.has(content))
        (surplus ??= new Map<number, number>()).set(content, Math.max(1, Math.floor((size - max) / BATCH)));
    return surplus ?? NO_SURPLUS;
  }

  /** Moves a batch of rows to their table with `move`, those of the actors that follow: where one cannot be moved, another one can. */
  moveBatch(content: number, fields: readonly string[], move: (row: RecentRow) => void): void {
    const rows = [...this.of(content, fields).values()].toSorted((one, other) => one.pk - other.pk);
    const last = this.#moved.get(content) ?? 0;
    const batch = [...rows.filter(({ pk }) => pk > last), ...rows.filter(({ pk }) => pk <= last)].slice(0, BATCH);
    this.#moved.set(content, batch.at(-1)?.pk ?? 0);
    for (const row of batch) {
      move(row);
      this.delete(content, row.pk);
    }
  }

  /** A page of the index's table is damaged, perhaps: none are moved before there is another batch. */
  pause(content: number): void {
    this.#pauses.set(content, BATCH);
  }

  /** There are no lists. */
  #reset(): void {
    this.#entries = 0;
    this.#characters = 0;
    this.#listed.clear();
    this.#unwritten = [];
    this.#isDamaged = false;
    this.#hasDamagedPage = false;
  }

  #isCurrent(row: RecentRow | Removed): boolean {
    const current = this.#read().get(row.content)?.get(row.pk);
    return row.data === undefined ? current === undefined : current === row;
  }

  #read(): Map<number, Map<number, RecentRow>> {
    if (this.#byIndex !== undefined) return this.#byIndex;
    const byIndex = new Map<number, Map<number, RecentRow>>();
    this.#reset();
    this.#withoutColumns.clear();
    for (const { rows: text } of this.#stored()) {
      const rows = rowsIn(text);
      if (rows === undefined) this.#isDamaged = true;
      this.#characters += typeof text === "string" ? text.length : 0;
      for (const row of rows ?? []) {
        if (row.data === undefined) byIndex.get(row.content)?.delete(row.pk);
        else {
          setIn(byIndex, row);
          this.#withoutColumns.add(row.content);
        }
        this.#listed.add(row.pk);
        this.#entries += 1;
      }
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

/** As JSON. Its columns are left out, since they are members of its data, too. */
const listed = (row: RecentRow | Removed): string =>
  row.data === undefined
    ? `[${row.content},${row.pk}]`
    : `[${row.content},${row.pk},${JSON.stringify(row.key)},${JSON.stringify(row.owner)},${row.data}]`;

/** Undefined: they are damaged. */
function rowsIn(text: unknown): readonly (RecentRow | Removed)[] | undefined {
  const list = typeof text === "string" ? tryParseJson(text) : undefined;
  if (!isList(list)) return undefined;
  const rows = list.map(rowIn);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

function rowIn(values: Json): RecentRow | Removed | undefined {
  if (!isList(values)) return undefined;
  const [content, pk, key, owner = null, members] = values;
  if (typeof content !== "number" || typeof pk !== "number") return undefined;
  if (values.length === 2) return { content, pk };
  if (typeof key !== "string" || (owner !== null && typeof owner !== "string")) return undefined;
  // Earlier versions wrote the members as text, and then the columns.
  const isText = typeof members === "string";
  if (!isJsonObject(isText ? tryParseJson(members) : members)) return undefined;
  return { content, pk, key, owner, data: isText ? members : JSON.stringify(members), columns: [] };
}
