// Owns: a process's copy of the rows of one index. Does not own: when it is read (indexes.ts).
//
// Before each query, each part reports what changed since the version of the copy. So a query reads rows from memory, and is as new as
// the parts were when it started.
import { createHash } from "node:crypto";
import type { FoundRows, IndexedRow, IndexShape, RowQuery, StoredIndex } from "../../core/contract/index.ts";
import { comparePositions, isTexts, MemoryRows, mergedRows, omitUndefined } from "../../core/contract/internal.ts";
import type { Handler } from "./durable-context.ts";
import { isRowPage, isPulled, type RowChange, type ShardHead } from "./index-shard.ts";
import { isObject } from "./handler-inputs.ts";
import { shardOf } from "./map-client.ts";
import type { Names } from "./names.ts";
import { unexpectedAnswer, type GuardedIngress } from "./ingress.ts";

/** Number of parts of an index; rows are spread over them by their actors' keys. */
const SHARDS = 4;
/** Version of the stored rows: a new number rebuilds all indexes. */
const FORMAT = 1;
/** How often the rows may be deleted while they are listed. */
const MAX_TRIES = 16;

export type IndexIngress = Pick<GuardedIngress, "read" | "write">;

/** Identifies the definition that computed the rows. */
export const definitionHash = ({ definition }: Pick<IndexShape, "definition">): string =>
  createHash("sha256")
    .update(JSON.stringify([FORMAT, SHARDS, definition]))
    .digest("hex")
    .slice(0, 32);

export const partOf = (index: string, key: string): string => shardOf(index, SHARDS, key);

export const partsOf = (index: string): readonly string[] => Array.from({ length: SHARDS }, (_, n) => `${index}/${n}`);

export const partHandler = (names: Names, part: string, handler: string): Handler => ({ object: names.index, key: part, handler });

/** A shape in the list of indexes. Undefined if this version does not understand it. */
export function shapeIn(name: string, value: unknown): IndexShape | undefined {
  if (!isObject(value)) return undefined;
  const { kind, fields, order, text, definition } = value;
  if (typeof kind !== "string" || typeof definition !== "string" || !isTexts(fields)) return undefined;
  if ((order !== undefined && typeof order !== "string") || (text !== undefined && !isTexts(text))) return undefined;
  return { name, kind, fields, definition, ...omitUndefined({ order, text }) };
}

/** State of the whole index. Undefined if it is not declared, or with another definition. */
export function stateOf(heads: readonly (ShardHead | undefined)[], definition: string): StoredIndex["state"] | "full" | undefined {
  if (heads.some((head) => head?.definition !== definition)) return undefined;
  const states = new Set(heads.map((head) => head?.state));
  return (["full", "building", "stale"] as const).find((state) => states.has(state)) ?? "complete";
}

/** A row that has changed. */
export interface RowDifference {
  readonly key: string;
  readonly owner: string | undefined;
  readonly before: IndexedRow | undefined;
  readonly after: IndexedRow | undefined;
}

export interface ReplicaOptions {
  readonly shape: IndexShape;
  readonly names: Names;
  readonly ingress: IndexIngress;
  readonly changed?: (differences: readonly RowDifference[]) => void;
}

export class IndexReplica {
  readonly #parts: readonly Part[];
  #running: Promise<readonly (ShardHead | undefined)[]> | undefined;
  #next: Promise<readonly (ShardHead | undefined)[]> | undefined;

  constructor(options: ReplicaOptions) {
    this.#parts = partsOf(options.shape.name).map((part) => new Part(part, options));
  }

  get size(): number {
    return this.#parts.reduce((sum, { rows }) => sum + rows.size, 0);
  }

  /** Updates the rows by reads that start after this call. Concurrent queries share them. */
  fresh(): Promise<readonly (ShardHead | undefined)[]> {
    if (this.#running === undefined) return (this.#running = this.#pull());
    return (this.#next ??= this.#running.then(
      () => this.#again(),
      () => this.#again(),
    ));
  }

  #again(): Promise<readonly (ShardHead | undefined)[]> {
    this.#next = undefined;
    return (this.#running = this.#pull());
  }

  #pull(): Promise<readonly (ShardHead | undefined)[]> {
    const pulling = Promise.all(this.#parts.map((part) => part.pull()));
    const over = (): void => {
      if (this.#next === undefined) this.#running = undefined;
    };
    pulling.then(over, over);
    return pulling;
  }

  query(query: RowQuery): FoundRows {
    const none: FoundRows = { rows: [], ...(query.count ? { count: 0 } : {}) };
    return this.#parts.reduce((found, { rows }) => mergedRows(query, found, rows.query(query)), none);
  }

  get(key: string): IndexedRow | undefined {
    return this.#parts.map(({ rows }) => rows.get(key)).find((row) => row !== undefined);
  }

  keys(): readonly string[] {
    return this.#parts.flatMap(({ rows }) => [...rows.keys()]);
  }

  /** True if it has everything that this part had at that version. */
  has(part: string, { epoch, version }: Pick<ShardHead, "epoch" | "version">): boolean {
    const found = this.#parts.find(({ name }) => name === part);
    return found === undefined || found.epoch !== epoch || found.version >= version;
  }
}

class Part {
  readonly name: string;
  readonly #options: ReplicaOptions;
  rows: MemoryRows;
  epoch = "";
  version = 0;

  constructor(name: string, options: ReplicaOptions) {
    this.name = name;
    this.#options = options;
    this.rows = new MemoryRows(options.shape);
  }

  /** Undefined if the part is not declared. While it is being built, the rows stay as they were. */
  async pull(): Promise<ShardHead | undefined> {
    let wanted: ShardHead | undefined;
    for (let tries = 0; tries < MAX_TRIES;) {
      const answer = await this.#read("pull", { epoch: this.epoch, version: this.version });
      if (answer === null) return undefined;
      if (!isPulled(answer)) throw this.#unexpected();
      const { head, changes, upTo } = answer;
      if (wanted?.epoch !== head.epoch) wanted = head;
      if (head.state === "building" || head.state === "full") return head;
      if (changes === undefined || upTo === undefined) {
        tries += 1;
        await this.#load(head);
        continue;
      }
      this.#apply(changes);
      this.version = upTo;
      if (upTo >= wanted.version) return head;
    }
    throw this.#unexpected();
  }

  #apply(changes: readonly RowChange[]): void {
    const differences: RowDifference[] = [];
    for (const { key, row, owner } of changes) {
      const before = this.rows.get(key);
      const after = row ?? undefined;
      if (isSame(before, after, owner)) continue;
      this.rows.set(key, after, owner);
      differences.push({ key, owner: owner ?? before?.owner, before, after });
    }
    this.#changed(differences);
  }

  /** Loads all rows again. */
  async #load({ epoch, version }: ShardHead): Promise<void> {
    const listed: RowChange[] = [];
    for (let after: string | undefined; ;) {
      const page = await this.#read("list", omitUndefined({ after }));
      if (page === null) return;
      if (!isRowPage(page)) throw this.#unexpected();
      if (page.epoch !== epoch) return;
      listed.push(...page.rows);
      after = page.next;
      if (after === undefined) break;
    }
    const { fields, order } = this.#options.shape;
    const column = order === undefined ? -1 : fields.indexOf(order);
    const positions = listed.map((change) => ({ change, key: change.key, value: change.row?.columns[column] ?? null }));
    // Sorted, they are appended, which costs least.
    positions.sort(comparePositions);
    const rows = new MemoryRows(this.#options.shape);
    for (const { change } of positions) rows.set(change.key, change.row ?? undefined, change.owner);
    const before = this.rows;
    [this.rows, this.epoch, this.version] = [rows, epoch, version];
    const differences: RowDifference[] = [];
    for (const { key, row, owner } of listed)
      if (!isSame(before.get(key), row ?? undefined, owner))
        differences.push({ key, owner, before: before.get(key), after: row ?? undefined });
    for (const key of before.keys())
      if (rows.get(key) === undefined) differences.push({ key, owner: before.get(key)?.owner, before: before.get(key), after: undefined });
    this.#changed(differences);
  }

  #changed(differences: readonly RowDifference[]): void {
    if (differences.length > 0) this.#options.changed?.(differences);
  }

  #read(handler: string, input: unknown): Promise<unknown> {
    return this.#options.ingress.read({ ...partHandler(this.#options.names, this.name, handler), input });
  }

  #unexpected(): Error {
    return unexpectedAnswer({ object: `${this.#options.names.index}/${this.name}` });
  }
}

const isSame = (
  before: (IndexedRow & { readonly owner: string | undefined }) | undefined,
  after: IndexedRow | undefined,
  owner: string | undefined,
): boolean =>
  before === undefined || after === undefined
    ? before === after
    : before.data === after.data && before.text === after.text && before.owner === owner;
