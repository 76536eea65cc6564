// Owns: how one part of an index is stored: rows in the pages of an ordered map, and a log of changes for copies. Does not own: its
// handlers (index-object.ts).
//
// A change carries the number of its event, and an actor without a row leaves an entry. So a row that was computed from an older state
// never replaces a newer one, whichever arrives first.
import { type IndexColumn, type IndexedRow, type IndexState, StoreError } from "../../core/contract/index.ts";
import { INDEX_LIMITS, isTexts, omitUndefined } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";
import { COUNT, INDEX, type Entry, PagesDraft, type PageReads, type PageWrites } from "./map-pages.ts";
import { setEntry, PagedReader } from "./paged-map.ts";

/** The row of an actor as of one of its events, or that it has none. */
export interface RowChange {
  /** As encoded in ids. */
  readonly key: string;
  readonly seq: number;
  /** Null if the actor is not in the index. */
  readonly row: IndexedRow | null;
  /** The principal that owns the actor. */
  readonly owner?: string;
}

/** `full`: it cannot store more rows, so some are missing. */
type ShardState = IndexState | "full";

/** A part of an index, as its readers see it. */
export interface ShardHead {
  /** Changes whenever all rows are deleted. */
  readonly epoch: string;
  readonly definition: string;
  readonly state: ShardState;
  /** How many rows changed in this epoch. */
  readonly version: number;
  /** Number of rows. */
  readonly rows: number;
  /** Actors whose rows have to be computed, and as of which event: a node with another definition of the index sent them. */
  readonly stale: Readonly<Record<string, number>>;
}

interface StoredHead extends ShardHead {
  /** Keys of the latest changes, after those in the blocks of the log. */
  readonly recent: readonly string[];
  /** The node that is building it. */
  readonly claim?: { readonly by: string; readonly until: number };
}

export interface Pulled {
  readonly head: ShardHead;
  /** Changes after the requested version. Absent: list all rows. */
  readonly changes?: readonly RowChange[];
  /** The version after these changes. */
  readonly upTo?: number;
}

export interface RowPage {
  readonly epoch: string;
  readonly rows: readonly RowChange[];
  /** The key after which the next page starts. Absent: this was the last. */
  readonly next?: string;
}

const HEAD = "head";
const BLOCK = 32;
/** Older blocks of the log are deleted. */
const BLOCKS = 64;
const PULL_KEYS = 500;
const PULL_BYTES = 1_048_576;
/** With more, all rows are computed again. */
const STALE_KEYS = 500;

const blockName = (block: number): string => `log/${block}`;

// ── writes, one at a time ───────────────────────────────────────────────

/** Deletes all rows if the definition has changed, or if `anew` asks for another epoch. */
export async function declare(
  writes: PageWrites & { clearAll(): void },
  { definition, epoch, anew }: { readonly definition: string; readonly epoch: string; readonly anew: boolean },
): Promise<ShardHead> {
  const known = await readHead(writes);
  if (known !== undefined && known.definition === definition && (!anew || known.epoch === epoch)) return headOf(known);
  writes.clearAll();
  const head: StoredHead = { epoch, definition, state: "building", version: 0, rows: 0, stale: {}, recent: [] };
  writes.set(HEAD, head);
  return headOf(head);
}

/** Returns true if that node may build the index until `until`. */
export async function claim(
  writes: PageWrites,
  { by, now, until }: { readonly by: string; readonly now: number; readonly until: number },
): Promise<boolean> {
  const head = await readHead(writes);
  if (head === undefined || (head.claim !== undefined && head.claim.by !== by && head.claim.until > now)) return false;
  writes.set(HEAD, { ...head, claim: { by, until } });
  return true;
}

/** Applies the change of a turn. Returns the new head if a row changed. */
export async function apply(context: PageWrites, definition: string, change: RowChange): Promise<ShardHead | undefined> {
  const writes = prefetched(context, [HEAD, INDEX, COUNT]);
  const head = await readHead(writes);
  // It is not declared yet, or no longer: the node that declares it computes all rows.
  if (head === undefined) return undefined;
  if (head.definition !== definition) {
    writes.set(HEAD, madeStale(head, change));
    return undefined;
  }
  return put(writes, head, [change], false);
}

/** Stores rows that were computed from states. Undefined if the index was declared again meanwhile. */
export async function putAll(writes: PageWrites, epoch: string, changes: readonly RowChange[]): Promise<ShardHead | undefined> {
  const head = await readHead(writes);
  if (head?.epoch !== epoch) return undefined;
  return (await put(writes, head, changes, true)) ?? headOf(head);
}

/** All rows have been computed. */
export async function complete(writes: PageWrites, epoch: string): Promise<void> {
  const head = await readHead(writes);
  if (head?.epoch !== epoch || head.state !== "building") return;
  const { claim: _, ...rest } = head;
  writes.set(HEAD, { ...rest, state: stateOf(head.stale) } satisfies StoredHead);
}

async function put(
  writes: PageWrites,
  head: StoredHead,
  changes: readonly RowChange[],
  isComputed: boolean,
): Promise<ShardHead | undefined> {
  const draft = await PagesDraft.of(writes);
  const changed: string[] = [];
  const stale = { ...head.stale };
  let { rows } = head;
  for (const change of changes) {
    const { key, seq } = change;
    if ((stale[key] ?? Infinity) <= seq) delete stale[key];
    const known = await draft.find(key);
    const before = known && changeIn(known);
    if (before !== undefined && (before.seq > seq || (before.seq === seq && !isComputed))) continue;
    const entry = entryOf(change);
    if (before !== undefined && JSON.stringify(entry[1]) === JSON.stringify(known?.[1])) continue;
    await setEntry(draft, entry);
    const had = (before?.row ?? null) !== null;
    if (had || change.row !== null) changed.push(key);
    rows += (change.row === null ? 0 : 1) - (had ? 1 : 0);
  }
  try {
    draft.save();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "STORE_FULL") throw error;
    writes.set(HEAD, { ...head, state: "full" } satisfies StoredHead);
    return undefined;
  }
  const isRepaired = head.state === "stale" && Object.keys(stale).length === 0;
  const next: StoredHead = { ...head, rows, stale, state: isRepaired ? "complete" : head.state };
  // Last: a reader of this version finds its rows.
  if (changed.length > 0 || JSON.stringify(stale) !== JSON.stringify(head.stale)) writes.set(HEAD, logged(writes, next, changed));
  return changed.length === 0 ? undefined : headOf({ ...next, version: head.version + changed.length });
}

function logged(writes: PageWrites, head: StoredHead, keys: readonly string[]): StoredHead {
  let { version, recent } = head;
  for (const key of keys) {
    version += 1;
    recent = [...recent, key];
    if (recent.length < BLOCK) continue;
    const block = version / BLOCK - 1;
    writes.set(blockName(block), recent);
    if (block >= BLOCKS) writes.clear(blockName(block - BLOCKS));
    recent = [];
  }
  return { ...head, version, recent };
}

function madeStale(head: StoredHead, { key, seq }: RowChange): StoredHead {
  if (head.state === "full") return head;
  const stale = { ...head.stale, [key]: Math.max(seq, head.stale[key] ?? 0) };
  if (Object.keys(stale).length > STALE_KEYS) return { ...head, state: "building", stale: {} };
  return { ...head, stale, state: head.state === "building" ? "building" : "stale" };
}

const stateOf = (stale: ShardHead["stale"]): ShardState => (Object.keys(stale).length === 0 ? "complete" : "stale");

// ── reads, concurrent with writes ─────────────────────────────────────────────

/** Changes since that version. Undefined if the index is not declared. */
export async function pull(
  reads: PageReads,
  { epoch, version }: { readonly epoch: string; readonly version: number },
): Promise<Pulled | undefined> {
  const stored = await readHead(reads);
  if (stored === undefined) return undefined;
  const head = headOf(stored);
  if (head.epoch !== epoch || version > head.version) return { head };
  const keys = await changedSince(reads, stored, version);
  if (keys === undefined) return { head };
  const rows = new PagedReader(cached(reads));
  const changes = new Map<string, RowChange>();
  let bytes = 0;
  let upTo = version;
  for (const key of keys) {
    if (changes.size >= PULL_KEYS || bytes > PULL_BYTES) break;
    upTo += 1;
    if (changes.has(key)) continue;
    const value = await rows.get(key);
    if (value === undefined) continue;
    bytes += JSON.stringify(value).length;
    changes.set(key, changeIn([key, value]));
  }
  return { head, changes: [...changes.values()], upTo };
}

/** Undefined if the log does not reach back that far. */
async function changedSince(reads: PageReads, { version, recent }: StoredHead, since: number): Promise<readonly string[] | undefined> {
  const keys: string[] = [];
  const end = version - recent.length;
  for (let block = Math.floor(since / BLOCK); block < end / BLOCK; block += 1) {
    const logs: unknown = await reads.get(blockName(block));
    if (!isTexts(logs)) return undefined;
    keys.push(...logs.slice(Math.max(0, since - block * BLOCK)));
  }
  keys.push(...recent.slice(Math.max(0, since - end)));
  return keys;
}

/** A page of rows, in the order of keys. Undefined if the index is not declared. */
export async function list(reads: PageReads, after: string | undefined): Promise<RowPage | undefined> {
  const head = await readHead(reads);
  if (head === undefined) return undefined;
  const { entries, more } = await new PagedReader(cached(reads)).list({ limit: 1_000, ...omitUndefined({ after }) });
  const next = more ? entries.at(-1)?.[0] : undefined;
  return { epoch: head.epoch, rows: entries.map(changeIn).filter(({ row }) => row !== null), ...omitUndefined({ next }) };
}

/** Starts all of these reads at once, since each answer goes through the server's log. They are awaited one after the other. */
function prefetched(writes: PageWrites, names: readonly string[]): PageWrites {
  const begun = new Map(names.map((name) => [name, writes.get(name)]));
  return {
    get: (name) => begun.get(name) ?? writes.get(name),
    set: (name, value) => writes.set(name, value),
    clear: (name) => writes.clear(name),
  };
}

/** Reads each page once, however many of its rows are requested. */
function cached(reads: PageReads): PageReads {
  const known = new Map<string, unknown>();
  return {
    async get(name) {
      if (!known.has(name)) known.set(name, await reads.get(name));
      return known.get(name);
    },
  };
}

// ── stored form ─────────────────────────────────────────────────────────

function entryOf({ key, seq, row, owner }: RowChange): Entry {
  const stored = row === null ? {} : { data: row.data, columns: [...row.columns], ...omitUndefined({ text: row.text }) };
  return [key, { seq, ...stored, ...omitUndefined({ owner }) }];
}

function changeIn([key, value]: Entry): RowChange {
  if (!isObject(value)) throw damaged();
  const { seq, data, columns, text, owner } = value;
  const row = data === undefined ? null : { data, columns, ...omitUndefined({ text }) };
  const change = { key, seq, row, ...omitUndefined({ owner }) };
  if (!isRowChange(change)) throw damaged();
  return change;
}

const damaged = (): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    'An index on the Restate server is damaged: let nothing else write to it, and run "troupe index rebuild".',
  );

async function readHead(reads: PageReads): Promise<StoredHead | undefined> {
  const value = await reads.get(HEAD);
  if (value === null || value === undefined) return undefined;
  if (!isStoredHead(value)) throw damaged();
  return value;
}

const headOf = ({ epoch, definition, state, version, rows, stale }: StoredHead): ShardHead => ({
  epoch,
  definition,
  state,
  version,
  rows,
  stale,
});

const STATES: ReadonlySet<unknown> = new Set<ShardState>(["complete", "building", "stale", "full"]);

export const isShardHead = (value: unknown): value is ShardHead =>
  isObject(value) &&
  typeof value["epoch"] === "string" &&
  typeof value["definition"] === "string" &&
  STATES.has(value["state"]) &&
  typeof value["version"] === "number" &&
  typeof value["rows"] === "number" &&
  isObject(value["stale"]) &&
  Object.values(value["stale"]).every((seq) => typeof seq === "number");

function isStoredHead(value: unknown): value is StoredHead {
  if (!isObject(value)) return false;
  const { recent, claim: claimed } = value;
  const isClaim = isObject(claimed) && typeof claimed["by"] === "string" && typeof claimed["until"] === "number";
  return isShardHead(value) && isTexts(recent) && (claimed === undefined || isClaim);
}

const isColumn = (value: unknown): value is IndexColumn => value === null || typeof value === "string" || typeof value === "number";

const isRow = (value: unknown): value is IndexedRow =>
  isObject(value) &&
  typeof value["data"] === "string" &&
  Array.isArray(value["columns"]) &&
  value["columns"].length <= INDEX_LIMITS.fields &&
  value["columns"].every(isColumn) &&
  (value["text"] === undefined || typeof value["text"] === "string");

export const isRowChange = (value: unknown): value is RowChange =>
  isObject(value) &&
  typeof value["key"] === "string" &&
  value["key"] !== "" &&
  typeof value["seq"] === "number" &&
  (value["row"] === null || isRow(value["row"])) &&
  (value["owner"] === undefined || typeof value["owner"] === "string");

const areRowChanges = (value: unknown): value is readonly RowChange[] => Array.isArray(value) && value.every(isRowChange);

export const isPulled = (value: unknown): value is Pulled =>
  isObject(value) &&
  isShardHead(value["head"]) &&
  (value["changes"] === undefined || (areRowChanges(value["changes"]) && typeof value["upTo"] === "number"));

export const isRowPage = (value: unknown): value is RowPage =>
  isObject(value) &&
  typeof value["epoch"] === "string" &&
  areRowChanges(value["rows"]) &&
  (value["next"] === undefined || typeof value["next"] === "string");

/** Maximum number of rows in one `put`. */
export const PUT_ROWS = 128;

export const isPut = (value: unknown): value is { readonly epoch: string; readonly changes: readonly RowChange[] } =>
  isObject(value) && typeof value["epoch"] === "string" && areRowChanges(value["changes"]) && value["changes"].length <= PUT_ROWS;
