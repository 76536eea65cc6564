// Owns: the cells of this process by id, and what a store would know of the actors that live in memory only.
// Does not own: making or loading a cell (directory.ts).
import type { ActorId, Change, Figures, ListQuery } from "../contract/index.ts";
import { compareIds, MultiMap } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import { IdTable } from "./id-table.ts";

export class Registry {
  readonly #cells = new IdTable<Cell>();
  /** Each start by an owner with a limit asks for a count. */
  readonly #owned = new MultiMap<string, Cell>();
  readonly #children = new MultiMap<ActorId, ActorId>();
  /** Made on first use: most processes never look up by uid. */
  #uids: Map<string, ActorId> | undefined;
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#cells.size;
  }

  get slots(): number {
    return this.#cells.places;
  }

  slot(n: number): Cell | undefined {
    return this.#cells.at(n);
  }

  get(id: ActorId): Cell | undefined {
    return this.#cells.get(id);
  }

  all(): IterableIterator<Cell> {
    return this.#cells.values();
  }

  figures(): Pick<Figures, "actors" | "failed"> {
    let failed = 0;
    for (const cell of this.#cells.values()) if (cell.actor.status === "failed") failed += 1;
    return { actors: this.#cells.size, failed };
  }

  add(cell: Cell): void {
    this.#cells.add(cell);
  }

  forget(cell: Cell): void {
    cell.gone ??= true;
    this.#cells.delete(cell);
  }

  /** A memory actor has started. */
  started(cell: Cell): void {
    this.#counts.set(cell.actor.kind.name, (this.#counts.get(cell.actor.kind.name) ?? 0) + 1);
    this.#uids?.set(uidOf(cell), cell.id);
    const { parent, owner } = cell.actor.extra;
    if (owner !== undefined) this.#owned.put(owner, cell);
    if (parent !== undefined) this.#children.put(parent, cell.id);
  }

  /** A memory actor has stopped. */
  stopped(cell: Cell): void {
    this.#counts.set(cell.actor.kind.name, (this.#counts.get(cell.actor.kind.name) ?? 1) - 1);
    this.#uids?.delete(uidOf(cell));
    const { parent, owner } = cell.actor.extra;
    if (owner !== undefined) this.#owned.take(owner, cell);
    if (parent !== undefined) this.#children.take(parent, cell.id);
  }

  children(id: ActorId): readonly ActorId[] {
    return [...(this.#children.get(id) ?? [])];
  }

  find(uid: string): ActorId | undefined {
    if (this.#uids === undefined) {
      this.#uids = new Map();
      for (const cell of this.#cells.values()) if (lives(cell)) this.#uids.set(uidOf(cell), cell.id);
    }
    return this.#uids.get(uid);
  }

  count({ kind, owner }: Omit<ListQuery, "after" | "limit">): number {
    let count = 0;
    if (owner !== undefined) {
      for (const cell of this.#owned.get(owner) ?? []) if (lives(cell) && (kind === undefined || cell.actor.kind.name === kind)) count += 1;
      return count;
    }
    for (const [name, of] of this.#counts) if (kind === undefined || name === kind) count += of;
    return count;
  }

  /** At most `limit`, in order. */
  list({ kind, owner, after, limit }: ListQuery): Change[] {
    let found: Cell[] = [];
    let last: Cell | undefined;
    for (const cell of owner === undefined ? this.#cells.values() : (this.#owned.get(owner) ?? [])) {
      if (!lives(cell) || (kind !== undefined && cell.actor.kind.name !== kind)) continue;
      if (after !== undefined && compareIds(cell.id, after) <= 0) continue;
      if (last !== undefined && compareIds(cell.id, last.id) >= 0) continue;
      found.push(cell);
      // At most twice as many as wanted are held, or listing page by page would sort all cells for each page.
      if (found.length < 2 * limit) continue;
      found = firstOf(found, limit);
      last = found.at(-1);
    }
    return firstOf(found, limit).flatMap((cell) => cell.snapshot() ?? []);
  }
}

const firstOf = (cells: readonly Cell[], limit: number): Cell[] =>
  cells.toSorted((one, other) => compareIds(one.id, other.id)).slice(0, limit);

const lives = ({ actor: { memory, seq, status } }: Cell): boolean => memory && seq > 0 && status !== "stopped";
const uidOf = ({ actor: { extra, life } }: Cell): string => extra.uid ?? life;
