import type { Catalogue, Log, Surface } from "../../../core/contract/index.ts";
import { memoize } from "../../../core/contract/internal.ts";
import { hidesOffers, listed, type Lists } from "../../source/index.ts";
import { type Call, type Method, type Outcome, postureFor } from "../call.ts";
import { Fault } from "../errors.ts";
import { tellMissing } from "../missing.ts";
import type { Pages } from "../pages.ts";

function listing(list: keyof Lists, pages: Pages, log: Log): Method {
  const outcome = (call: Call, surface: Surface): Outcome => {
    const { cursor } = call.params;
    if (cursor !== undefined && cursor !== null && (typeof cursor !== "string" || cursor.length > 256))
      throw new Fault("PARAMS", "A cursor is text this server gave.");
    const posture = postureFor(surface, call.posture);
    const lists = listed(surface, posture);
    const follows = list === "resources" && followsState(surface.catalogue);
    const page = pages.page(list, lists[list], call.revision, typeof cursor === "string" ? cursor : undefined, follows);
    call.onListed?.(lists, list);
    const meta = tellMissing(surface.catalogue, log);
    return {
      members: page,
      lasting: posture === "gated" && meta === undefined && !follows && !hidesOffers(surface),
      ...(meta === undefined ? undefined : { meta }),
    };
  };
  return (call) => {
    const surface = call.source.surface(call.viewer);
    return surface instanceof Promise ? surface.then((one: Surface) => outcome(call, one)) : outcome(call, surface);
  };
}

const followsState = memoize((catalogue: Catalogue): boolean => catalogue.resources.some((offer) => offer.listed));

/** The four lists. Serialised once per list and revision, never per request. */
export function listMethods(pages: Pages, log: Log): Readonly<Record<string, Method>> {
  return {
    "tools/list": listing("tools", pages, log),
    "resources/list": listing("resources", pages, log),
    "resources/templates/list": listing("resourceTemplates", pages, log),
    "prompts/list": listing("prompts", pages, log),
  };
}
