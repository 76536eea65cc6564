// Owns: maintaining indexes over the contents of actors: building, queries, notification. Does not own: the rows that a turn changes
// (chain/index-changes.ts), the rows of stored actors (the store), what a row is made of (contract/index-rows.ts).
import { faults, IndexChanges, indexShape, type Plan, stateFrom } from "../chain/internal.ts";
import {
  type ActorId,
  type Behaviour,
  EngineError,
  type FoundRows,
  type Index,
  type IndexChange,
  type IndexedRow,
  type IndexEvent,
  type IndexFlaw,
  type IndexOperations,
  type IndexPage,
  type IndexProgress,
  type IndexQuery,
  type IndexVerdict,
  type RowOf,
  type RowQuery,
  type Store,
  type StoredIndex,
} from "../contract/index.ts";
import { encodedKeyOf, indexPage, Listeners, MemoryRows, mergedRows, notify, principalColumn, rowQuery } from "../contract/internal.ts";
import type { ActorState } from "./actor-state.ts";
import { fromStore, type OnFault } from "./fault-reports.ts";

/** Actors whose rows are computed in one transaction, which blocks the event loop. */
const BUILD_PAGE = 128;
const VERIFY_PAGE = 128;
/** A report of progress after so many actors. */
const REPORT_EVERY = 10_000;
const MAX_FLAWS = 100;
/** How often a query waits for an index that became stale again. */
const MAX_BUILDS = 3;

interface Declared {
  readonly index: Index;
  /** Rows of actors in memory. */
  readonly rows: MemoryRows;
  readonly listeners: Listeners<IndexWatcher>;
  building: Promise<number> | undefined;
}

interface IndexWatcher {
  readonly listener: (event: IndexEvent) => void;
}

interface IndexesHost {
  readonly indexes: readonly Index[];
  readonly kinds: readonly Behaviour[];
  readonly store: Store | undefined;
  /** Another engine has the indexes of these kinds that this one lacks. */
  readonly partial: boolean;
  readonly fault: OnFault;
  readonly onProgress: ((progress: IndexProgress) => void) | undefined;
}

export class Indexes implements IndexOperations {
  readonly #host: IndexesHost;
  readonly #byName = new Map<string, Declared>();
  readonly #changes: IndexChanges;
  /** Kinds with an index that another engine has: their turns make it stale, as those of an engine without indexes do. */
  readonly #others = new Set<string>();
  #isClosed = false;

  /** Throws `NAME_COLLISION`, `UNKNOWN_KIND`, `ENGINE_MISSING`. */
  constructor(host: IndexesHost) {
    this.#host = host;
    this.#changes = new IndexChanges(host.indexes, host.kinds, (error) => host.fault(error, { where: "index" }));
    for (const [name, { index }] of this.#changes.byName) {
      if (host.store !== undefined && host.store.indexes === undefined)
        throw new EngineError("ENGINE_MISSING", `This store has no indexes, so it cannot have ${name}: use a store that has them.`);
      this.#byName.set(name, { index, rows: new MemoryRows(index), listeners: new Listeners(), building: undefined });
    }
  }

  /**
   * Declares the indexes to the store and begins to build the incomplete ones. Deletes those that its kinds no longer have, unless another
   * engine has them.
   */
  async open(): Promise<void> {
    const store = this.#host.store?.indexes;
    if (store === undefined) return;
    const served = new Set(this.#host.kinds.map(({ kind }) => kind));
    for (const { name, kind } of await fromStore(store.list()))
      if (served.has(kind) && !this.#byName.has(name)) {
        if (this.#host.partial) this.#others.add(kind);
        else await store.drop(name).catch((error: unknown) => this.#host.fault(error, { where: "index" }));
      }
    const incomplete: Declared[] = [];
    for (const declared of this.#byName.values())
      if (!(await fromStore(store.declare(indexShape(declared.index))))) incomplete.push(declared);
    for (const declared of incomplete) this.#complete(declared).catch((error: unknown) => this.#host.fault(error, { where: "index" }));
  }

  /** Settles when no build runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#byName.values()].flatMap(({ building }) => building ?? []));
  }

  // ── turns ───────────────────────────────────────────────────────────────────

  /** Whether this engine has all stored indexes of the kind. */
  maintainsAll(kind: string): boolean {
    return !this.#others.has(kind);
  }

  /** What a turn changes, before it is applied. Undefined: the kind has no indexes here. */
  changesOf({ id, kind, state, status }: ActorState, plan: Plan): readonly IndexChange[] | undefined {
    return this.#changes.changesOf(kind.name, { id, state, isAlive: !plan.born && status !== "stopped" }, plan);
  }

  /** A turn of an actor in memory was applied. */
  appliedInMemory({ id, extra }: ActorState, changes: readonly IndexChange[]): void {
    for (const { index, after } of changes) this.#byName.get(index)?.rows.set(encodedKeyOf(id), after, extra.owner);
    this.committed(id, extra.owner, changes);
  }

  /** An operator's event was added to the chain. The rows in the store are computed again by the next query. */
  appended({ id, kind, state, extra }: ActorState, before: Pick<ActorState, "state" | "status">): void {
    if (![...this.#byName.values()].some(({ index, listeners }) => index.kind === kind.name && !listeners.none)) return;
    const was = { id, state: before.state, isAlive: before.status !== "stopped" };
    this.committed(id, extra.owner, this.#changes.changesOf(kind.name, was, { state, stop: undefined }) ?? []);
  }

  /** These changes are durable, or as durable as their actor. */
  committed(id: ActorId, owner: string | undefined, changes: readonly IndexChange[]): void {
    for (const change of changes) {
      const declared = this.#byName.get(change.index);
      if (declared === undefined || declared.listeners.none) continue;
      const { index, listeners } = declared;
      const column = principalColumn(index);
      const event: IndexEvent = {
        id,
        ...(owner === undefined ? {} : { owner }),
        ...(column === undefined ? {} : { principals: principalsIn(change, column) }),
      };
      const list = listeners.list();
      for (const watcher of list)
        if (listeners.has(watcher, list))
          notify(watcher.listener, event, (error) => this.#host.fault(error, { where: "watcher", actor: id }));
    }
  }

  // ── queries ─────────────────────────────────────────────────────────────────

  watch(index: Index, listener: (event: IndexEvent) => void): () => void {
    const { listeners } = this.#declared(index.name);
    const watcher: IndexWatcher = { listener };
    listeners.add(watcher);
    return () => listeners.delete(watcher);
  }

  async query<R extends object>(index: Index<R>, query: IndexQuery<R>): Promise<IndexPage<R>> {
    const declared = this.#declared(index.name);
    const checked = rowQuery(index, query);
    if (query.viewer !== undefined && !this.#changes.isVisible(index, query.viewer))
      return { items: [], ...(checked.count ? { count: 0 } : {}) };
    // One more than the page has, to know whether there is a next one.
    const wider = { ...checked, limit: checked.limit + 1 };
    const stored = await this.#stored(declared, wider);
    const found = declared.rows.size === 0 ? stored : mergedRows(wider, stored, declared.rows.query(wider));
    return indexPage<R>(index, checked, found);
  }

  async #stored(declared: Declared, query: RowQuery): Promise<FoundRows> {
    const { name } = declared.index;
    const store = this.#host.store?.indexes;
    if (store === undefined) return { rows: [], ...(query.count ? { count: 0 } : {}) };
    for (let builds = 0; ; builds += 1) {
      await declared.building;
      const found = await fromStore(store.query(name, query));
      if (found !== undefined) return found;
      if (builds === MAX_BUILDS)
        throw new EngineError(
          "UNAVAILABLE",
          `The index ${name} is written to by something that does not maintain it: query it again later.`,
        );
      await this.#complete(declared);
    }
  }

  #declared(name: string): Declared {
    const declared = this.#byName.get(name);
    if (declared !== undefined) return declared;
    const known = [...this.#byName.keys()].slice(0, 20).join(", ");
    throw new EngineError(
      "UNKNOWN_INDEX",
      `There is no index ${JSON.stringify(name.slice(0, 64))}${known === "" ? "" : `, only ${known}`}: export it from a module that is served, or pass it to the engine.`,
    );
  }

  // ── building ────────────────────────────────────────────────────────────────

  async list(): Promise<readonly StoredIndex[]> {
    return (await fromStore(this.#host.store?.indexes?.list())) ?? [];
  }

  async rebuild(name: string): Promise<number> {
    const declared = this.#declared(name);
    await declared.building;
    return this.#once(declared, () => this.#buildAll(declared));
  }

  async verify(name: string): Promise<IndexVerdict> {
    const declared = this.#declared(name);
    const store = this.#host.store?.indexes;
    await declared.building;
    const flaws: IndexFlaw[] = [];
    let actors = 0;
    let flawed = 0;
    if (store !== undefined)
      for (let after: ActorId | undefined; ;) {
        const page = await fromStore(store.verify(name, this.#rowOf(declared), VERIFY_PAGE, after));
        actors += page.actors;
        flawed += page.flaws.length;
        flaws.push(...page.flaws.slice(0, MAX_FLAWS - flaws.length));
        after = page.next;
        if (after === undefined) break;
        await nextRound();
      }
    return { index: name, actors, flawed, flaws };
  }

  #once(declared: Declared, build: () => Promise<number>): Promise<number> {
    return (declared.building ??= build().finally(() => (declared.building = undefined)));
  }

  /** Only the rows of the actors that made it stale, if that is all. */
  #complete(declared: Declared): Promise<number> {
    return this.#once(declared, async () => ((await this.#repair(declared)) ? 0 : this.#buildAll(declared)));
  }

  async #repair(declared: Declared): Promise<boolean> {
    const store = this.#host.store?.indexes;
    for (;;) {
      const left = await fromStore(store?.repair(declared.index.name, this.#rowOf(declared), BUILD_PAGE));
      if (left === undefined || left === 0) return left === 0;
      await this.#pause();
    }
  }

  async #buildAll(declared: Declared): Promise<number> {
    const { name, kind } = declared.index;
    const { store } = this.#host;
    if (store?.indexes === undefined) return 0;
    const of = await fromStore(store.count({ kind }));
    let actors = 0;
    for (let after: ActorId | undefined; ;) {
      const page = await fromStore(store.indexes.build(name, this.#rowOf(declared), BUILD_PAGE, after));
      const before = actors;
      actors += page.actors;
      after = page.next;
      if (after === undefined) break;
      if (Math.floor(actors / REPORT_EVERY) > Math.floor(before / REPORT_EVERY)) this.#report({ index: name, actors, of, isDone: false });
      await this.#pause();
    }
    if (actors > 0) this.#report({ index: name, actors, of: actors, isDone: true });
    return actors;
  }

  /** Between two pages. The first one is always computed, so that a small index is complete after any command, however short. */
  async #pause(): Promise<void> {
    await nextRound();
    if (this.#isClosed) throw faults.draining();
  }

  #report(progress: IndexProgress): void {
    const { onProgress, fault } = this.#host;
    if (onProgress !== undefined) notify(onProgress, progress, (error) => fault(error, { where: "index" }));
  }

  #rowOf({ index }: Declared): RowOf {
    return (id, { tail }): IndexedRow | undefined => {
      try {
        return this.#changes.rowOf(index.name, id, stateFrom(tail));
      } catch (error) {
        // Its chain cannot be read: neither can the actor.
        this.#changes.reportOnce(index, error);
        return undefined;
      }
    };
  }
}

const principalsIn = ({ before, after }: IndexChange, column: number): readonly string[] =>
  [before?.columns[column], after?.columns[column]].filter((value) => typeof value === "string");

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
