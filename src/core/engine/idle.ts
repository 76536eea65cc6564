import type { Clock } from "../contract/index.ts";
import type { Cell } from "./cell.ts";

/** Cells are looked at in groups this wide in time: a timer for each would cost more than the cells. */
const GRAIN_MS = 1_000;

/**
 * Passivation. Nothing is done per message: when a cell's time has come it is looked
 * at, and put off if it was used meanwhile.
 */
export class Idle {
  readonly #clock: Clock;
  readonly #drop: (cell: Cell) => void;
  /** Not yet begun: few have to be told apart, so the mark is not kept in every cell. */
  readonly #unborn = new WeakSet<Cell>();
  readonly #groups = new Map<number, { readonly cells: Cell[]; readonly undo: () => void }>();

  constructor(clock: Clock, drop: (cell: Cell) => void) {
    this.#clock = clock;
    this.#drop = drop;
  }

  add(cell: Cell, at = this.#clock.now() + cell.extra.policy.idleMs): void {
    if (!Number.isFinite(at)) return;
    const place = Math.ceil(at / GRAIN_MS);
    let group = this.#groups.get(place);
    if (group === undefined) {
      const undo = this.#clock.after(Math.max(0, place * GRAIN_MS - this.#clock.now()), () => this.#look(place));
      group = { cells: [], undo };
      this.#groups.set(place, group);
    }
    cell.idlePlace = place;
    cell.idleIndex = group.cells.length;
    group.cells.push(cell);
  }

  /** Looked at in a moment: it may have ended by then. */
  addBriefly(cell: Cell): void {
    this.add(cell, this.#clock.now());
  }

  /** Once, however often its beginning fails. */
  addUnborn(cell: Cell): void {
    if (this.#unborn.has(cell)) return;
    this.#unborn.add(cell);
    this.add(cell);
  }

  /** A cell that is no longer in use must not be held until its time has come. */
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

  #look(place: number): void {
    const cells = this.#groups.get(place)?.cells ?? [];
    this.#groups.delete(place);
    const now = this.#clock.now();
    for (const cell of cells) {
      // A memory actor has nowhere else to be; one that failed before it began may be forgotten.
      if (cell.forgotten || (cell.memory && cell.seq > 0)) continue;
      const { idleMs } = cell.extra.policy;
      const at = cell.lastAt + idleMs;
      if (cell.quiet && at <= now && !cell.broken) this.#drop(cell);
      else this.add(cell, Math.max(at, now + Math.min(idleMs, GRAIN_MS) + 1));
    }
  }
}
