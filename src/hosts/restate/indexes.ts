// Owns: the indexes of one node: queries, watchers, declaring, verifying. Does not own: building (index-builder.ts), row changes
// of turns (index-object.ts).
//
// C2: watchers are notified of rows that have been read back, so the change is durable.
import { indexShape } from "../../core/chain/internal.ts";
import {
  type ActorId,
  EngineError,
  type Index,
  type IndexEvent,
  type IndexFlaw,
  type IndexOperations,
  type IndexPage,
  type IndexQuery,
  type IndexVerdict,
  type Json,
  type Peers,
  type StoredIndex,
} from "../../core/contract/index.ts";
import { encodedKeyOf, indexPage, Listeners, notify, omitUndefined, principalColumn, rowQuery } from "../../core/contract/internal.ts";
import { INDEX_LIST } from "./directory.ts";
import { IndexBuilder, type IndexBuilderHost } from "./index-builder.ts";
import { definitionHash, IndexReplica, partHandler, partsOf, type RowDifference, shapeIn, stateOf } from "./index-replica.ts";
import { isPulled, isShardHead, PUT_ROWS, type ShardHead } from "./index-shard.ts";
import { isObject } from "./handler-inputs.ts";
import { ShardedMap } from "./map-client.ts";
import { wait, retryPauses } from "./ingress.ts";

const TOPIC = "indexed";
/** How long a query waits for an index that is being built. */
const QUERY_WAITS_MS = 30_000;
/** A watched index is read again after this, in case all hints were lost. */
const RESYNC_MS = 15_000;
/** A hint precedes its durable change: the change is requested for this long. */
const HINT_MS = 30_000;
/** Row changes may be in flight: a row that seems wrong is compared again this many times. */
const VERIFY_TRIES = 5;
const VERIFY_PAUSE_MS = 300;
const MAX_FLAWS = 100;

export interface IndexesHost extends IndexBuilderHost {
  /** The kinds of this node. */
  readonly kinds: readonly string[];
}

interface Declared {
  readonly index: Index;
  readonly definition: string;
  readonly replica: IndexReplica;
  readonly listeners: Listeners<{ readonly listener: (event: IndexEvent) => void }>;
  /** The newest hint of each part. */
  readonly wanted: Map<string, Pick<ShardHead, "epoch" | "version">>;
  following: Promise<void> | undefined;
  /** Cancels the one timer that reads it again. */
  undoResync: () => void;
  working: Promise<void> | undefined;
}

export class RestateIndexes implements IndexOperations {
  readonly #host: IndexesHost;
  readonly #byName = new Map<string, Declared>();
  readonly #list: ShardedMap;
  readonly #builder: IndexBuilder;
  readonly #undos: (() => void)[] = [];
  #peers: Peers | undefined;
  #declaring: Promise<void> | undefined;
  #isClosed = false;

  constructor(host: IndexesHost) {
    const { names, ingress, changes } = host;
    this.#host = host;
    this.#builder = new IndexBuilder(host);
    this.#list = new ShardedMap(ingress, names.map, INDEX_LIST.name, INDEX_LIST.shards);
    for (const [name, { index }] of changes.byName) {
      const declared: Declared = {
        index,
        definition: definitionHash(index),
        replica: new IndexReplica({ shape: index, names, ingress, changed: (differences) => this.#changed(declared, differences) }),
        listeners: new Listeners(),
        wanted: new Map(),
        following: undefined,
        undoResync: () => undefined,
        working: undefined,
      };
      this.#byName.set(name, declared);
    }
  }

  /** Declares the indexes as soon as the server knows this node's handlers, and builds those that are incomplete. */
  async open(): Promise<void> {
    for (const pauseMs of retryPauses()) {
      if (this.#isClosed) return;
      try {
        await this.#declare();
        break;
      } catch (error) {
        // No deployment is registered yet, or the server is away.
        if (!(error instanceof EngineError)) return this.#host.fault(error);
      }
      await wait(this.#host.clock, pauseMs);
    }
    for (const declared of this.#byName.values()) await this.#ready(declared).catch((error: unknown) => this.#host.fault(error));
  }

  join(peers: Peers): void {
    this.#peers = peers;
    this.#undos.push(
      peers.on(TOPIC, (hint) => {
        if (isHint(hint)) this.#onHint(hint.part, hint);
        return undefined;
      }),
      peers.onGap(() => this.#resync()),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#builder.close();
    for (const undo of this.#undos.splice(0)) undo();
    for (const { undoResync } of this.#byName.values()) undoResync();
  }

  // ── queries ─────────────────────────────────────────────────────────────────

  async query<R extends object>(index: Index<R>, query: IndexQuery<R> = {}): Promise<IndexPage<R>> {
    const declared = this.#declared(index.name);
    const checked = rowQuery(index, query);
    const isVisible = query.viewer === undefined || this.#host.changes.isVisible(index, query.viewer);
    if (!isVisible) return { items: [], ...(checked.count ? { count: 0 } : {}) };
    await this.#declare();
    await this.#ready(declared);
    // One more than the page needs, to know whether there is a next one.
    return indexPage<R>(index, checked, declared.replica.query({ ...checked, limit: checked.limit + 1 }));
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

  /** Waits until the rows are here, as new as they were when this was called. */
  async #ready(declared: Declared): Promise<void> {
    const { index, definition, replica } = declared;
    const givesUpAt = this.#host.clock.now() + QUERY_WAITS_MS;
    for (const pauseMs of retryPauses()) {
      const heads = await replica.fresh();
      const state = stateOf(heads, definition);
      if (state === "complete") return;
      if (state === undefined)
        throw new EngineError(
          "UNAVAILABLE",
          `The rows of the index ${index.name} are of another definition, which another version of this program has: query it again when the upgrade is over, or run "troupe index rebuild ${index.name}".`,
        );
      if (state === "full")
        throw new EngineError(
          "STORE_FULL",
          `The index ${index.name} holds as much as it can, so rows are missing: pick fewer members or fewer actors, then run "troupe index rebuild ${index.name}".`,
        );
      if (this.#isClosed || this.#host.clock.now() > givesUpAt)
        throw new EngineError("UNAVAILABLE", `The index ${index.name} is being built: query it again later.`);
      declared.working ??= this.#builder.step(declared, heads).finally(() => (declared.working = undefined));
      await declared.working;
      if (stateOf(heads, definition) === "building") await wait(this.#host.clock, pauseMs);
    }
  }

  // ── watching ────────────────────────────────────────────────────────────────

  watch(index: Index, listener: (event: IndexEvent) => void): () => void {
    const declared = this.#declared(index.name);
    const watcher = { listener };
    const isFirst = declared.listeners.none;
    declared.listeners.add(watcher);
    if (isFirst) this.#follow(declared);
    return () => declared.listeners.delete(watcher);
  }

  /** Announces that the part has changed, or is about to change, up to that version. */
  hint(part: string, { epoch, version }: ShardHead): void {
    this.#peers?.tell(TOPIC, { part, epoch, version });
    this.#onHint(part, { epoch, version });
  }

  #onHint(part: string, hint: Pick<ShardHead, "epoch" | "version">): void {
    const declared = this.#byName.get(part.slice(0, part.lastIndexOf("/")));
    if (declared === undefined || declared.listeners.none || this.#isClosed) return;
    declared.wanted.set(part, hint);
    this.#follow(declared);
  }

  #resync(): void {
    for (const declared of this.#byName.values()) if (!declared.listeners.none) this.#follow(declared);
  }

  /** Reads changes until all hinted ones have arrived; and once more after a while, as hints may be lost. */
  #follow(declared: Declared): void {
    declared.following ??= this.#followed(declared)
      .catch((error: unknown) => this.#host.fault(error))
      .finally(() => {
        declared.following = undefined;
        if (this.#isClosed || declared.listeners.none) return;
        if (declared.wanted.size > 0) return this.#follow(declared);
        declared.undoResync();
        declared.undoResync = this.#host.clock.after(RESYNC_MS, () => {
          if (!declared.listeners.none) this.#follow(declared);
        });
      });
  }

  async #followed({ replica, wanted }: Declared): Promise<void> {
    const givesUpAt = this.#host.clock.now() + HINT_MS;
    for (let pauseMs = 4; !this.#isClosed; pauseMs = Math.min(500, pauseMs * 2)) {
      await replica.fresh();
      for (const [part, hint] of wanted) if (replica.has(part, hint)) wanted.delete(part);
      // A hinted change may never become durable: its turn was run again elsewhere.
      if (this.#host.clock.now() > givesUpAt) wanted.clear();
      if (wanted.size === 0) return;
      await wait(this.#host.clock, pauseMs);
    }
  }

  #changed({ index, listeners }: Declared, differences: readonly RowDifference[]): void {
    if (listeners.none) return;
    const column = principalColumn(index);
    for (const { key, owner, before, after } of differences) {
      const id: ActorId = `${index.kind}/${key}`;
      const principals = [before?.columns[column ?? -1], after?.columns[column ?? -1]].filter((value) => typeof value === "string");
      const event: IndexEvent = { id, ...omitUndefined({ owner }), ...(column === undefined ? {} : { principals }) };
      const list = listeners.list();
      for (const watcher of list) if (listeners.has(watcher, list)) notify(watcher.listener, event, (error) => this.#host.fault(error));
    }
  }

  // ── declaring ───────────────────────────────────────────────────────────────

  #declare(): Promise<void> {
    this.#declaring ??= this.#declareAll().catch((error: unknown) => {
      this.#declaring = undefined;
      throw error;
    });
    return this.#declaring;
  }

  /** Also deletes indexes that its kinds no longer have, since no node would maintain them. */
  async #declareAll(): Promise<void> {
    for (const declared of this.#byName.values()) await this.#declareOne(declared, this.#host.entropy.hex(8), false);
    for (const { name, kind } of await listed(this.#list)) {
      if (this.#byName.has(name) || !this.#host.kinds.includes(kind)) continue;
      for (const part of partsOf(name)) await this.#builder.write(part, "drop", {});
      await this.#list.delete(name);
    }
  }

  async #declareOne({ index, definition }: Declared, epoch: string, anew: boolean): Promise<void> {
    const { name, ...shape } = indexShape(index);
    const value: Json = JSON.parse(JSON.stringify(shape));
    // First: a node that deletes unknown indexes must find it.
    await this.#list.put(name, value);
    await Promise.all(
      partsOf(name).map(async (part) => {
        if (!isShardHead(await this.#builder.write(part, "declare", { definition, epoch, anew })))
          throw new TypeError(`${part} was not declared.`);
      }),
    );
  }

  // ── operations ──────────────────────────────────────────────────────────────

  list(): Promise<readonly StoredIndex[]> {
    return storedIndexes(this.#list, this.#host);
  }

  async rebuild(name: string): Promise<number> {
    const declared = this.#declared(name);
    await this.#declare();
    await this.#declareOne(declared, this.#host.entropy.hex(8), true);
    for (;;) {
      try {
        await this.#ready(declared);
        return await this.#host.count(declared.index.kind);
      } catch (error) {
        const isBuilding = error instanceof EngineError && error.code === "UNAVAILABLE" && !this.#isClosed;
        if (!isBuilding || stateOf(await declared.replica.fresh(), declared.definition) !== "building") throw error;
      }
    }
  }

  async verify(name: string): Promise<IndexVerdict> {
    const declared = this.#declared(name);
    const { kind } = declared.index;
    await this.#declare();
    await this.#ready(declared);
    const unseen = new Set(declared.replica.keys());
    const flaws: IndexFlaw[] = [];
    let actors = 0;
    for (let after: ActorId | undefined; ;) {
      const ids = await this.#host.ids(kind, after, PUT_ROWS);
      actors += ids.length;
      flaws.push(...(await this.#flaws(declared, ids)));
      for (const id of ids) unseen.delete(encodedKeyOf(id));
      after = ids.at(-1);
      if (ids.length < PUT_ROWS) break;
    }
    flaws.push(
      ...(await this.#flaws(
        declared,
        [...unseen].map((key): ActorId => `${kind}/${key}`),
      )),
    );
    return { index: name, actors, flawed: flaws.length, flaws: flaws.slice(0, MAX_FLAWS) };
  }

  async #flaws(declared: Declared, ids: readonly ActorId[]): Promise<readonly IndexFlaw[]> {
    let suspects = ids;
    let flaws: readonly IndexFlaw[] = [];
    for (let tries = 0; tries < VERIFY_TRIES && suspects.length > 0; tries += 1) {
      if (tries > 0) await wait(this.#host.clock, VERIFY_PAUSE_MS);
      const wanted = new Map((await this.#builder.rows(declared, suspects)).map(({ key, row }) => [key, row]));
      await declared.replica.fresh();
      flaws = suspects.flatMap((id): readonly IndexFlaw[] => {
        const stored = declared.replica.get(encodedKeyOf(id));
        const row = wanted.get(encodedKeyOf(id)) ?? undefined;
        if (stored?.data === row?.data && stored?.text === row?.text) return [];
        return [{ id, flaw: stored === undefined ? "missing" : row === undefined ? "unexpected" : "different" }];
      });
      suspects = flaws.map(({ id }) => id);
    }
    return flaws;
  }
}

const isHint = (value: unknown): value is { readonly part: string; readonly epoch: string; readonly version: number } =>
  isObject(value) && typeof value["part"] === "string" && typeof value["epoch"] === "string" && typeof value["version"] === "number";

async function listed(list: ShardedMap): Promise<readonly ReturnType<typeof indexShape>[]> {
  const entries = await list.list({ limit: 1_000 });
  return entries.flatMap(([name, value]) => shapeIn(name, value) ?? []);
}

/** All declared indexes. */
export async function storedIndexes(
  list: ShardedMap,
  { names, ingress }: Pick<IndexesHost, "names" | "ingress">,
): Promise<readonly StoredIndex[]> {
  const shapes = await listed(list);
  return Promise.all(
    shapes.map(async (shape): Promise<StoredIndex> => {
      const pulls = partsOf(shape.name).map((part) =>
        // No part has an empty epoch, so no rows are returned.
        ingress.read({ ...partHandler(names, part, "pull"), input: { epoch: "", version: 0 } }),
      );
      const heads = (await Promise.all(pulls)).map((answer) => (isPulled(answer) ? answer.head : undefined));
      const state = stateOf(heads, definitionHash(shape));
      const rows = heads.reduce((sum, head) => sum + (head?.rows ?? 0), 0);
      return { ...shape, state: state === "complete" || state === "stale" ? state : "building", rows };
    }),
  );
}
