// Owns: queries about actors. Does not own: what it reads (cells.ts, the store).
import { keyOf } from "../chain/internal.ts";
import {
  type ActorId,
  type Change,
  type ChainEvent,
  type Damaged,
  type ListQuery,
  type Row,
  type Snapshot,
  type Store,
} from "../contract/index.ts";
import { checkWholeNumber, wholeLimit, compareIds, EventPages, kindOf } from "../contract/internal.ts";
import { rawState, rowInMemory, storedSnapshot } from "./actor-state.ts";
import type { Cell } from "./cell.ts";
import { damageReporter, fromStore, type OnFault } from "./fault-reports.ts";
import type { CellDirectory, CellTable } from "./cells.ts";

const MOST_EVENTS = 100;

/** An actor's crashes and failure, for people. */
export interface Health {
  readonly crashes: readonly number[];
  readonly failure?: string;
}

/** Law 2: queries are answered from durable state, in this process or in the store. */
export class Queries {
  readonly #store: Store | undefined;
  readonly #table: CellTable;
  readonly #cells: CellDirectory;
  readonly #damaged: Damaged;

  constructor(store: Store | undefined, table: CellTable, cells: CellDirectory, fault: OnFault) {
    this.#damaged = damageReporter(fault, "store");
    this.#store = store;
    this.#table = table;
    this.#cells = cells;
  }

  readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
    const known = this.#table.get(id);
    if (known !== undefined && known.loading === undefined) {
      known.used = true;
      return known.snapshot();
    }
    keyOf(id);
    if (!this.#cells.serves(kindOf(id))) return this.#readRaw(id);
    const cell = known ?? this.#cells.at(id);
    return cell && loaded(cell);
  }

  async #readRaw(id: ActorId): Promise<Snapshot | undefined> {
    const stored = await fromStore(this.#store?.load(id));
    if (stored === undefined) return undefined;
    return storedSnapshot(id, stored, rawState(stored));
  }

  /** Actors whose rows cannot be read are passed over, and reported. */
  async list(given: ListQuery): Promise<readonly Change[]> {
    const query = { ...given, limit: wholeLimit(given.limit) };
    const stored = (await fromStore(this.#store?.list(query, this.#damaged))) ?? [];
    const here = this.#table.list(query);
    const marked = stored.map((change): Change => {
      const cell = this.#table.get(change.id);
      return cell?.actor.status === "failed" ? { ...change, status: "failed" } : change;
    });
    const seen = new Set(here.map(({ id }) => id));
    return [...marked.filter(({ id }) => !seen.has(id)), ...here]
      .toSorted((one, other) => compareIds(one.id, other.id))
      .slice(0, query.limit);
  }

  /** What an actor has beyond its state. Undefined: there is no such actor. */
  async row(id: ActorId): Promise<Row | undefined> {
    const known = this.#table.get(id)?.actor;
    if (known?.memory === true) return known.seq === 0 ? undefined : rowInMemory(known);
    keyOf(id);
    return (await fromStore(this.#store?.load(id)))?.row;
  }

  /** Those that have not stopped. */
  async children(id: ActorId): Promise<readonly ActorId[]> {
    const stored = (await fromStore(this.#store?.children(id))) ?? [];
    return [...new Set([...stored, ...this.#table.children(id)])].toSorted(compareIds);
  }

  async count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    return ((await fromStore(this.#store?.count(query))) ?? 0) + this.#table.count(query);
  }

  async *history(id: ActorId, afterSeq: number): AsyncGenerator<ChainEvent, void, undefined> {
    keyOf(id);
    checkWholeNumber("afterSeq", afterSeq, -Infinity);
    const cell = this.#table.get(id);
    if (cell?.actor.memory) {
      if (cell.actor.last !== undefined && cell.actor.last.seq > afterSeq) yield cell.actor.last.event;
      return;
    }
    const pages = new EventPages(MOST_EVENTS);
    for (let after = afterSeq; ;) {
      const { size } = pages;
      const page = (await fromStore(this.#store?.events(id, after, size))) ?? [];
      yield* page;
      if (page.length < size) return;
      after += size;
      pages.read(page);
      // A store that answers synchronously would block the event loop while a long chain is read.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}

async function loaded(cell: Cell): Promise<Snapshot | undefined> {
  await cell.loaded();
  return cell.snapshot();
}
