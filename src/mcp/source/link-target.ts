// Owns: which actor a link leads to now, by its argument or its state, and the refusal where there is none. Does not own: whether a caller may
// address an actor (actor-access.ts), the actors that links join (link-graph.ts).
import type { ActorId, Behaviour, Surface } from "../../core/contract/index.ts";
import { choicesMessage, getOwn, isActorId, kindOf } from "../../core/contract/internal.ts";
import { linkedActor, refused, type Refused } from "./actor-access.ts";
import type { Slot } from "./plan.ts";
import type { ViewerRoots } from "./viewers.ts";

/** Where the link to a slot leads now, by the surface of the actor that has it: an actor, why to none, or undefined: nowhere, hidden. */
export function linkTarget(surface: Surface, slot: Slot, roots: ViewerRoots): ActorId | Refused | undefined {
  const { link, by, behaviour } = slot;
  const why = getOwn(surface.linksOff, link);
  if (why !== undefined) return refused("NOT_NOW", why);
  if (by === undefined) {
    const target = getOwn(surface.links, link);
    // A behaviour that is not an actor() may link to what is not an id.
    return isActorId(target) && kindOf(target) === behaviour.kind ? target : undefined;
  }
  const keys = getOwn(surface.linkKeys, link);
  const key = roots.address?.keys.get(by);
  if (keys === undefined || key === undefined) return undefined;
  if (keys !== true && !keys.includes(key)) return refused("INVALID", `Invalid arguments: ${by}: ${choicesMessage(keys)}.`);
  return linkedActor(behaviour, roots.viewer, key, keys !== true) ?? noTarget(slot);
}

/** The refusal of a call through a link without a target. */
export const noTarget = ({ by, behaviour }: Slot): Refused =>
  by === undefined ? refused("NOT_NOW", noActorThere(behaviour)) : refused("NO_ACTOR", `There is no ${behaviour.kind} of this key.`);

export const noActorThere = ({ kind }: Behaviour): string => `There is no ${kind} there now.`;
