// Owns: the indexes over the contents of actors in a file on SQLite: the table that lists them, which are complete, and their `IndexStore`.
// Does not own: the rows of one (row-table.ts), what a row contains (contract/index-rows.ts), the transaction that a turn's changes share with it
// (commit-turn.ts).

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  type ActorId,
  type FoundRows,
  type IndexChange,
  type IndexedActors,
  type IndexedRow,
  type IndexFlaw,
  type IndexShape,
  type IndexState,
  type IndexStore,
  type Json,
  type RowOf,
  type RowQuery,
  type Stored,
  StoreError,
  type StoredIndex,
} from "../contract/index.ts";
import { INDEX_LIMITS, isTexts, kindOf } from "../contract/internal.ts";
import { actorId, int, parsed, split, text } from "./columns.ts";
import { overwriting } from "./database.ts";
import { RecentRows } from "./recent-rows.ts";
import { dropRows, type IndexedActor, RowTable } from "./row-table.ts";

const isState = (value: string): value is IndexState => value === "complete" || value === "building" || value === "stale";

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

/** Runs a write by itself, so that what fails there fails no turn. Resolves with the fault, or undefined. */
export type OwnWrite = (write: () => void) => Promise<Error | undefined>;

/** All indexes in a file. Methods that write run in the caller's transaction. */
export class IndexTables {
  readonly #database: DatabaseSync;
  readonly #sql: ReturnType<typeof statements>;
  readonly #inOwnWrite: OwnWrite;
  readonly #recent: RecentRows;
  #isMoving = false;
  /** Indexes that lost rows while they were being built. */
  readonly #unfinished = new Set<string>();
  #byName: Map<string, Entry> | undefined;
  #byKind = new Map<string, Entry[]>();

  constructor(database: DatabaseSync, inOwnWrite: OwnWrite = () => Promise.resolve(undefined)) {
    this.#database = database;
    this.#sql = statements(database);
    this.#inOwnWrite = inOwnWrite;
    this.#recent = new RecentRows(database);
  }

  /** What is cached may have changed in the file. */
  forget(): void {
    this.#byName = undefined;
    this.#recent.forget();
  }

  /** The transaction was rolled back. The rows are read again at once: a damaged page must not be met within the next one. */
  rolledBack(): void {
    this.forget();
    try {
      void this.#recent.isDamaged;
    } catch {
      // The disk still fails: who reads them next is refused.
    }
  }

  /** The changes of a turn. */
  write(actor: IndexedActor, changes: readonly IndexChange[]): void {
    for (const change of changes) this.#rowsNamed(change.index)?.change(actor, change);
  }

  /** At the end of a transaction. */
  writeRecent(): void {
    this.#heal();
    this.#recent.write();
    if (!this.#isMoving && this.#recent.surplus.size > 0) void this.#moveSurplus();
  }

  async #moveSurplus(): Promise<void> {
    this.#isMoving = true;
    const move = async (content: number): Promise<void> => {
      const fault = await this.#inOwnWrite(() => {
        this.#heal();
        const entry = this.#byId(content);
        const rows = this.#rowsOf(entry);
        overwriting(this.#database, () => this.#recent.moveBatch(content, entry?.shape.fields ?? [], (row) => rows?.move(row)));
      });
      if (fault !== undefined) this.#recent.pause(content);
    };
    const contents = [...this.#recent.surplus].flatMap(([content, batches]) => Array.from({ length: batches }, () => content));
    await Promise.all(contents.map(move));
    this.#isMoving = false;
  }

  /** Rows changed last are lost, and nothing says of which index: all are built again. */
  #heal(): void {
    if (!this.#recent.isDamaged) return;
    this.#recent.rewrite(() => true);
    for (const entry of this.#entries().values()) {
      this.#setState(entry, "building");
      this.#unfinished.add(entry.shape.name);
    }
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

  /** What a row of this actor had before is not to be left in the file. */
  erase(actor: Pick<IndexedActor, "pk" | "id">): void {
    this.#heal();
    this.#entries();
    for (const entry of this.#byKind.get(kindOf(actor.id)) ?? []) this.#rowsOf(entry)?.moveRecent(actor.pk);
    this.#recent.erase(actor.pk);
  }

  /** The actor was removed from the store. */
  removed(actor: IndexedActor): void {
    this.#heal();
    this.#entries();
    for (const entry of this.#byKind.get(kindOf(actor.id)) ?? []) this.#rowsOf(entry)?.set(actor, undefined);
    this.#recent.erase(actor.pk);
  }

  /** Returns whether the index is complete. */
  declare(shape: IndexShape): boolean {
    this.#heal();
    const known = this.#entry(shape.name);
    // Of a damaged list, more than the definition may differ.
    if (known !== undefined && isSameShape(known.shape, shape)) {
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
    this.#byName = undefined;
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
    this.#heal();
    this.#recent.rewrite(({ content }) => content === entry.id);
    dropRows(this.#database, entry.id);
    this.#sql.deleteStale.run(entry.id, null);
    this.#sql.delete.run(entry.id);
    this.#byName = undefined;
  }

  list(): readonly StoredIndex[] {
    return [...this.#entries().values()].map((entry) => ({
      ...entry.shape,
      state: this.#stateOf(entry),
      rows: this.#rowsOf(entry)?.size ?? 0,
    }));
  }

  /** Deletes all rows. */
  clear(name: string): void {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    this.#heal();
    this.#unfinished.delete(name);
    this.#rowsOf(entry)?.clear();
    this.#sql.deleteStale.run(entry.id, null);
    this.#setState(entry, "building");
  }

  completed(name: string): void {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    if (this.#unfinished.has(name)) return;
    // An actor may have been written to since its row was computed.
    this.#setState(entry, this.#sql.stale.get(entry.id, 1) === undefined ? "complete" : "stale");
  }

  set(name: string, actor: IndexedActor, row: IndexedRow | undefined): void {
    this.#rowsNamed(name)?.set(actor, row);
  }

  flaw(name: string, actor: IndexedActor, row: IndexedRow | undefined): IndexFlaw["flaw"] | undefined {
    return this.#rowsNamed(name)?.flaw(actor, row);
  }

  unowned(name: string, limit: number): readonly string[] {
    return this.#rowsNamed(name)?.unowned(limit) ?? [];
  }

  kindOf(name: string): string {
    const entry = this.#entry(name);
    if (entry === undefined) throw missing(name);
    return entry.shape.kind;
  }

  query(name: string, query: RowQuery): FoundRows | undefined {
    const entry = this.#entry(name);
    return entry !== undefined && this.#stateOf(entry) === "complete" ? this.#rowsOf(entry)?.query(query) : undefined;
  }

  #entry(name: string): Entry | undefined {
    return this.#entries().get(name);
  }

  #entries(): ReadonlyMap<string, Entry> {
    if (this.#byName !== undefined) return this.#byName;
    const byName = new Map<string, Entry>();
    const byKind = new Map<string, Entry[]>();
    for (const columns of this.#sql.all.all()) {
      const { shape, state } = listed(columns);
      const { name, kind } = shape;
      const entry: Entry = { id: int(columns["id"]), shape, state, rows: undefined };
      byName.set(name, entry);
      byKind.set(kind, [...(byKind.get(kind) ?? []), entry]);
    }
    this.#byKind = byKind;
    return (this.#byName = byName);
  }

  #byId(id: number): Entry | undefined {
    return [...this.#entries().values()].find((entry) => entry.id === id);
  }

  #rowsNamed(name: string): RowTable | undefined {
    return this.#rowsOf(this.#entry(name));
  }

  #rowsOf(entry: Entry | undefined): RowTable | undefined {
    if (entry !== undefined) entry.rows ??= new RowTable(this.#database, this.#recent, entry.id, entry.shape);
    return entry?.rows;
  }

  #stateOf({ state }: Entry): IndexState {
    return this.#recent.isDamaged ? "building" : state;
  }

  #setState(entry: Entry, state: IndexState): void {
    this.#sql.setState.run(state, entry.id);
    entry.state = state;
  }
}

/** A line of the list. One that is damaged has no fields and no definition, so the next server that declares the index builds it anew. */
function listed(columns: Record<string, SQLOutputValue>): { readonly shape: IndexShape; readonly state: IndexState } {
  const [name, kind, state, order] = [text(columns["name"]), text(columns["kind"]), text(columns["state"]), columns["ordering"]];
  const fields = jsonIn(columns["fields"]);
  const searched = columns["searched"] === null ? undefined : jsonIn(columns["searched"]);
  const isWhole = isTexts(fields) && fields.length <= INDEX_LIMITS.fields && isState(state);
  if (!isWhole || (searched !== undefined && !isTexts(searched)))
    return { shape: { name, kind, fields: [], definition: "" }, state: "building" };
  const definition = text(columns["definition"]);
  const shape: IndexShape = {
    name,
    kind,
    fields,
    definition,
    ...(typeof order === "string" ? { order } : {}),
    ...(searched === undefined ? {} : { text: searched }),
  };
  return { shape, state };
}

/** Null where it is no JSON. */
function jsonIn(value: unknown): Json {
  try {
    return parsed(value);
  } catch {
    return null;
  }
}

const isSameShape = (one: IndexShape, other: IndexShape): boolean => shapeText(one) === shapeText(other);

const shapeText = ({ kind, fields, order, text: searched, definition }: IndexShape): string =>
  JSON.stringify([kind, fields, order, searched, definition]);

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
        // What the file has, and not what is cached.
        tables.forget();
        const ids = list(tables.kindOf(name), limit, after);
        const flaws = ids.flatMap((id): IndexFlaw[] => {
          const found = rowIn(id, rowOf);
          const flaw = found && tables.flaw(name, found.actor, found.row);
          return flaw === undefined ? [] : [{ id, flaw }];
        });
        const page = pageOf(ids, limit);
        if (page.next !== undefined) return { ...page, flaws };
        const unowned = tables
          .unowned(name, limit)
          .map((key): IndexFlaw => ({ id: actorId(tables.kindOf(name), key), flaw: "unexpected" }));
        return { ...page, flaws: [...flaws, ...unowned] };
      }),
  };
}
