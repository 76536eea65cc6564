import type { Offer } from "../../../core/contract/index.ts";
import { ACTORS_URI } from "./shown.ts";

const offer = (
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
  offer("actors", { uri: ACTORS_URI }, "Actors", "List of all running actors in the Theater system"),
  offer("actor", { uriTemplate: "theater://actor/{actor_id}" }, "Actor", "Detailed information about a specific actor"),
  offer("state", { uriTemplate: "theater://actor/{actor_id}/state" }, "Actor state", "Current state of a specific actor"),
  offer(
    "events",
    { uriTemplate: "theater://events/{actor_id}" },
    "Events",
    "Event chain for a specific actor: its last 1,000 events, oldest first",
  ),
  offer(
    "earlier",
    { uriTemplate: "theater://events/{actor_id}?before={before}" },
    "Earlier events",
    "The same, of what was before the event whose ID is `before`",
  ),
  offer("event", { uriTemplate: "theater://event/{event_id}" }, "Event", "Specific event by its unique ID"),
  offer(
    "channel",
    { uriTemplate: "theater://channel/{channel_id}" },
    "Channel",
    "What waits to be received on a channel of yours; reading takes nothing",
  ),
];
