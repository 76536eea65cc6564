import type { ActorId, Catalogue, OfferRef } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import { type Closure, offNow } from "./closure.ts";
import type { Way } from "./plan.ts";
import { sameState, type Sight } from "./sight.ts";

/** The resources whose content, or whose actor, is another than before. `isTold`: that state has been told of already. */
export function changedContents(before: Closure, now: Closure, isTold: (sight: Sight) => boolean): readonly OfferRef[] {
  return [...new Set([...contents(before), ...contents(now)])].filter((ref) => {
    const [was, is] = [shownBy(before, ref)?.sight, shownBy(now, ref)?.sight];
    if (was === undefined || is === undefined) return was !== is;
    return was.id !== is.id || !(sameState(was, is) || isTold(is));
  });
}

/** The resources that show one of these actors. */
export function contentsOf(closure: Closure, isMeant: (id: ActorId) => boolean): readonly OfferRef[] {
  return contents(closure).filter((ref) => {
    const id = shownBy(closure, ref)?.sight.id;
    return id !== undefined && isMeant(id);
  });
}

function contents(closure: Closure): readonly OfferRef[] {
  return closure.surface.catalogue.resources.map((offer): OfferRef => `resources/${offer.name}`);
}

/** The resources that show certain members of a state alone, where they are on. */
export function readersIn(closure: Closure): ReadonlyMap<OfferRef, Reader> {
  const readers = new Map<OfferRef, Reader>();
  for (const ref of readersOf(closure.surface.catalogue)) {
    const shown = shownBy(closure, ref);
    if (shown?.reads !== undefined) readers.set(ref, { sight: shown.sight, reads: shown.reads });
  }
  return readers;
}

export interface Reader {
  readonly sight: Sight;
  readonly reads: readonly string[];
}

// Most catalogues have none, and each look asks.
const readersOf = memoize((catalogue: Catalogue): readonly OfferRef[] =>
  catalogue.resources.flatMap(({ name, reads }): readonly OfferRef[] => (reads === undefined ? [] : [`resources/${name}`])),
);

interface ShownResource {
  readonly sight: Sight;
  readonly way: Way;
  readonly reads: readonly string[] | undefined;
}

/** What of which actor a resource shows; undefined where it is off. */
export function shownBy(closure: Closure, ref: OfferRef): ShownResource | undefined {
  for (const way of closure.offers.get(ref)?.ways ?? []) {
    const sight = closure.at.get(way.place);
    if (sight !== undefined) return offNow(sight.surface, way.inner) === undefined ? { sight, way, reads: way.offer.reads } : undefined;
  }
  return undefined;
}
