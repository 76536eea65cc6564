// Owns: the rows of one index on SQLite and their words: the tables and SQL indexes, how a turn changes a row, how a query reads a page.
// Does not own: which indexes there are (index-tables.ts), the rows changed last (recent-rows.ts), how texts are split into words
// (core/contract).
//
// The names of tables and columns are made of numbers, so nothing that an author or client chose is part of a statement.

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import type { ActorId, FoundRows, IndexChange, IndexColumn, IndexedRow, IndexFlaw, IndexShape, RowQuery } from "../contract/index.ts";
import { containedIn, ftsQuery, Lru, MemoryRows, mergedRows, type SearchTerm } from "../contract/internal.ts";
import { int, split, text } from "./columns.ts";
import { overwriting } from "./database.ts";
import type { RecentRow, RecentRows } from "./recent-rows.ts";

/** Stands for null: it follows all numbers and texts, and unlike NULL it can be compared. */
const NOTHING = Uint8Array.of(0);
/** The smallest value after all texts, as SQL. */
const AFTER_TEXTS = "x''";
/** Statements differ by their conditions, of which clients choose the combination. */
const MAX_STATEMENTS = 128;
/** Fewer rows than this are read and sorted; of more, the first in order are looked for by reading the index in its order. */
const FEW = 4_000;

const bound = (value: IndexColumn): SQLInputValue => value ?? NOTHING;

/** A condition in SQL. */
interface Term {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  /** The SQL index that finds its rows. */
  readonly index?: string | undefined;
  /** Its rows are those of one value, or of several, so the SQL index has them in order. */
  readonly isPoint?: boolean;
  /** It is on the column that orders the rows, which is in each SQL index. */
  readonly isOrder?: boolean;
}

/** A search for words, as a condition on the table of words, and as one on a row. */
interface Search {
  readonly words: string;
  readonly matches: Term;
  readonly contains: Term;
}

const isThere = (database: DatabaseSync, table: string): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined;

/** What a table of rows needs of the actor whose row is written. */
export interface IndexedActor {
  readonly pk: number;
  readonly id: ActorId;
  readonly owner: string | undefined;
}

/** The rows of one index. */
export class RowTable {
  readonly #database: DatabaseSync;
  readonly #id: number;
  readonly #shape: IndexShape;
  readonly #name: string;
  readonly #columns: readonly string[];
  readonly #order: string | undefined;
  /** The SQL index that begins with a column. */
  readonly #indexOf: ReadonlyMap<string, string>;
  readonly #recent: RecentRows;
  readonly #updates = new Lru<number, StatementSync>(MAX_STATEMENTS);
  readonly #queries = new Lru<string, StatementSync>(MAX_STATEMENTS);
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #isSame: StatementSync;
  readonly #isThere: StatementSync;
  readonly #differing: StatementSync;
  readonly #unowned: StatementSync;
  readonly #size: StatementSync;
  /** Undefined: the index has no full text. */
  readonly #words: WordTable | undefined;

  constructor(database: DatabaseSync, recent: RecentRows, id: number, shape: IndexShape) {
    const { fields, order, text: searched } = shape;
    this.#database = database;
    this.#recent = recent;
    this.#id = id;
    this.#shape = shape;
    this.#name = `index_rows_${id}`;
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
    // Compared by SQLite: a damaged value may be one that JavaScript has no number or text for.
    const isSame = all.slice(1).map((column) => `${column} IS ?`);
    this.#isSame = database.prepare(`SELECT ${isSame.join(" AND ")} AS same FROM ${this.#name} WHERE actor = ?`);
    this.#isThere = database.prepare(`SELECT 1 FROM ${this.#name} WHERE actor = ?`);
    const bits = this.#columns.map((column, n) => ` | ((${column} IS NOT ?) << ${n})`);
    this.#differing = database.prepare(`SELECT 0${bits.join("")} AS mask FROM ${this.#name} WHERE actor = ?`);
    this.#unowned = database.prepare(
      `SELECT key FROM (SELECT actor, key FROM ${this.#name} UNION SELECT value ->> 0, value ->> 1 FROM json_each(?)) AS r
       WHERE NOT EXISTS (SELECT 1 FROM actor WHERE actor.id = r.actor AND kind = ?) LIMIT ?`,
    );
    this.#size = database.prepare(
      `SELECT (SELECT count(*) FROM ${this.#name})
       + (SELECT count(*) FROM json_each(?) AS r WHERE NOT EXISTS (SELECT 1 FROM ${this.#name} WHERE actor = r.value)) AS n`,
    );
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

  clear(): void {
    this.#database.exec(`DELETE FROM ${this.#name}`);
    this.#recent.rewrite(({ content }) => content === this.#id);
    this.#words?.clear();
  }

  get size(): number {
    return int(this.#size.get(JSON.stringify([...this.#recentRows.keys()]))?.["n"]);
  }

  get #recentRows(): ReadonlyMap<number, RecentRow> {
    return this.#recent.of(this.#id, this.#shape.fields);
  }

  /** How the actor's row differs from the one it should have. Undefined: not at all. */
  flaw(actor: IndexedActor, row: IndexedRow | undefined): IndexFlaw["flaw"] | undefined {
    const isSame = this.#comparison(actor, row);
    if (isSame === undefined) return row && "missing";
    if (row === undefined) return "unexpected";
    return isSame && this.#words?.get(actor.pk) === row.text ? undefined : "different";
  }

  /** Whether the actor's row is this one. Undefined: it has none. */
  #comparison(actor: IndexedActor, row: IndexedRow | undefined): boolean | undefined {
    const recent = this.#recentRows.get(actor.pk);
    if (recent !== undefined) return row !== undefined && isDeepStrictEqual(recent, this.#recentRow(actor, row));
    const found = this.#isSame.get(split(actor.id)[1], actor.owner ?? null, row?.data ?? null, ...this.#bound(row), actor.pk);
    return found && found["same"] === 1;
  }

  /** The keys of at most so many rows that belong to no actor of the kind. */
  unowned(limit: number): readonly string[] {
    const recent = [...this.#recentRows.values()].map(({ pk, key }) => [pk, key]);
    return this.#unowned.all(JSON.stringify(recent), this.#shape.kind, limit).map(({ key }) => String(key));
  }

  #bound(row: IndexedRow | undefined): readonly SQLInputValue[] {
    return row === undefined ? this.#columns.map(() => NOTHING) : row.columns.map(bound);
  }

  /** Undefined deletes the row. */
  set(actor: IndexedActor, row: IndexedRow | undefined): void {
    this.#recent.delete(this.#id, actor.pk);
    if (row === undefined) this.#delete.run(actor.pk);
    else this.#put.run(...valuesOf(this.#recentRow(actor, row)));
    this.#words?.set(actor.pk, row?.text);
  }

  /** What a turn changes. */
  change(actor: IndexedActor, { before, after, hasSameText }: Omit<IndexChange, "index">): void {
    if (after === undefined) return overwriting(this.#database, () => this.set(actor, undefined));
    if (before === undefined || this.#isLost(actor.pk)) return this.set(actor, after);
    if (hasSameText !== true) overwriting(this.#database, () => this.#words?.set(actor.pk, after.text));
    this.#recent.put(this.#recentRow(actor, after));
  }

  #recentRow({ pk, id, owner }: IndexedActor, { data, columns }: IndexedRow): RecentRow {
    return { content: this.#id, pk, key: split(id)[1], owner: owner ?? null, data, columns };
  }

  /** A row that should be there and is not has no words either: its actor could not be read when the index was built. */
  #isLost(pk: number): boolean {
    return this.#words !== undefined && !this.#recentRows.has(pk) && this.#isThere.get(pk) === undefined;
  }

  /** Moves the actor's row to the table, if a turn has changed it. */
  moveRecent(pk: number): void {
    const row = this.#recentRows.get(pk);
    if (row === undefined) return;
    this.move(row);
    this.#recent.delete(this.#id, pk);
  }

  /** Moves a row that was changed last to the table. Writes only the columns that differ, so that SQLite changes only their indexes. */
  move(row: RecentRow): void {
    const columns = row.columns.map(bound);
    const mask = this.#differing.get(...columns, row.pk)?.["mask"];
    // A row that is not there: the index is being built, and has not come to this actor.
    if (mask === undefined) this.#put.run(...valuesOf(row));
    else {
      const differing = int(mask);
      this.#update(differing).run(row.data, ...columns.filter((_, n) => isIn(differing, n)), row.pk);
    }
  }

  #update(mask: number): StatementSync {
    const known = this.#updates.get(mask);
    if (known !== undefined) return known;
    const changed = ["data", ...this.#columns.filter((_, n) => isIn(mask, n))];
    const statement = this.#database.prepare(
      `UPDATE ${this.#name} SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE actor = ?`,
    );
    this.#updates.set(mask, statement);
    return statement;
  }

  query(query: RowQuery): FoundRows {
    const terms = this.#terms(query);
    const search = query.terms && this.#words?.search(query.terms);
    const few = this.#few(terms, search);
    // Of many rows with the words, the first in order are found by reading their texts.
    const found = search === undefined ? terms : [...terms, search.contains];
    const first = few ?? { from: this.#from(this.#ordered(terms)), terms: found };
    const all = few ?? this.#all(terms, search);
    const recent = this.#recentRows;
    if (recent.size === 0) return foundRows(this.#page(query, first), query.count && this.#count(all));
    const actors = JSON.stringify([...recent.keys()]);
    const isRecent: Term = { sql: `${this.#name}.actor IN (SELECT value FROM json_each(?))`, values: [actors] };
    const others = { ...first, terms: [...first.terms, { ...isRecent, sql: `NOT ${isRecent.sql}` }] };
    // To count those that have a recent row, and subtract them, takes less time than to look for the recent row of each.
    const replaced = { from: `${this.#name} NOT INDEXED`, terms: [isRecent, ...found] };
    return mergedRows(
      query,
      foundRows(this.#page(query, others), query.count && this.#count(all) - this.#count(replaced)),
      this.#amongRecent(query, search && this.#containing(search, actors)),
    );
  }

  /** `actors`: those whose texts have the words. Undefined: none are looked for. */
  #amongRecent(query: RowQuery, actors: ReadonlySet<number> | undefined): FoundRows {
    const rows = new MemoryRows(this.#shape);
    for (const row of this.#recentRows.values())
      if (actors === undefined || actors.has(row.pk)) rows.set(row.key, row, row.owner ?? undefined);
    return rows.query({ ...query, terms: [] });
  }

  /** Those of the actors whose texts have the words. */
  #containing({ contains }: Search, actors: string): ReadonlySet<number> {
    const sql = `SELECT actor FROM (SELECT value AS actor FROM json_each(?)) WHERE ${contains.sql}`;
    return new Set(
      this.#prepare(sql)
        .all(actors, ...contains.values)
        .map(({ actor }) => int(actor)),
    );
  }

  #count({ from, terms }: Access): number {
    return int(this.#prepare(`SELECT count(*) AS n FROM ${from}${whereAll(terms)}`).get(...allValues(terms))?.["n"]);
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
      .all(...allValues(all), limit)
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
    if (principal === undefined) return { sql: isActor, values: [this.#shape.kind, key ?? null] };
    if (key !== undefined) return { sql: `(owner = ? OR ${isActor})`, values: [principal, this.#shape.kind, key] };
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

/** Drops the tables of an index, also of one whose shape is damaged. */
export const dropRows = (database: DatabaseSync, id: number): void =>
  database.exec(`DROP TABLE IF EXISTS index_rows_${id}; DROP TABLE IF EXISTS index_words_${id}`);

/** The values of a row's columns, the actor first. */
const valuesOf = ({ pk, key, owner, data, columns }: RecentRow): readonly SQLInputValue[] => [pk, key, owner, data, ...columns.map(bound)];

const isIn = (mask: number, n: number): boolean => (mask & (1 << n)) !== 0;

/** How to read rows. */
interface Access {
  readonly from: string;
  readonly terms: readonly Term[];
}

const foundRows = (rows: FoundRows["rows"], count: number | false): FoundRows => (count === false ? { rows } : { rows, count });

const whereAll = (terms: readonly Term[]): string => (terms.length === 0 ? "" : ` WHERE ${terms.map(({ sql }) => sql).join(" AND ")}`);

const allValues = (terms: readonly Term[]): readonly SQLInputValue[] => terms.flatMap(({ values }) => values);

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

/** The words of the actors of one index, in a table of FTS5. */
class WordTable {
  readonly #database: DatabaseSync;
  readonly #name: string;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #get: StatementSync;

  constructor(database: DatabaseSync, name: string) {
    this.#database = database;
    this.#name = name;
    if (!isThere(database, name)) this.#create();
    this.#put = database.prepare(`INSERT OR REPLACE INTO ${name}(rowid, text) VALUES(?, ?)`);
    this.#delete = database.prepare(`DELETE FROM ${name} WHERE rowid = ?`);
    this.#get = database.prepare(`SELECT text FROM ${name} WHERE rowid = ?`);
  }

  /** The words are split already. They are stored in the table, too, so that FTS5 can delete them: `secure-delete` leaves none in the file. */
  #create(): void {
    this.#database.exec(
      `CREATE VIRTUAL TABLE ${this.#name} USING fts5(text, tokenize='ascii', columnsize=0);
       INSERT INTO ${this.#name}(${this.#name}, rank) VALUES('secure-delete', 1)`,
    );
  }

  /** Deleting its rows would take each word out by itself. */
  clear(): void {
    this.#database.exec(`DROP TABLE ${this.#name}`);
    this.#create();
  }

  get(pk: number): string {
    const found = this.#get.get(pk);
    return found === undefined ? "" : text(found["text"]);
  }

  set(pk: number, words: string | undefined): void {
    if (words === undefined || words === "") this.#delete.run(pk);
    else this.#put.run(pk, words);
  }

  search(terms: readonly SearchTerm[]): Search {
    const contained = terms.map(() => "instr(text, ?) > 0").join(" AND ");
    return {
      words: this.#name,
      matches: { sql: `${this.#name} MATCH ?`, values: [ftsQuery(terms)] },
      contains: { sql: `(SELECT ${contained} FROM ${this.#name} WHERE rowid = actor)`, values: terms.map(containedIn) },
    };
  }
}
