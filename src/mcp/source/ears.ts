import type { Dirty, OfferRef, Shown } from "../../core/contract/index.ts";
import { Listeners, notify, safeCall } from "../../core/contract/internal.ts";
import type { CastWatch } from "./cast-watch.ts";
import type { Content } from "./content-marks.ts";
import type { Standing } from "./viewers.ts";

/** Whoever listens, as one viewer. What it listens to now is here, and in no table: each call looks for it, and there may be very many. */
export class Ear {
  readonly standing: Standing;
  readonly dirty: Dirty;
  /** Only this offer's content, never the lists. */
  readonly only: OfferRef | undefined;
  /** What that offer's content was when its subscriber could read it last. */
  readonly content: Content | undefined;
  /** It hears of contents: of all, or of that one. */
  readonly contents: boolean;
  watch: CastWatch | undefined;
  /** The look of that watch after which it began to listen. */
  since = 0;

  constructor(standing: Standing, dirty: Dirty, only?: { readonly ref: OfferRef; readonly content: Content }, contents = true) {
    this.standing = standing;
    this.dirty = dirty;
    this.only = only?.ref;
    this.content = only?.content;
    this.contents = only !== undefined || contents;
  }
}

/** Those who listen to one watch: alike in all that it looks at. C8: a flag each, whatever changed how often. */
export class Ears {
  /** Of very many nearly all are here: a change of contents passes none of them. */
  readonly #listsAlone = new Listeners<Ear>();
  #others: Listeners<Ear> | undefined;
  readonly #fault: (error: unknown) => void;

  /** `fault`: what one of them throws, which is nothing to the others nor to the watch. */
  constructor(fault: (error: unknown) => void) {
    this.#fault = fault;
  }

  get none(): boolean {
    return this.#listsAlone.none && this.#others?.none !== false;
  }

  add(ear: Ear, look: number): void {
    ear.since = look;
    if (ear.contents) (this.#others ??= new Listeners()).add(ear);
    else this.#listsAlone.add(ear);
  }

  delete(ear: Ear): void {
    if (ear.contents) this.#others?.delete(ear);
    else this.#listsAlone.delete(ear);
  }

  all(): readonly Ear[] {
    return [...this.#listsAlone.list(), ...(this.#others?.list() ?? [])];
  }

  /** Those who listen to one content. */
  subscribers(): readonly Ear[] {
    return this.#others?.list().filter(({ content }) => content !== undefined) ?? [];
  }

  /** `shown`: what they are shown when they can be told. `since`: only those who began after that look, or with it. */
  flagLists(shown?: Shown, since = -1): void {
    // Both before any is told: who comes of that has seen what there is.
    const [alone, others] = [this.#listsAlone.list(), this.#others?.list()];
    this.#flag(this.#listsAlone, alone, undefined, since, shown);
    if (this.#others !== undefined && others !== undefined) this.#flag(this.#others, others, undefined, since, shown);
  }

  flagContents(refs: readonly OfferRef[], since = -1): void {
    if (this.#others === undefined) return;
    for (const ref of refs) this.#flag(this.#others, this.#others.list(), ref, since, undefined);
  }

  /** All they listen to may be stale. */
  flagAll(): void {
    for (const ear of this.all()) this.#tell(ear, ear.only, undefined);
  }

  #flag(among: Listeners<Ear>, list: readonly Ear[], ref: OfferRef | undefined, since: number, shown: Shown | undefined): void {
    for (const ear of list)
      if (
        among.has(ear, list) &&
        ear.since >= since &&
        (ear.only === undefined || (ear.only === ref && ear.content?.takeChanged() !== false))
      )
        this.#tell(ear, ref, shown);
  }

  #tell({ dirty }: Ear, ref: OfferRef | undefined, shown: Shown | undefined): void {
    if (shown === undefined) notify(dirty, ref, this.#fault);
    else safeCall(() => dirty(ref, shown), this.#fault);
  }
}
