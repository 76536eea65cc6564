import type { OfferRef } from "../contract/index.ts";
import { told } from "../contract/internal.ts";
import type { Standing } from "./standing.ts";

/** Whoever listens, as one viewer. */
export interface Ear {
  readonly standing: Standing;
  readonly dirty: (ref?: OfferRef) => void;
  /** Only this offer's content, never the lists. */
  readonly only: OfferRef | undefined;
}

/** Those who listen to one watch: alike in all that it looks at. C8: a flag each, whatever changed how often. */
export class Ears {
  /** And after which look each began. */
  readonly #all = new Map<Ear, number>();
  readonly #fault: (error: unknown) => void;

  /** `fault`: what one of them throws, which is nothing to the others nor to the watch. */
  constructor(fault: (error: unknown) => void) {
    this.#fault = fault;
  }

  get none(): boolean {
    return this.#all.size === 0;
  }

  add(ear: Ear, look: number): void {
    this.#all.set(ear, look);
  }

  delete(ear: Ear): void {
    this.#all.delete(ear);
  }

  [Symbol.iterator](): Iterator<Ear> {
    return this.#all.keys();
  }

  /** `since`: only those who began after that look, or with it. */
  flagLists(since = -1): void {
    this.#flag((ear, look) => ear.only === undefined && look >= since);
  }

  flagContents(refs: readonly OfferRef[], since = -1): void {
    for (const ref of refs) this.#flag((ear, look) => (ear.only === undefined || ear.only === ref) && look >= since, ref);
  }

  /** All they listen to may be stale. */
  flagAll(): void {
    const there = [...this.#all.keys()];
    for (const ear of there) this.#tell(ear, ear.only);
  }

  #flag(isMeant: (ear: Ear, look: number) => boolean, ref?: OfferRef): void {
    // Those that are there now: one that leaves and comes back whenever it is told would be told for ever. A Map's keys are copied at once, its entries one by one.
    const there = [...this.#all.keys()];
    for (const ear of there) {
      const look = this.#all.get(ear);
      if (look !== undefined && isMeant(ear, look)) this.#tell(ear, ref);
    }
  }

  #tell({ dirty }: Ear, ref: OfferRef | undefined): void {
    told(() => dirty(ref), this.#fault);
  }
}
