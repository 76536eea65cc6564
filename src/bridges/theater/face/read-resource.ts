import type { JsonObject, Viewer } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { StageError } from "../stage.ts";
import { text } from "./arguments.ts";
import { encodeBase64 } from "./base64.ts";
import type { ViewerChannels } from "./channels.ts";
import { eventsJson } from "./event-tools.ts";
import { ACTOR_RESOURCE } from "./listing.ts";
import { actorJson, detailsJson, eventJson, stateText } from "./shown.ts";
import type { ToolContext } from "./tool.ts";

type ResourceReader = (context: ToolContext, args: JsonObject, viewer: Viewer) => Promise<string>;

/** JSON text, never a value: what an actor says must not be taken for content blocks of this server. */
const READERS: Readonly<Record<string, ResourceReader>> = {
  async actors({ stage, limits }) {
    const [actors, total] = await Promise.all([stage.list(limits.listed), stage.count()]);
    return JSON.stringify({ actors: actors.map(actorJson), total: Math.max(total, actors.length) });
  },
  actor: async ({ stage }, args) => JSON.stringify(detailsJson(await stage.actor(text(args, "actor_id")))),
  state: async ({ stage }, args) => stateText(await stage.state(text(args, "actor_id"))),
  events: async (context, args) =>
    JSON.stringify(await eventsJson(context, text(args, "actor_id"), { limit: context.limits.events })),
  earlier: async (context, args) =>
    JSON.stringify(await eventsJson(context, text(args, "actor_id"), { limit: context.limits.events, before: text(args, "before") })),
  async event({ stage }, args) {
    const id = text(args, "event_id");
    const event = await stage.event(id);
    if (event === undefined) throw new StageError("ActorNotFound", `no actor here has the event ${JSON.stringify(id.slice(0, 128))}`);
    return JSON.stringify(eventJson(event));
  },
  channel: async ({ channels }, args, viewer) => channelJson(channels, text(args, "channel_id"), viewer),
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
