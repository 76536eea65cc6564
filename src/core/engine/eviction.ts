import type { Cell } from "./cell.ts";
import type { Registry } from "./registry.ts";

/** Cells made between two looks at the heap. */
const LOOK_EVERY = 256;
/** Beyond this share of the heap, fewer are kept. */
const HEAP_SHARE = 0.6;
/** Kept in any case: below that nothing is won by dropping more. */
const LEAST = 256;
/** For each new cell so many are looked at: enough to make room, and never a whole table. */
const STEPS = 64;

export interface EvictionHost {
  readonly registry: Registry;
  /** Actors in memory. */
  readonly most: number;
  /** Of the heap, 0 to 1; it takes a tenth of a millisecond. */
  readonly usedShare: () => number;
  readonly drop: (cell: Cell) => void;
}

/**
 * Bounds what is in memory of actors on disk, where idle time alone would not. A clock hand goes round, and drops cells that
 * nobody has used since it came by last. Memory actors have nowhere else to be.
 */
export class Eviction {
  readonly #host: EvictionHost;
  #limit: number;
  #hand = 0;
  #made = 0;

  constructor(host: EvictionHost) {
    this.#host = host;
    this.#limit = host.most;
  }

  /** A cell of an actor on disk was made. */
  made(): void {
    this.#made += 1;
    if (this.#made % LOOK_EVERY === 0) this.#look();
    if (this.#host.registry.size > this.#limit) this.#makeRoom();
  }

  #look(): void {
    const { registry, most, usedShare } = this.#host;
    if (usedShare() > HEAP_SHARE) this.#limit = Math.max(Math.min(LEAST, most), Math.floor(Math.min(this.#limit, registry.size) * 0.9));
    else this.#limit = Math.min(most, this.#limit + 2 * LOOK_EVERY);
  }

  #makeRoom(): void {
    const { registry, drop } = this.#host;
    for (let step = 0; step < STEPS && registry.size > this.#limit; step += 1) {
      const cell = registry.slot(this.#hand);
      this.#hand = this.#hand + 1 < registry.slots ? this.#hand + 1 : 0;
      if (cell === undefined || cell.memory || !cell.quiet || cell.loading !== undefined || cell.broken) continue;
      if (cell.used) cell.used = false;
      else drop(cell);
    }
  }
}
