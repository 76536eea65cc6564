import type { ActorId, OfferRef } from "../contract/index.ts";
import { type Closure, offNow } from "./closure.ts";
import { sameState, type Sight } from "./sight.ts";

/** The resources whose content, or whose actor, is another than before. `isTold`: that state has been told of already. */
export function changedContents(before: Closure, now: Closure, isTold: (sight: Sight) => boolean): readonly OfferRef[] {
  return [...new Set([...contents(before), ...contents(now)])].filter((ref) => {
    const [was, is] = [shownBy(before, ref), shownBy(now, ref)];
    if (was === undefined || is === undefined) return was !== is;
    return was.id !== is.id || !(sameState(was, is) || isTold(is));
  });
}

/** The resources that show one of these actors. */
export function contentsOf(closure: Closure, isMeant: (id: ActorId) => boolean): readonly OfferRef[] {
  return contents(closure).filter((ref) => {
    const id = shownBy(closure, ref)?.id;
    return id !== undefined && isMeant(id);
  });
}

function contents(closure: Closure): readonly OfferRef[] {
  return closure.surface.catalogue.resources.map((offer): OfferRef => `resources/${offer.name}`);
}

/** What of which actor a resource shows; undefined where it is off. */
function shownBy(closure: Closure, ref: OfferRef): Sight | undefined {
  for (const { place, inner } of closure.offers.get(ref)?.ways ?? []) {
    const sight = closure.at.get(place);
    if (sight !== undefined) return offNow(sight.surface, inner) === undefined ? sight : undefined;
  }
  return undefined;
}
