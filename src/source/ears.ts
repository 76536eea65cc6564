import type { OfferRef } from "../contract/index.ts";
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
    for (const [{ only, dirty }, look] of this.#all) if (only === undefined && look >= since) dirty();
  }

  flagContents(refs: readonly OfferRef[], since = -1): void {
    for (const ref of refs)
      for (const [{ only, dirty }, look] of this.#all) if ((only === undefined || only === ref) && look >= since) dirty(ref);
  }

  /** All they listen to may be stale. */
  flagAll(): void {
    for (const { only, dirty } of this.#all.keys()) dirty(only);
  }
}
