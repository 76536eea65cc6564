// Owns: indexes over the contents of actors on SQLite: one table of rows for each, and the table that lists them. Does not own: what a
// row contains (core/engine), the transaction that a turn's changes share with it (turn-writer.ts).
//
// The names of these tables and columns are made of numbers, so nothing that an author or client chose is part of a statement.

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  type ActorId,
  type FoundRows,
  type IndexChange,
  type IndexColumn,
  type IndexedActors,
  type IndexedRow,
  type IndexFlaw,
  type IndexShape,
  type IndexState,
  type IndexStore,
  type RowOf,
  type RowQuery,
  type Stored,
  StoreError,
  type StoredIndex,
} from "../contract/index.ts";
import { INDEX_LIMITS, isTexts, kindOf, Lru } from "../contract/internal.ts";
import { int, parsed, split, text } from "./faults.ts";

/** Stands for null: it follows all numbers and texts, and unlike NULL it can be compared. */
const NOTHING = Uint8Array.of(0);
/** The smallest value after all texts, as SQL. */
const AFTER_TEXTS = "x''";
/** Statements differ by their conditions, of which clients choose the combination. */
const MAX_STATEMENTS = 128;

const bound = (value: IndexColumn): SQLInputValue => value ?? NOTHING;

const isState = (value: string): value is IndexState => value === "complete" || value === "building" || value === "stale";

/** What a table of rows needs of the actor whose row is written. */
export interface IndexedActor {
  readonly pk: number;
  readonly id: ActorId;
  readonly owner: string | undefined;
}

/** The rows of one index. */
class RowTable {
  readonly #database: DatabaseSync;
  readonly #name: string;
  readonly #columns: readonly string[];
  readonly #order: string | undefined;
  readonly #updates = new Map<number, StatementSync>();
  readonly #queries = new Lru<string, StatementSync>(MAX_STATEMENTS);
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #get: StatementSync;
  readonly #size: StatementSync;

  constructor(database: DatabaseSync, id: number, { fields, order }: Pick<IndexShape, "fields" | "order">) {
    this.#database = database;
    this.#name = `index_rows_${id}`;
    this.#columns = fields.map((_, n) => `c${n}`);
    this.#order = order === undefined ? undefined : this.#columns[fields.indexOf(order)];
    // The schema may change while a statement is prepared, so the table is created first.
    if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(this.#name) === undefined) this.#create();
    const all = ["actor", "key", "owner", "data", ...this.#columns];
    this.#put = database.prepare(`INSERT OR REPLACE INTO ${this.#name}(${all.join(", ")}) VALUES(${all.map(() => "?").join(", ")})`);
    this.#delete = database.prepare(`DELETE FROM ${this.#name} WHERE actor = ?`);
    this.#get = database.prepare(`SELECT data FROM ${this.#name} WHERE actor = ?`);
    this.#size = database.prepare(`SELECT count(*) AS n FROM ${this.#name}`);
  }

  #create(): void {
    const inOrder = this.#order === undefined ? ["key"] : [this.#order, "key"];
    const others = this.#columns.filter((column) => column !== this.#order);
    const keys = [inOrder, ...others.map((column) => [column, ...inOrder])];
    this.#database.exec(
      [
        `CREATE TABLE ${this.#name}(actor INTEGER PRIMARY KEY, key TEXT NOT NULL, owner TEXT, data TEXT NOT NULL, ${this.#columns.join(", ")})`,
        ...keys.map((columns, n) => `CREATE INDEX ${this.#name}_${n} ON ${this.#name}(${columns.join(", ")})`),
        `CREATE INDEX ${this.#name}_owner ON ${this.#name}(owner, ${inOrder.join(", ")}) WHERE owner IS NOT NULL`,
      ].join("; "),
    );
  }

  drop(): void {
    this.#database.exec(`DROP TABLE ${this.#name}`);
  }

  clear(): void {
    this.#database.exec(`DELETE FROM ${this.#name}`);
  }

  get size(): number {
    return int(this.#size.get()?.["n"]);
  }

  dataOf(pk: number): string | undefined {
    const found = this.#get.get(pk);
    return found && text(found["data"]);
  }

  /** Undefined deletes the row. */
  set({ pk, id, owner }: IndexedActor, row: IndexedRow | undefined): void {
    if (row === undefined) this.#delete.run(pk);
    else this.#put.run(pk, split(id)[1], owner ?? null, row.data, ...row.columns.map(bound));
  }

  /** Writes only the columns that differ, so that SQLite changes only their indexes. */
  change(actor: IndexedActor, before: IndexedRow | undefined, after: IndexedRow | undefined): void {
    if (before === undefined || after === undefined) return this.set(actor, after);
    let mask = 0;
    const values: SQLInputValue[] = [after.data];
    for (const [n, value] of after.columns.entries()) {
      if (value === before.columns[n]) continue;
      mask |= 1 << n;
      values.push(bound(value));
    }
    // A row that is not there: the index is being built, and has not come to this actor.
    if (this.#update(mask).run(...values, actor.pk).changes === 0) this.set(actor, after);
  }

  #update(mask: number): StatementSync {
    const known = this.#updates.get(mask);
    if (known !== undefined) return known;
    if (this.#updates.size >= MAX_STATEMENTS) this.#updates.clear();
    const changed = this.#columns.filter((_, n) => (mask & (1 << n)) !== 0);
    const statement = this.#database.prepare(
      `UPDATE ${this.#name} SET ${["data", ...changed].map((column) => `${column} = ?`).join(", ")} WHERE actor = ?`,
    );
    this.#updates.set(mask, statement);
    return statement;
  }

  query(query: RowQuery): FoundRows {
    const { where, values } = this.#conditions(query);
    const rows = this.#page(query, where, values);
    if (!query.count) return { rows };
    const counted = this.#prepare(`SELECT count(*) AS n FROM ${this.#name}${whereAll(where)}`).get(...values);
    return { rows, count: int(counted?.["n"]) };
  }

  #page({ after, descending, limit }: RowQuery, where: readonly string[], values: readonly SQLInputValue[]): FoundRows["rows"] {
    const [comparison, direction] = descending ? ["<", "DESC"] : [">", "ASC"];
    const place = this.#order === undefined ? "key" : `(${this.#order}, key)`;
    const behind = this.#order === undefined ? `key ${comparison} ?` : `${place} ${comparison} (?, ?)`;
    const position = after === undefined ? [] : this.#order === undefined ? [after.key] : [bound(after.value), after.key];
    const sql = `SELECT key, data, ${this.#order ?? "NULL"} AS value FROM ${this.#name}${whereAll(after === undefined ? where : [...where, behind])}
      ORDER BY ${this.#order === undefined ? "" : `${this.#order} ${direction}, `}key ${direction} LIMIT ?`;
    return this.#prepare(sql)
      .all(...values, ...position, limit)
      .map(({ key, data, value }) => ({ key: text(key), data: text(data), value: columnIn(value) }));
  }

  #conditions({ conditions, owner }: RowQuery): { readonly where: readonly string[]; readonly values: readonly SQLInputValue[] } {
    const where: string[] = [];
    const values: SQLInputValue[] = [];
    const add = (condition: string, ...given: readonly SQLInputValue[]): void => {
      where.push(condition);
      values.push(...given);
    };
    // Without OR where one of them is enough: SQLite then reads the rows in order.
    if (owner?.principal !== undefined && owner.key !== undefined) add("(owner = ? OR key = ?)", owner.principal, owner.key);
    else if (owner?.principal !== undefined) add("owner = ?", owner.principal);
    else if (owner !== undefined) add("key = ?", owner.key ?? null);
    for (const condition of conditions) {
      const column = `c${condition.column}`;
      if ("in" in condition) {
        if (condition.in.length === 1) add(`${column} = ?`, bound(condition.in[0] ?? null));
        else add(`${column} IN (${condition.in.map(() => "?").join(", ")})`, ...condition.in.map(bound));
      } else if ("prefix" in condition) {
        const end = endOfPrefix(condition.prefix);
        add(`${column} >= ?`, condition.prefix);
        if (end === undefined) add(`${column} < ${AFTER_TEXTS}`);
        else add(`${column} < ?`, end);
      } else {
        const { gte, lte } = condition;
        const isText = typeof (gte ?? lte) === "string";
        if (gte !== undefined) add(`${column} >= ?`, gte);
        else if (isText) add(`${column} >= ''`);
        if (lte !== undefined) add(`${column} <= ?`, lte);
        else add(`${column} < ${isText ? AFTER_TEXTS : "''"}`);
      }
    }
    return { where, values };
  }

  #prepare(sql: string): StatementSync {
    const known = this.#queries.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#queries.set(sql, statement);
    return statement;
  }
}

const whereAll = (conditions: readonly string[]): string => (conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`);

const columnIn = (value: SQLOutputValue | undefined): IndexColumn =>
  typeof value === "string" || typeof value === "number" ? value : null;

/** The smallest text after all that begin with this prefix. Undefined: there is none. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point === 0x10_ff_ff) continue;
    // No text has a surrogate alone.
    return points.join("") + String.fromCodePoint(point === 0xd7_ff ? 0xe0_00 : point + 1);
  }
  return undefined;
}

interface Entry {
  readonly id: number;
  readonly shape: IndexShape;
  state: IndexState;
  rows: RowTable | undefined;
}

const statements = (database: DatabaseSync) => ({
  all: database.prepare("SELECT id, name, kind, fields, ordering, definition, state FROM content_index ORDER BY name"),
  insert: database.prepare("INSERT INTO content_index(name, kind, fields, ordering, definition, state) VALUES(?, ?, ?, ?, ?, 'building')"),
  delete: database.prepare("DELETE FROM content_index WHERE id = ?"),
  setState: database.prepare("UPDATE content_index SET state = ? WHERE id = ?"),
});

/** All indexes in a file. Methods that write run in the caller's transaction. */
export class IndexTables {
  readonly #database: DatabaseSync;
  readonly #sql: ReturnType<typeof statements>;
  #byName: Map<string, Entry> | undefined;
  #byKind = new Map<string, Entry[]>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#sql = statements(database);
  }

  /** The transaction was rolled back: drops what is cached. */
  rolledBack(): void {
    this.#byName = undefined;
  }

  /** The changes of a turn. */
  write(actor: IndexedActor, changes: readonly IndexChange[]): void {
    for (const { index, before, after } of changes) this.#rowsOf(this.#entry(index))?.change(actor, before, after);
  }

  /** This actor was written by something that does not maintain the indexes of its kind. */
  makeStale(id: ActorId): void {
    // Most stores have no indexes.
    if (this.#entries().size === 0) return;
    for (const entry of this.#byKind.get(kindOf(id)) ?? []) if (entry.state !== "stale") this.#setState(entry, "stale");
  }

  /** The actor was removed from the store. */
  removed(actor: IndexedActor): void {
    this.#entries();
    for (const entry of this.#byKind.get(kindOf(actor.id)) ?? []) this.#rowsOf(entry)?.set(actor, undefined);
  }

  /** Returns whether the index is complete. */
  declare(shape: IndexShape): boolean {
    const known = this.#entry(shape.name);
    if (known?.shape.definition === shape.definition) {
      this.#rowsOf(known);
      return known.state === "complete";
    }
    if (known !== undefined) this.#drop(known);
    const { name, kind, fields, order, definition } = shape;
    this.#sql.insert.run(name, kind, JSON.stringify(fields), order ?? null, definition);
    this.rolledBack();
    this.#rowsOf(this.#entry(name));
    return false;
  }

  drop(name: string): boolean {
    const entry = this.#entry(name);
    if (entry === undefined) return false;
    this.#drop(entry);
    return true;
  }

  #drop(entry: Entry): void {
    this.#rowsOf(entry)?.drop();
    this.#sql.delete.run(entry.id);
    this.rolledBack();
  }

  list(): readonly StoredIndex[] {
    return [...this.#entries().values()].map((entry) => ({
      ...entry.shape,
      state: entry.state,
      rows: this.#rowsOf(entry)?.size ?? 0,
    }));
  }

  /** Deletes all rows. */
  clear(name: string): void {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    this.#rowsOf(entry)?.clear();
    this.#setState(entry, "building");
  }

  completed(name: string): void {
    const entry = this.#entry(name);
    // Stale: an actor that was built already has been written to since.
    if (entry?.state === "building") this.#setState(entry, "complete");
  }

  set(name: string, actor: IndexedActor, row: IndexedRow | undefined): void {
    this.#rowsOf(this.#entry(name))?.set(actor, row);
  }

  dataOf(name: string, pk: number): string | undefined {
    return this.#rowsOf(this.#entry(name))?.dataOf(pk);
  }

  kindOf(name: string): string {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    return entry.shape.kind;
  }

  query(name: string, query: RowQuery): FoundRows | undefined {
    const entry = this.#entry(name);
    return entry?.state === "complete" ? this.#rowsOf(entry)?.query(query) : undefined;
  }

  #entry(name: string): Entry | undefined {
    return this.#entries().get(name);
  }

  #entries(): ReadonlyMap<string, Entry> {
    if (this.#byName !== undefined) return this.#byName;
    const byName = new Map<string, Entry>();
    const byKind = new Map<string, Entry[]>();
    for (const columns of this.#sql.all.all()) {
      const fields = parsed(columns["fields"]);
      const [name, kind, state, order] = [text(columns["name"]), text(columns["kind"]), text(columns["state"]), columns["ordering"]];
      if (!isTexts(fields) || fields.length > INDEX_LIMITS.fields || !isState(state)) throw missing(name);
      const shape: IndexShape = {
        name,
        kind,
        fields,
        definition: text(columns["definition"]),
        ...(typeof order === "string" ? { order } : {}),
      };
      const entry: Entry = { id: int(columns["id"]), shape, state, rows: undefined };
      byName.set(name, entry);
      byKind.set(kind, [...(byKind.get(kind) ?? []), entry]);
    }
    this.#byKind = byKind;
    return (this.#byName = byName);
  }

  #rowsOf(entry: Entry | undefined): RowTable | undefined {
    if (entry !== undefined) entry.rows ??= new RowTable(this.#database, entry.id, entry.shape);
    return entry?.rows;
  }

  #setState(entry: Entry, state: IndexState): void {
    this.#sql.setState.run(state, entry.id);
    entry.state = state;
  }
}

const missing = (name: string): StoreError =>
  new StoreError("STORE_CORRUPT", `The store has no index ${name.slice(0, 64)} that can be read: run \`troupe index rebuild\`.`);

/** How `IndexStore` reads actors and writes, on SQLite. */
export interface IndexHost {
  readonly tables: IndexTables;
  /** Runs in a transaction. */
  readonly write: <T>(run: () => T) => Promise<T>;
  /** Settles when what it returns is durable. */
  readonly read: <T>(run: () => T) => Promise<T>;
  /** The actors of a kind in the order of keys, those that have ended included. */
  readonly list: (kind: string, limit: number, after: ActorId | undefined) => readonly ActorId[];
  /** Undefined: there is no such actor, or it cannot be read. */
  readonly load: (id: ActorId) => { readonly actor: IndexedActor; readonly stored: Stored } | undefined;
}

const pageOf = (ids: readonly ActorId[], limit: number): IndexedActors => {
  const last = ids.at(-1);
  return ids.length < limit || last === undefined ? { actors: ids.length } : { actors: ids.length, next: last };
};

/** The `IndexStore` of a file. */
export function sqliteIndexes({ tables, write, read, list, load }: IndexHost): IndexStore {
  const rowIn = (id: ActorId, rowOf: RowOf): { readonly actor: IndexedActor; readonly row: IndexedRow | undefined } | undefined => {
    const found = load(id);
    if (found === undefined) return undefined;
    return { actor: found.actor, row: found.stored.row.status === "stopped" ? undefined : rowOf(id, found.stored) };
  };
  return {
    declare: (shape) => write(() => tables.declare(shape)),
    drop: (name) => write(() => tables.drop(name)),
    list: () => read(() => tables.list()),
    query: (name, query) => read(() => tables.query(name, query)),
    build: (name, rowOf, limit, after) =>
      write(() => {
        if (after === undefined) tables.clear(name);
        const ids = list(tables.kindOf(name), limit, after);
        for (const id of ids) {
          const found = rowIn(id, rowOf);
          if (found !== undefined) tables.set(name, found.actor, found.row);
        }
        const page = pageOf(ids, limit);
        if (page.next === undefined) tables.completed(name);
        return page;
      }),
    verify: (name, rowOf, limit, after) =>
      read(() => {
        const ids = list(tables.kindOf(name), limit, after);
        const flaws = ids.flatMap((id): IndexFlaw[] => {
          const found = rowIn(id, rowOf);
          const stored = found && tables.dataOf(name, found.actor.pk);
          const wanted = found?.row?.data;
          if (stored === wanted) return [];
          return [{ id, flaw: stored === undefined ? "missing" : wanted === undefined ? "unexpected" : "different" }];
        });
        return { ...pageOf(ids, limit), flaws };
      }),
  };
}
