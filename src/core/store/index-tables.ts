// Owns: indexes over the contents of actors on SQLite: for each a table of rows and perhaps one of words, and the table that lists them.
// Does not own: what a row contains (core/engine), the transaction that a turn's changes share with it (turn-writer.ts).
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
import { actorId, int, parsed, split, text } from "./faults.ts";
import { isThere, type Search, type Term, WordTable } from "./word-table.ts";

/** Stands for null: it follows all numbers and texts, and unlike NULL it can be compared. */
const NOTHING = Uint8Array.of(0);
/** The smallest value after all texts, as SQL. */
const AFTER_TEXTS = "x''";
/** Statements differ by their conditions, of which clients choose the combination. */
const MAX_STATEMENTS = 128;
/** Fewer rows than this are read and sorted; of more, the first in order are looked for by reading the index in its order. */
const FEW = 4_000;

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
  readonly #kind: string;
  readonly #columns: readonly string[];
  readonly #order: string | undefined;
  /** The SQL index that begins with a column. */
  readonly #indexOf: ReadonlyMap<string, string>;
  readonly #updates = new Map<number, StatementSync>();
  readonly #queries = new Lru<string, StatementSync>(MAX_STATEMENTS);
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #get: StatementSync;
  readonly #size: StatementSync;
  /** Undefined: the index has no full text. */
  readonly #words: WordTable | undefined;

  constructor(database: DatabaseSync, id: number, { kind, fields, order, text: searched }: IndexShape) {
    this.#database = database;
    this.#name = `index_rows_${id}`;
    this.#kind = kind;
    this.#columns = fields.map((_, n) => `c${n}`);
    this.#order = order === undefined ? undefined : this.#columns[fields.indexOf(order)];
    const inOrder = [this.#order ?? "key", ...this.#columns.filter((column) => column !== this.#order)];
    this.#indexOf = new Map([...inOrder.entries()].map(([n, column]) => [column, `${this.#name}_${n}`]));
    // The schema may change while a statement is prepared, so the table is created first.
    if (!isThere(database, this.#name)) this.#create();
    this.#words = searched && new WordTable(database, `index_words_${id}`);
    const all = ["actor", "key", "owner", "data", ...this.#columns];
    this.#put = database.prepare(`INSERT OR REPLACE INTO ${this.#name}(${all.join(", ")}) VALUES(${all.map(() => "?").join(", ")})`);
    this.#delete = database.prepare(`DELETE FROM ${this.#name} WHERE actor = ?`);
    this.#get = database.prepare(`SELECT data FROM ${this.#name} WHERE actor = ?`);
    this.#size = database.prepare(`SELECT count(*) AS n FROM ${this.#name}`);
  }

  #create(): void {
    const inOrder = this.#order === undefined ? ["key"] : [this.#order, "key"];
    this.#database.exec(
      [
        `CREATE TABLE ${this.#name}(actor INTEGER PRIMARY KEY, key TEXT NOT NULL, owner TEXT, data TEXT NOT NULL, ${this.#columns.join(", ")})`,
        ...[...this.#indexOf].map(([column, name]) => {
          const columns = column === inOrder[0] ? inOrder : [column, ...inOrder];
          return `CREATE INDEX ${name} ON ${this.#name}(${columns.join(", ")})`;
        }),
        `CREATE INDEX ${this.#name}_owner ON ${this.#name}(owner, ${inOrder.join(", ")}) WHERE owner IS NOT NULL`,
      ].join("; "),
    );
  }

  drop(): void {
    this.#database.exec(`DROP TABLE ${this.#name}`);
    this.#words?.drop();
  }

  clear(): void {
    this.#database.exec(`DELETE FROM ${this.#name}`);
    this.#words?.clear();
  }

  get size(): number {
    return int(this.#size.get()?.["n"]);
  }

  /** What is stored of a row, to compare it. */
  get(pk: number): Pick<IndexedRow, "data" | "text"> | undefined {
    const found = this.#get.get(pk);
    return found && { data: text(found["data"]), text: this.#words?.get(pk) };
  }

  /** Undefined deletes the row. */
  set({ pk, id, owner }: IndexedActor, row: IndexedRow | undefined): void {
    if (row === undefined) this.#delete.run(pk);
    else this.#put.run(pk, split(id)[1], owner ?? null, row.data, ...row.columns.map(bound));
    this.#words?.set(pk, row?.text);
  }

  /** Writes only the columns that differ, so that SQLite changes only their indexes. */
  change(actor: IndexedActor, { before, after, hasSameText }: Omit<IndexChange, "index">): void {
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
    else if (hasSameText !== true) this.#words?.set(actor.pk, after.text);
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
    const terms = this.#terms(query);
    const search = query.terms && this.#words?.search(query.terms);
    const few = this.#few(terms, search);
    // Of many rows with the words, the first in order are found by reading their texts.
    const inOrder = { from: this.#from(this.#ordered(terms)), terms: search === undefined ? terms : [...terms, search.contains] };
    const rows = this.#page(query, few ?? inOrder);
    if (!query.count) return { rows };
    const all = few ?? this.#all(terms, search);
    const counted = this.#prepare(`SELECT count(*) AS n FROM ${all.from}${whereAll(all.terms)}`).get(...valuesOf(all.terms));
    return { rows, count: int(counted?.["n"]) };
  }

  /** How to count many rows. */
  #all(terms: readonly Term[], search: Search | undefined): Access {
    if (search === undefined) return { from: this.#name, terms };
    return terms.length === 0 ? { from: search.words, terms: [search.matches] } : this.#matching(search, terms);
  }

  #page({ after, descending, limit }: RowQuery, { from, terms }: Access): FoundRows["rows"] {
    const [comparison, direction] = descending ? ["<", "DESC"] : [">", "ASC"];
    const order = this.#order === undefined ? ["key"] : [this.#order, "key"];
    const behind: readonly Term[] =
      after === undefined
        ? []
        : this.#order === undefined
          ? [{ sql: `key ${comparison} ?`, values: [after.key] }]
          : [{ sql: `(${order.join(", ")}) ${comparison} (?, ?)`, values: [bound(after.value), after.key] }];
    const all = [...terms, ...behind];
    const sql = `SELECT key, data, ${this.#order ?? "NULL"} AS value FROM ${from}${whereAll(all)}
      ORDER BY ${order.map((column) => `${column} ${direction}`).join(", ")} LIMIT ?`;
    return this.#prepare(sql)
      .all(...valuesOf(all), limit)
      .map(({ key, data, value }) => ({ key: text(key), data: text(data), value: columnIn(value) }));
  }

  /** Undefined: SQLite chooses the SQL index. */
  #from(index: string | undefined): string {
    return index === undefined ? this.#name : `${this.#name} INDEXED BY ${index}`;
  }

  /** The words first, then the row of each. */
  #matching({ words, matches }: Search, terms: readonly Term[]): Access {
    return { from: `${words} CROSS JOIN ${this.#name} NOT INDEXED ON actor = ${words}.rowid`, terms: [matches, ...terms] };
  }

  /**
   * How to read the rows of the condition that has the fewest, if those are few enough to sort them. SQLite does not know how many rows
   * meet a condition: by itself it would sort all rows of a range, and pass over all that have a common value to find the few of a range.
   * So ranges, words, and conditions of which there are several, are counted first, up to `FEW`.
   */
  #few(terms: readonly Term[], search: Search | undefined): Access | undefined {
    const found = terms.flatMap(({ index, ...term }) => (index === undefined ? [] : [{ ...term, index }]));
    // The rows of one value are in order.
    if (search === undefined && (found.length === 0 || (found.length === 1 && found[0]?.isPoint))) return undefined;
    let least = FEW;
    let few: Access | undefined;
    const count = (from: string, term: Term, access: () => Access): void => {
      const counted = this.#prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM ${from} WHERE ${term.sql} LIMIT ${FEW})`);
      const n = int(counted.get(...term.values)?.["n"]);
      if (n < least) [least, few] = [n, access()];
    };
    const others = search === undefined ? terms : [...terms, search.contains];
    for (const term of found) count(this.#from(term.index), term, () => ({ from: this.#from(term.index), terms: others }));
    if (search !== undefined) count(search.words, search.matches, () => this.#matching(search, terms));
    return few;
  }

  /** The SQL index that has the rows in order. Undefined: SQLite finds those of an owner and of an actor by itself. */
  #ordered(terms: readonly Term[]): string | undefined {
    if (terms.some(({ index, isOrder }) => index === undefined && !isOrder)) return undefined;
    return terms.find(({ isPoint }) => isPoint)?.index ?? this.#indexOf.get(this.#order ?? "key");
  }

  #terms({ conditions, owner }: RowQuery): readonly Term[] {
    return [...(owner === undefined ? [] : [this.#ownerTerm(owner)]), ...conditions.map((condition) => this.#term(condition))];
  }

  #ownerTerm({ principal, key }: NonNullable<RowQuery["owner"]>): Term {
    const isActor = "actor = (SELECT id FROM actor WHERE kind = ? AND key = ?)";
    if (principal === undefined) return { sql: isActor, values: [this.#kind, key ?? null] };
    if (key !== undefined) return { sql: `(owner = ? OR ${isActor})`, values: [principal, this.#kind, key] };
    return { sql: "owner = ?", values: [principal], index: `${this.#name}_owner`, isPoint: true };
  }

  #term(condition: RowQuery["conditions"][number]): Term {
    const column = `c${condition.column}`;
    const isPoint = "in" in condition;
    const found = column === this.#order ? { isOrder: true } : { index: this.#indexOf.get(column), isPoint };
    if ("in" in condition) {
      const values = condition.in.map(bound);
      return { ...found, sql: values.length === 1 ? `${column} = ?` : `${column} IN (${values.map(() => "?").join(", ")})`, values };
    }
    if ("prefix" in condition) {
      const { prefix } = condition;
      const end = endOfPrefix(prefix);
      const upTo = end === undefined ? `${column} < ${AFTER_TEXTS}` : `${column} < ?`;
      return { ...found, sql: `${column} >= ? AND ${upTo}`, values: end === undefined ? [prefix] : [prefix, end] };
    }
    const { gte, lte } = condition;
    const isText = typeof (gte ?? lte) === "string";
    const from = gte === undefined ? (isText ? [`${column} >= ''`] : []) : [`${column} >= ?`];
    const upTo = lte === undefined ? `${column} < ${isText ? AFTER_TEXTS : "''"}` : `${column} <= ?`;
    return { ...found, sql: [...from, upTo].join(" AND "), values: [gte, lte].filter((value) => value !== undefined) };
  }

  #prepare(sql: string): StatementSync {
    const known = this.#queries.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#queries.set(sql, statement);
    return statement;
  }
}

/** How to read rows. */
interface Access {
  readonly from: string;
  readonly terms: readonly Term[];
}

const whereAll = (terms: readonly Term[]): string => (terms.length === 0 ? "" : ` WHERE ${terms.map(({ sql }) => sql).join(" AND ")}`);

const valuesOf = (terms: readonly Term[]): readonly SQLInputValue[] => terms.flatMap(({ values }) => values);

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
  all: database.prepare("SELECT id, name, kind, fields, ordering, searched, definition, state FROM content_index ORDER BY name"),
  insert: database.prepare(
    "INSERT INTO content_index(name, kind, fields, ordering, searched, definition, state) VALUES(?, ?, ?, ?, ?, ?, 'building')",
  ),
  delete: database.prepare("DELETE FROM content_index WHERE id = ?"),
  setState: database.prepare("UPDATE content_index SET state = ? WHERE id = ?"),
  addStale: database.prepare("INSERT OR IGNORE INTO stale_row(content, actor) VALUES(?, ?)"),
  stale: database.prepare("SELECT actor FROM stale_row WHERE content = ? LIMIT ?"),
  countStale: database.prepare("SELECT count(*) AS n FROM stale_row WHERE content = ?"),
  deleteStale: database.prepare("DELETE FROM stale_row WHERE content = ?1 AND (?2 IS NULL OR actor = ?2)"),
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
    for (const change of changes) this.#rowsOf(this.#entry(change.index))?.change(actor, change);
  }

  /** This actor was written by something that does not maintain the indexes of its kind. */
  makeStale(id: ActorId): void {
    // Most stores have no indexes.
    if (this.#entries().size === 0) return;
    for (const entry of this.#byKind.get(kindOf(id)) ?? []) {
      this.#sql.addStale.run(entry.id, id);
      if (entry.state === "complete") this.#setState(entry, "stale");
    }
  }

  /** At most `limit` of the actors that made an index stale. Undefined: it is not. */
  stale(name: string, limit: number): readonly ActorId[] | undefined {
    const entry = this.#entry(name);
    if (entry?.state !== "stale") return undefined;
    return this.#sql.stale.all(entry.id, limit).map((columns) => actorId(...split(text(columns["actor"]))));
  }

  /** The rows of these actors are right. Returns how many others are not. */
  repaired(name: string, ids: readonly ActorId[]): number {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    for (const id of ids) this.#sql.deleteStale.run(entry.id, id);
    const left = int(this.#sql.countStale.get(entry.id)?.["n"]);
    if (left === 0) this.#setState(entry, "complete");
    return left;
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
    const { name, kind, fields, order, text: searched, definition } = shape;
    this.#sql.insert.run(
      name,
      kind,
      JSON.stringify(fields),
      order ?? null,
      searched === undefined ? null : JSON.stringify(searched),
      definition,
    );
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
    this.#sql.deleteStale.run(entry.id, null);
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
    this.#sql.deleteStale.run(entry.id, null);
    this.#setState(entry, "building");
  }

  completed(name: string): void {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    // An actor may have been written to since its row was computed.
    this.#setState(entry, this.#sql.stale.get(entry.id, 1) === undefined ? "complete" : "stale");
  }

  set(name: string, actor: IndexedActor, row: IndexedRow | undefined): void {
    this.#rowsOf(this.#entry(name))?.set(actor, row);
  }

  get(name: string, pk: number): Pick<IndexedRow, "data" | "text"> | undefined {
    return this.#rowsOf(this.#entry(name))?.get(pk);
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
      const searched = columns["searched"] === null ? undefined : parsed(columns["searched"]);
      const [name, kind, state, order] = [text(columns["name"]), text(columns["kind"]), text(columns["state"]), columns["ordering"]];
      if (searched !== undefined && !isTexts(searched)) throw missing(name);
      if (!isTexts(fields) || fields.length > INDEX_LIMITS.fields || !isState(state)) throw missing(name);
      const shape: IndexShape = {
        name,
        kind,
        fields,
        definition: text(columns["definition"]),
        ...(typeof order === "string" ? { order } : {}),
        ...(searched === undefined ? {} : { text: searched }),
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
  const set = (name: string, id: ActorId, rowOf: RowOf): void => {
    const found = rowIn(id, rowOf);
    if (found !== undefined) tables.set(name, found.actor, found.row);
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
        for (const id of ids) set(name, id, rowOf);
        const page = pageOf(ids, limit);
        if (page.next === undefined) tables.completed(name);
        return page;
      }),
    repair: (name, rowOf, limit) =>
      write(() => {
        const ids = tables.stale(name, limit);
        for (const id of ids ?? []) set(name, id, rowOf);
        return ids && tables.repaired(name, ids);
      }),
    verify: (name, rowOf, limit, after) =>
      read(() => {
        const ids = list(tables.kindOf(name), limit, after);
        const flaws = ids.flatMap((id): IndexFlaw[] => {
          const found = rowIn(id, rowOf);
          const stored = found && tables.get(name, found.actor.pk);
          const wanted = found?.row;
          if (stored?.data === wanted?.data && stored?.text === wanted?.text) return [];
          return [{ id, flaw: stored === undefined ? "missing" : wanted === undefined ? "unexpected" : "different" }];
        });
        return { ...pageOf(ids, limit), flaws };
      }),
  };
}
