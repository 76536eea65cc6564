// Owns: which actors on disk are dropped from memory: idle ones, and unused ones when there are too many.
// Does not own: whether a cell may be dropped now (`Cell.quiet`).
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import type { Clock } from "../contract/index.ts";
import type { Cell } from "./cell.ts";
import type { CellTable } from "./cells.ts";

/** Cells that expire within the same second share a timer: one for each would cost more than the cells. */
const GRAIN_MS = 1_000;

/** Drops actors that were idle for `idleMs`. Costs nothing per message: a cell that was used meanwhile is checked again later. */
export class Passivation {
  readonly #clock: Clock;
  readonly #drop: (cell: Cell) => void;
  /** A set and not a flag of each cell, since few cells are ever in it. */
  readonly #notStarted = new WeakSet<Cell>();
  readonly #groups = new Map<number, { readonly cells: Cell[]; readonly undo: () => void }>();

  constructor(clock: Clock, drop: (cell: Cell) => void) {
    this.#clock = clock;
    this.#drop = drop;
  }

  add(cell: Cell, at = this.#clock.now() + cell.actor.extra.policy.idleMs): void {
    if (!Number.isFinite(at)) return;
    const place = Math.ceil(at / GRAIN_MS);
    let group = this.#groups.get(place);
    if (group === undefined) {
      const undo = this.#clock.after(Math.max(0, place * GRAIN_MS - this.#clock.now()), () => this.#check(place));
      group = { cells: [], undo };
      this.#groups.set(place, group);
    }
    cell.idlePlace = place;
    cell.idleIndex = group.cells.length;
    group.cells.push(cell);
  }

  /** The cell is checked soon: it may have stopped by then. */
  addBriefly(cell: Cell): void {
    this.add(cell, this.#clock.now());
  }

  /** An actor that could not be started. Added once, however often that fails. */
  addNotStarted(cell: Cell): void {
    if (this.#notStarted.has(cell)) return;
    this.#notStarted.add(cell);
    this.add(cell);
  }

  /** Without this a forgotten cell would be retained until its group is checked. */
  remove(cell: Cell): void {
    const cells = this.#groups.get(cell.idlePlace)?.cells;
    if (cells?.[cell.idleIndex] !== cell) return;
    const last = cells.pop();
    if (last === undefined || last === cell) return;
    cells[cell.idleIndex] = last;
    last.idleIndex = cell.idleIndex;
  }

  close(): void {
    for (const { undo } of this.#groups.values()) undo();
    this.#groups.clear();
  }

  #check(place: number): void {
    const cells = this.#groups.get(place)?.cells ?? [];
    this.#groups.delete(place);
    const now = this.#clock.now();
    for (const cell of cells) {
      const { memory, seq, extra, lastAt, crashedOut } = cell.actor;
      // A memory actor exists only here, unless it failed before it started.
      if (cell.discarded !== undefined || (memory && seq > 0)) continue;
      const { idleMs } = extra.policy;
      const at = lastAt + idleMs;
      if (cell.quiet && at <= now && !crashedOut) this.#drop(cell);
      else this.add(cell, Math.max(at, now + Math.min(idleMs, GRAIN_MS) + 1));
    }
  }
}

/** The heap is measured once per this many new cells. */
const CHECK_EVERY = 256;
/** With fewer cells it is measured more often: their states must be large if they fill the heap. */
const FEW_CELLS = 1_024;
const CHECK_OFTEN = 16;
/** Above this share of the heap, the number of cells is reduced. */
const HEAP_SHARE = 0.6;
/** The limit is never lower. A state of 1 MiB may take 20 MiB in memory, so this is not many. */
const MIN_CELLS = 16;
/** How many cells are examined for each new one: enough to make room, but never the whole table. */
const STEPS = 64;

export interface EvictionHost {
  readonly table: CellTable;
  readonly maxCells: number;
  /** The share of the heap in use, 0 to 1. Takes a tenth of a millisecond. */
  readonly usedShare: () => number;
  readonly drop: (cell: Cell) => void;
}

/**
 * Limits how many actors on disk are in memory, by the CLOCK algorithm: a hand moves around the table and drops cells that were not
 * used since it last passed them. Memory actors exist only here, so they stay.
 */
export class Eviction {
  readonly #host: EvictionHost;
  #limit: number;
  #hand = 0;
  #made = 0;

  constructor(host: EvictionHost) {
    this.#host = host;
    this.#limit = host.maxCells;
  }

  /** A cell of an actor on disk was made. */
  made(): void {
    this.#made += 1;
    const every = this.#host.table.size < FEW_CELLS ? CHECK_OFTEN : CHECK_EVERY;
    if (this.#made % every === 0) this.#setLimit(every);
    if (this.#host.table.size > this.#limit) this.#makeRoom();
  }

  #setLimit(every: number): void {
    const { table, maxCells, usedShare } = this.#host;
    if (usedShare() > HEAP_SHARE)
      this.#limit = Math.max(Math.min(MIN_CELLS, maxCells), Math.floor(Math.min(this.#limit, table.size) * 0.9));
    else this.#limit = Math.min(maxCells, this.#limit + 2 * every);
  }

  #makeRoom(): void {
    const { table, drop } = this.#host;
    for (let step = 0; step < STEPS && table.size > this.#limit; step += 1) {
      const cell = table.slot(this.#hand);
      this.#hand = this.#hand + 1 < table.slots ? this.#hand + 1 : 0;
      if (cell === undefined || cell.actor.memory || !cell.quiet || cell.loading !== undefined || cell.actor.crashedOut) continue;
      if (cell.used) cell.used = false;
      else drop(cell);
    }
  }
}

/** What V8 adds to its limit for the new space by default. */
const NEW_SPACE_BYTES = 192 * 1_048_576;

/** The share of the old-object heap in use, 0 to 1, garbage included. V8 reports neither part alone. */
export const usedHeapShare = (): number => {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  const newSpace = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_used_size ?? 0;
  return (used - newSpace) / Math.max(limit - NEW_SPACE_BYTES, limit / 4);
};
