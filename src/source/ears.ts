import type { OfferRef, Shown, Source } from "../contract/index.ts";
import { Listeners, tellOf, told } from "../contract/internal.ts";
import type { CastWatch } from "./cast-watch.ts";
import type { Standing } from "./standing.ts";

export type Dirty = Parameters<Source["watch"]>[1];

/** Whoever listens, as one viewer. What it listens to now is here, and in no table: each call looks for it, and there may be very many. */
export class Ear {
  readonly standing: Standing;
  readonly dirty: Dirty;
  /** Only this offer's content, never the lists. */
  readonly only: OfferRef | undefined;
  watch: CastWatch | undefined;
  /** The look of that watch after which it began to listen. */
  since = 0;

  constructor(standing: Standing, dirty: Dirty, only: OfferRef | undefined) {
    this.standing = standing;
    this.dirty = dirty;
    this.only = only;
  }
}

/** Those who listen to one watch: alike in all that it looks at. C8: a flag each, whatever changed how often. */
export class Ears {
  readonly #all = new Listeners<Ear>();
  readonly #fault: (error: unknown) => void;

  /** `fault`: what one of them throws, which is nothing to the others nor to the watch. */
  constructor(fault: (error: unknown) => void) {
    this.#fault = fault;
  }

  get none(): boolean {
    return this.#all.none;
  }

  add(ear: Ear, look: number): void {
    ear.since = look;
    this.#all.add(ear);
  }

  delete(ear: Ear): void {
    this.#all.delete(ear);
  }

  [Symbol.iterator](): Iterator<Ear> {
    return this.#all.list().values();
  }

  /** `shown`: what they are shown when they can be told. `since`: only those who began after that look, or with it. */
  flagLists(shown?: Shown, since = -1): void {
    this.#flag(undefined, since, shown);
  }

  flagContents(refs: readonly OfferRef[], since = -1): void {
    for (const ref of refs) this.#flag(ref, since, undefined);
  }

  /** All they listen to may be stale. */
  flagAll(): void {
    for (const ear of this.#all.list()) this.#tell(ear, ear.only, undefined);
  }

  #flag(ref: OfferRef | undefined, since: number, shown: Shown | undefined): void {
    const list = this.#all.list();
    for (const ear of list)
      if (this.#all.has(ear, list) && ear.since >= since && (ear.only === undefined || ear.only === ref)) this.#tell(ear, ref, shown);
  }

  #tell({ dirty }: Ear, ref: OfferRef | undefined, shown: Shown | undefined): void {
    if (shown === undefined) tellOf(dirty, ref, this.#fault);
    else told(() => dirty(ref, shown), this.#fault);
  }
}
