import type { Offer } from "../../../core/contract/index.ts";
import { ACTORS_URI } from "./shown.ts";

const resourceOffer = (
  name: string,
  where: { readonly uri: string } | { readonly uriTemplate: string },
  title: string,
  description: string,
): Offer =>
  Object.freeze({
    name,
    action: name,
    readOnly: true,
    definition: Object.freeze({ ...where, title, description, mimeType: "application/json" }),
  });

/** `readResource` and `watchResource` find a resource by its `name`. */
export const RESOURCES: readonly Offer[] = [
  resourceOffer("actors", { uri: ACTORS_URI }, "Actors", "List of all running actors in the Theater system"),
  resourceOffer("actor", { uriTemplate: "theater://actor/{actor_id}" }, "Actor", "Detailed information about a specific actor"),
  resourceOffer("state", { uriTemplate: "theater://actor/{actor_id}/state" }, "Actor state", "Current state of a specific actor"),
  resourceOffer(
    "events",
    { uriTemplate: "theater://events/{actor_id}" },
    "Events",
    "Event chain for a specific actor: its last 1,000 events, oldest first",
  ),
  resourceOffer(
    "earlier",
    { uriTemplate: "theater://events/{actor_id}?before={before}" },
    "Earlier events",
    "The same, of what was before the event whose ID is `before`",
  ),
  resourceOffer("event", { uriTemplate: "theater://event/{event_id}" }, "Event", "Specific event by its unique ID"),
  resourceOffer(
    "channel",
    { uriTemplate: "theater://channel/{channel_id}" },
    "Channel",
    "What waits to be received on a channel of yours; reading takes nothing",
  ),
];
