import { keyOf, scopedKey } from "../chain/internal.ts";
import type { ActorId, Change, ChainEvent, ListQuery, Snapshot, Store, Viewer } from "../contract/index.ts";
import { compareIds, kindOf } from "../contract/internal.ts";
import { asked } from "./asked.ts";
import type { Cell } from "./cell.ts";
import type { Cells } from "./cells.ts";
import type { Registry } from "./registry.ts";
import { rawState, storedSnapshot } from "./stored.ts";

const PAGE = 256;

/** What an actor's crashes and failure are, for people. */
export interface Health {
  readonly crashes: readonly number[];
  readonly failure?: string;
}

/** Law 2: questions about actors, answered from what is durable, here or in the store. */
export class Queries {
  readonly #store: Store | undefined;
  readonly #registry: Registry;
  readonly #cells: Cells;

  constructor(store: Store | undefined, registry: Registry, cells: Cells) {
    this.#store = store;
    this.#registry = registry;
    this.#cells = cells;
  }

  async read(id: ActorId): Promise<Snapshot | undefined> {
    return this.readNow(id);
  }

  readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
    const known = this.#registry.get(id);
    if (known !== undefined && known.loading === undefined) {
      known.used = true;
      return known.snapshot();
    }
    keyOf(id);
    if (!this.#cells.serves(kindOf(id))) return this.#readRaw(id);
    const cell = known ?? this.#cells.at(id);
    return cell && loaded(cell);
  }

  queued(id: ActorId): number {
    return this.#registry.get(id)?.waiting ?? 0;
  }

  async #readRaw(id: ActorId): Promise<Snapshot | undefined> {
    const stored = await asked(this.#store?.load(id));
    if (stored === undefined) return undefined;
    return storedSnapshot(id, stored, rawState(stored));
  }

  async list(query: ListQuery): Promise<readonly Change[]> {
    const kept = (await asked(this.#store?.list(query))) ?? [];
    const here = this.#registry.list(query);
    const told = kept.map((change): Change => {
      const cell = this.#registry.get(change.id);
      return cell?.status === "failed" ? { ...change, status: "failed" } : change;
    });
    const seen = new Set(here.map(({ id }) => id));
    return [...told.filter(({ id }) => !seen.has(id)), ...here]
      .toSorted((one, other) => compareIds(one.id, other.id))
      .slice(0, query.limit);
  }

  async count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    return ((await asked(this.#store?.count(query))) ?? 0) + this.#registry.count(query);
  }

  async find(uid: string): Promise<ActorId | undefined> {
    return this.#registry.find(uid) ?? (await asked(this.#store?.find(uid)));
  }

  async event(id: string): Promise<ChainEvent | undefined> {
    return asked(this.#store?.event(id));
  }

  async caused(id: string): Promise<readonly ChainEvent[]> {
    return (await asked(this.#store?.caused(id))) ?? [];
  }

  async keyed(kind: string, viewer: Viewer, key: string): Promise<ActorId | undefined> {
    const claimants = (await asked(this.#store?.claimants(scopedKey(viewer, undefined, key)))) ?? [];
    return claimants.find((id) => kindOf(id) === kind);
  }

  async *history(id: ActorId, afterSeq: number): AsyncGenerator<ChainEvent, void, undefined> {
    keyOf(id);
    const cell = this.#registry.get(id);
    if (cell?.memory) {
      if (cell.last !== undefined && cell.last.seq > afterSeq) yield cell.last.event;
      return;
    }
    for (let after = afterSeq; ; after += PAGE) {
      const page = (await asked(this.#store?.events(id, after, PAGE))) ?? [];
      yield* page;
      if (page.length < PAGE) return;
      // A store that answers at once would let nobody else be served until a long chain is read.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  health(id: ActorId): Health | undefined {
    const cell = this.#registry.get(id);
    return cell && { crashes: cell.crashes, ...(cell.failure === undefined ? {} : { failure: cell.failure.message }) };
  }
}

async function loaded(cell: Cell): Promise<Snapshot | undefined> {
  await cell.loading;
  if (cell.lost) throw cell.lost;
  return cell.snapshot();
}
