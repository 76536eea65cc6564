// Owns: computing the rows of an index from the states of its actors, by one node at a time. Does not own: when that happens
// (indexes.ts), how a part stores rows (index-shard.ts).
import type { IndexChanges } from "../../core/chain/internal.ts";
import type { ActorId, Clock, Entropy, Index, IndexProgress, Json, Snapshot } from "../../core/contract/index.ts";
import { encodedKeyOf, notify, omitUndefined } from "../../core/contract/internal.ts";
import { type IndexIngress, partHandler, partOf, partsOf, stateOf } from "./index-replica.ts";
import { PUT_ROWS, type RowChange, type ShardHead } from "./index-shard.ts";
import type { Names } from "./names.ts";

/** Actors that are read at once. */
const CONCURRENCY = 16;
/** Of JSON in one `put`. */
const PUT_BYTES = 1_048_576;
/** A node that builds an index renews its claim more often than that. When the claim expires, another node takes over. */
const CLAIM_MS = 15_000;
const REPORT_EVERY = 10_000;

export interface IndexBuilderHost {
  readonly names: Names;
  readonly ingress: IndexIngress;
  readonly changes: IndexChanges;
  readonly clock: Clock;
  readonly entropy: Entropy;
  read(id: ActorId): Promise<Snapshot | undefined>;
  /** In order, including those that have stopped. */
  ids(kind: string, after: ActorId | undefined, limit: number): Promise<readonly ActorId[]>;
  count(kind: string): Promise<number>;
  fault(error: unknown): void;
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

interface BuiltIndex {
  readonly index: Index;
  readonly definition: string;
}

export class IndexBuilder {
  readonly #host: IndexBuilderHost;
  /** The name under which it claims a build. */
  #node: string | undefined;
  #isClosed = false;

  constructor(host: IndexBuilderHost) {
    this.#host = host;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** One step towards complete rows, if no other node is building them. */
  async step(built: BuiltIndex, heads: readonly (ShardHead | undefined)[]): Promise<void> {
    const { index, definition } = built;
    if (stateOf(heads, definition) === "building") {
      if (await this.#claims(built)) await this.#build(built, heads);
      return;
    }
    const keys = heads.flatMap((head) => Object.keys(head?.stale ?? {}));
    await this.#put(
      built,
      heads,
      await this.rows(
        built,
        keys.map((key): ActorId => `${index.kind}/${key}`),
      ),
    );
  }

  async #claims({ index }: BuiltIndex): Promise<boolean> {
    const now = this.#host.clock.now();
    this.#node ??= this.#host.entropy.hex(8);
    const [first = ""] = partsOf(index.name);
    return (await this.write(first, "claim", { by: this.#node, now, until: now + CLAIM_MS })) === true;
  }

  async #build(built: BuiltIndex, heads: readonly (ShardHead | undefined)[]): Promise<void> {
    const { name, kind } = built.index;
    const of = await this.#host.count(kind);
    let actors = 0;
    for (let after: ActorId | undefined; ;) {
      const ids = await this.#host.ids(kind, after, PUT_ROWS);
      const isStillMine = await this.#put(built, heads, await this.rows(built, ids));
      if (!isStillMine || this.#isClosed) return;
      const before = actors;
      actors += ids.length;
      after = ids.at(-1);
      if (ids.length < PUT_ROWS) break;
      if (Math.floor(actors / REPORT_EVERY) > Math.floor(before / REPORT_EVERY)) this.#report({ index: name, actors, of, isDone: false });
      if (!(await this.#claims(built))) return;
    }
    for (const [n, part] of partsOf(name).entries()) await this.write(part, "complete", { epoch: heads[n]?.epoch ?? "" });
    if (actors > 0) this.#report({ index: name, actors, of: actors, isDone: true });
  }

  /** Computed from states, whichever version of the kind wrote them. */
  async rows({ index }: BuiltIndex, ids: readonly ActorId[]): Promise<readonly RowChange[]> {
    const rows: RowChange[] = [];
    for (let at = 0; at < ids.length; at += CONCURRENCY) {
      const some = ids.slice(at, at + CONCURRENCY);
      const found = await Promise.all(some.map((id) => this.#host.read(id)));
      for (const snapshot of found) if (snapshot !== undefined) rows.push(this.#rowOf(index, snapshot));
    }
    return rows;
  }

  #rowOf({ name }: Index, { id, seq, status, state, version, owner }: Snapshot): RowChange {
    const row = status === "stopped" ? undefined : this.#host.changes.rowOf(name, id, { state, version });
    return { key: encodedKeyOf(id), seq, row: row ?? null, ...omitUndefined({ owner }) };
  }

  /** False if the index was declared again meanwhile. */
  async #put({ index: { name } }: BuiltIndex, heads: readonly (ShardHead | undefined)[], rows: readonly RowChange[]): Promise<boolean> {
    const parts = partsOf(name);
    for (const [part, changes] of Map.groupBy(rows, ({ key }) => partOf(name, key)))
      for (const some of inPieces(changes)) {
        const epoch = heads[parts.indexOf(part)]?.epoch ?? "";
        if ((await this.write(part, "put", { epoch, changes: some })) === null) return false;
      }
    return true;
  }

  #report(progress: IndexProgress): void {
    const { onProgress } = this.#host;
    if (onProgress !== undefined) notify(onProgress, progress, (error) => this.#host.fault(error));
  }

  write(part: string, handler: string, input: Json | object): Promise<unknown> {
    return this.#host.ingress.write({ ...partHandler(this.#host.names, part, handler), input });
  }
}

function inPieces(changes: readonly RowChange[]): readonly (readonly RowChange[])[] {
  const pieces: RowChange[][] = [];
  let left = 0;
  for (const change of changes) {
    const size = JSON.stringify(change).length;
    if (left < size) {
      pieces.push([]);
      left = Math.max(size, PUT_BYTES);
    }
    pieces.at(-1)?.push(change);
    left -= size;
  }
  return pieces;
}
