// Owns: the resources, and how they are read. Does not own: how they are watched (watch-resource.ts).
import type { JsonObject, Offer, Viewer } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { StageError } from "../stage.ts";
import { actorJson, ACTORS_URI, detailsJson, eventJson, stateText } from "./actor-json.ts";
import { ACTOR_RESOURCE } from "./actor-listing.ts";
import { encodeBase64, requiredText } from "./arguments.ts";
import { eventsJson } from "./event-tools.ts";
import type { ToolContext } from "./tool.ts";
import type { ViewerChannels } from "./viewer-channels.ts";

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
  resourceOffer("events", { uriTemplate: "theater://events/{actor_id}" }, "Events", "Event chain for a specific actor"),
  resourceOffer(
    "earlier",
    { uriTemplate: "theater://events/{actor_id}?before={before}" },
    "Earlier events",
    "Event chain for a specific actor, before the event whose ID is `before`",
  ),
  resourceOffer("event", { uriTemplate: "theater://event/{event_id}" }, "Event", "Specific event by its unique ID"),
  resourceOffer(
    "channel",
    { uriTemplate: "theater://channel/{channel_id}" },
    "Channel",
    "What waits to be received on a channel of yours; reading takes nothing",
  ),
];

type ResourceReader = (context: ToolContext, args: JsonObject, viewer: Viewer) => Promise<string>;

/** JSON text, never a value: what an actor says must not be taken for content blocks of this server. */
const READERS: Readonly<Record<string, ResourceReader>> = {
  async actors({ stage, limits }) {
    const [actors, total] = await Promise.all([stage.list(limits.listed), stage.count()]);
    return JSON.stringify({ actors: actors.map(actorJson), total: Math.max(total, actors.length) });
  },
  actor: async ({ stage }, args) => JSON.stringify(detailsJson(await stage.actor(requiredText(args, "actor_id")))),
  state: async ({ stage }, args) => stateText(await stage.state(requiredText(args, "actor_id"))),
  events: async (context, args) =>
    JSON.stringify(await eventsJson(context, requiredText(args, "actor_id"), { limit: context.limits.events })),
  earlier: async (context, args) =>
    JSON.stringify(
      await eventsJson(context, requiredText(args, "actor_id"), { limit: context.limits.events, before: requiredText(args, "before") }),
    ),
  async event({ stage }, args) {
    const id = requiredText(args, "event_id");
    const event = await stage.event(id);
    if (event === undefined) throw new StageError("ActorNotFound", `no actor here has the event ${JSON.stringify(id.slice(0, 128))}`);
    return JSON.stringify(eventJson(event));
  },
  channel: async ({ channels }, args, viewer) => channelJson(channels, requiredText(args, "channel_id"), viewer),
};

function channelJson(channels: ViewerChannels, id: string, viewer: Viewer): string {
  const channel = channels.find(viewer, id);
  if (channel === undefined) throw new StageError("ChannelNotFound", "you have no such channel");
  const { messages, dropped, closed } = channel.peek();
  return JSON.stringify({
    channel_id: id,
    actor_id: channel.actor,
    messages: messages.map(encodeBase64),
    dropped,
    ...omitUndefined({ closed }),
  });
}

/** Undefined if there is no resource of that name. Throws like a tool. */
export function readResource(context: ToolContext, name: string, args: JsonObject, viewer: Viewer): Promise<string> | undefined {
  const actorArgs = name.startsWith(ACTOR_RESOURCE) ? { actor_id: name.slice(ACTOR_RESOURCE.length) } : undefined;
  if (actorArgs !== undefined) return READERS["actor"]?.(context, actorArgs, viewer);
  return Object.hasOwn(READERS, name) ? READERS[name]?.(context, args, viewer) : undefined;
}
