import type { JsonObject, Viewer } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { StageError } from "../stage.ts";
import { text } from "./arguments.ts";
import { base64Of } from "./base64.ts";
import type { Channels } from "./channels.ts";
import { eventsShown } from "./event-tools.ts";
import { ENTRY } from "./listing.ts";
import { actorShown, detailsShown, eventShown, stateText } from "./shown.ts";
import type { Backstage } from "./tool.ts";

type Read = (backstage: Backstage, args: JsonObject, viewer: Viewer) => Promise<string>;

/** JSON text, never a value: what an actor says must not be taken for content blocks of this server. */
const READS: Readonly<Record<string, Read>> = {
  async actors({ stage, limits }) {
    const [actors, total] = await Promise.all([stage.list(limits.listed), stage.count()]);
    return JSON.stringify({ actors: actors.map(actorShown), total: Math.max(total, actors.length) });
  },
  actor: async ({ stage }, args) => JSON.stringify(detailsShown(await stage.actor(text(args, "actor_id")))),
  state: async ({ stage }, args) => stateText(await stage.state(text(args, "actor_id"))),
  events: async (backstage, args) =>
    JSON.stringify(await eventsShown(backstage, text(args, "actor_id"), { limit: backstage.limits.events })),
  earlier: async (backstage, args) =>
    JSON.stringify(await eventsShown(backstage, text(args, "actor_id"), { limit: backstage.limits.events, before: text(args, "before") })),
  async event({ stage }, args) {
    const id = text(args, "event_id");
    const event = await stage.event(id);
    if (event === undefined) throw new StageError("ActorNotFound", `no actor here has the event ${JSON.stringify(id.slice(0, 128))}`);
    return JSON.stringify(eventShown(event));
  },
  channel: async ({ channels }, args, viewer) => channelShown(channels, text(args, "channel_id"), viewer),
};

function channelShown(channels: Channels, id: string, viewer: Viewer): string {
  const channel = channels.find(viewer, id);
  if (channel === undefined) throw new StageError("ChannelNotFound", "you have no such channel");
  const { messages, dropped, closed } = channel.peek();
  return JSON.stringify({
    channel_id: id,
    actor_id: channel.actor,
    messages: messages.map(base64Of),
    dropped,
    ...omitUndefined({ closed }),
  });
}

/** Undefined if there is no resource of that name. Throws like a tool. */
export function readResource(backstage: Backstage, name: string, args: JsonObject, viewer: Viewer): Promise<string> | undefined {
  const entry = name.startsWith(ENTRY) ? { actor_id: name.slice(ENTRY.length) } : undefined;
  if (entry !== undefined) return READS["actor"]?.(backstage, entry, viewer);
  return Object.hasOwn(READS, name) ? READS[name]?.(backstage, args, viewer) : undefined;
}
