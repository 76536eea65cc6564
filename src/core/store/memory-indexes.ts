// Owns: indexes over the contents of the actors of a store in memory. Does not own: their order and filters (core/contract).

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
  type RowOf,
  type RowQuery,
  type Stored,
  type StoredIndex,
  StoreError,
} from "../contract/index.ts";
import { compareIds, encodedKeyOf, kindOf, MemoryRows } from "../contract/internal.ts";

/** How it reads the actors of its store. */
interface MemoryIndexHost {
  /** Throws `STORE_CLOSED`. */
  checkOpen(): void;
  /** All actors of a kind, in order. */
  list(kind: string): readonly ActorId[];
  load(id: ActorId): Stored | undefined;
}

interface Entry {
  readonly shape: IndexShape;
  readonly rows: MemoryRows;
  state: IndexState;
  /** Actors that something wrote to without maintaining the index. */
  readonly stale: Set<ActorId>;
}

export class MemoryIndexes implements IndexStore {
  readonly #host: MemoryIndexHost;
  readonly #entries = new Map<string, Entry>();

  constructor(host: MemoryIndexHost) {
    this.#host = host;
  }

  /** The changes of a turn. Undefined: its writer does not maintain indexes. */
  write(id: ActorId, owner: string | undefined, changes: readonly IndexChange[] | undefined): void {
    for (const { index, after } of changes ?? []) this.#entries.get(index)?.rows.set(encodedKeyOf(id), after, owner);
    if (changes !== undefined) return;
    for (const entry of this.#of(id)) {
      entry.stale.add(id);
      if (entry.state === "complete") entry.state = "stale";
    }
  }

  removed(id: ActorId): void {
    for (const { rows } of this.#of(id)) rows.set(encodedKeyOf(id), undefined, undefined);
  }

  async declare(shape: IndexShape): Promise<boolean> {
    this.#host.checkOpen();
    const known = this.#entries.get(shape.name);
    if (known?.shape.definition === shape.definition) return known.state === "complete";
    this.#entries.set(shape.name, { shape, rows: new MemoryRows(shape), state: "building", stale: new Set() });
    return false;
  }

  async build(name: string, rowOf: RowOf, limit: number, after?: ActorId): Promise<IndexedActors> {
    const entry = this.#entry(name);
    if (after === undefined) {
      entry.rows.clear();
      entry.stale.clear();
      entry.state = "building";
    }
    const page = this.#page(entry, limit, after);
    for (const id of page.ids) this.#set(entry, id, rowOf);
    if (page.next === undefined) entry.state = entry.stale.size === 0 ? "complete" : "stale";
    return actorsIn(page);
  }

  async repair(name: string, rowOf: RowOf, limit: number): Promise<number | undefined> {
    const entry = this.#entry(name);
    const { stale } = entry;
    if (entry.state !== "stale") return undefined;
    for (const id of [...stale].slice(0, limit)) {
      this.#set(entry, id, rowOf);
      stale.delete(id);
    }
    if (stale.size === 0) entry.state = "complete";
    return stale.size;
  }

  #set({ rows }: Entry, id: ActorId, rowOf: RowOf): void {
    rows.set(encodedKeyOf(id), this.#rowIn(id, rowOf), this.#host.load(id)?.row.owner);
  }

  async verify(name: string, rowOf: RowOf, limit: number, after?: ActorId): ReturnType<IndexStore["verify"]> {
    const entry = this.#entry(name);
    const page = this.#page(entry, limit, after);
    const flaws = page.ids.flatMap((id): IndexFlaw[] => {
      const stored = entry.rows.get(encodedKeyOf(id));
      const wanted = this.#rowIn(id, rowOf);
      if (stored?.data === wanted?.data && stored?.text === wanted?.text) return [];
      return [{ id, flaw: stored === undefined ? "missing" : wanted === undefined ? "unexpected" : "different" }];
    });
    return { ...actorsIn(page), flaws };
  }

  async query(name: string, query: RowQuery): Promise<FoundRows | undefined> {
    this.#host.checkOpen();
    const entry = this.#entries.get(name);
    return entry?.state === "complete" ? entry.rows.query(query) : undefined;
  }

  async list(): Promise<readonly StoredIndex[]> {
    this.#host.checkOpen();
    const entries = [...this.#entries.values()].toSorted((one, other) => (one.shape.name < other.shape.name ? -1 : 1));
    return entries.map(({ shape, state, rows }) => ({ ...shape, state, rows: rows.size }));
  }

  async drop(name: string): Promise<boolean> {
    this.#host.checkOpen();
    return this.#entries.delete(name);
  }

  #of(id: ActorId): readonly Entry[] {
    if (this.#entries.size === 0) return [];
    const kind = kindOf(id);
    return [...this.#entries.values()].filter(({ shape }) => shape.kind === kind);
  }

  #entry(name: string): Entry {
    this.#host.checkOpen();
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new StoreError("STORE_CORRUPT", `The store has no index ${name.slice(0, 64)}: declare it first.`);
    return entry;
  }

  #rowIn(id: ActorId, rowOf: RowOf): IndexedRow | undefined {
    const stored = this.#host.load(id);
    return stored === undefined || stored.row.status === "stopped" ? undefined : rowOf(id, stored);
  }

  #page({ shape }: Entry, limit: number, after: ActorId | undefined): { readonly ids: readonly ActorId[]; readonly next?: ActorId } {
    const ids = this.#host
      .list(shape.kind)
      .filter((id) => after === undefined || compareIds(id, after) > 0)
      .slice(0, limit);
    const last = ids.at(-1);
    return ids.length < limit || last === undefined ? { ids } : { ids, next: last };
  }
}

const actorsIn = ({ ids, next }: { readonly ids: readonly ActorId[]; readonly next?: ActorId }): IndexedActors => ({
  actors: ids.length,
  ...(next === undefined ? {} : { next }),
});
