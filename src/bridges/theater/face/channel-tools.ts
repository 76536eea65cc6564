import { StageError } from "../stage.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { bytes, optionalBytes, text, whole } from "./arguments.ts";
import { base64Of } from "./base64.ts";
import type { Channel } from "./channel.ts";
import { integer, object, string, SUCCESS } from "./schemas.ts";
import { idOf } from "./subject.ts";
import { ADDS, ENDS, faceTool, SPEAKS, TAKES } from "./tool.ts";

const SENT = object({ success: SUCCESS, channel_id: string("ID of the channel") }, ["success", "channel_id"]);
const NOTHING = new Uint8Array();
const LONGEST_MS = 60_000;

const openChannel = faceTool(
  "open_channel",
  {
    title: "Open channel",
    description: "Open a communication channel to an actor",
    input: object(
      {
        actor_id: string("ID of the actor to open a channel with"),
        initial_message: string("Initial message data (base64 encoded)"),
      },
      ["actor_id"],
    ),
    output: object(
      {
        channel_id: string("ID of the channel"),
        actor_id: string("ID of the actor"),
        message: string("What the actor said on accepting it (base64 encoded)"),
      },
      ["channel_id", "actor_id"],
    ),
    annotations: { ...SPEAKS, destructiveHint: ADDS["destructiveHint"] ?? false },
  },
  async ({ stage, limits, channels }, args, { viewer, signal }) => {
    const initial = optionalBytes(args, "initial_message", limits.messageBytes) ?? NOTHING;
    const actor = await idOf(stage, text(args, "actor_id"));
    const { id, greeting } = await channels.open(viewer, actor, initial, signal);
    return { channel_id: id, actor_id: actor, ...(greeting === undefined ? {} : { message: base64Of(greeting) }) };
  },
);

function refuseEnded(id: string, { ended }: Channel): void {
  if (ended !== undefined) throw new StageError("ChannelClosed", `the channel ${id} has ended: ${ended}`);
}

const sendOnChannel = faceTool(
  "send_on_channel",
  {
    title: "Send on channel",
    description: "Send a message on an open channel",
    input: object({ channel_id: string("ID of the channel"), message: string("Message data (base64 encoded)") }, ["channel_id", "message"]),
    output: SENT,
    annotations: SPEAKS,
  },
  async ({ limits, channels }, args, { viewer }) => {
    const message = bytes(args, "message", limits.messageBytes);
    const id = text(args, "channel_id");
    const channel = channels.called(viewer, id);
    refuseEnded(id, channel);
    await channel.stage.send(message);
    return { success: true, channel_id: id };
  },
);

const closeChannel = faceTool(
  "close_channel",
  {
    title: "Close channel",
    description: "Close an open channel",
    input: object({ channel_id: string("ID of the channel to close") }, ["channel_id"]),
    output: SENT,
    annotations: ENDS,
  },
  async ({ channels }, args, { viewer }) => {
    const id = text(args, "channel_id");
    const { ended, stage } = channels.called(viewer, id);
    if (ended === undefined) await stage.close();
    channels.forget(id, ended ?? "you closed it");
    return { success: true, channel_id: id };
  },
);

const receiveOnChannel = faceTool(
  "receive_on_channel",
  {
    title: "Receive on channel",
    description:
      "Take the messages that came on an open channel since the last call, oldest first; waits for one where there is none. A channel that has ended says why, once",
    input: object(
      {
        channel_id: string("ID of the channel"),
        timeout_ms: integer("How long to wait for a message, in milliseconds (default 0)", 0, LONGEST_MS),
        limit: integer("At most so many messages (default 100)", 1, 1_000),
      },
      ["channel_id"],
    ),
    output: object(
      {
        channel_id: string("ID of the channel"),
        messages: { type: "array", items: { type: "string" }, description: "Message data (base64 encoded), oldest first" },
        dropped: integer("How many older messages were dropped because too many waited", 1),
        closed: string("The channel has ended, and why"),
      },
      ["channel_id", "messages"],
    ),
    annotations: TAKES,
  },
  async ({ clock, channels, bells }, args, { viewer, signal }) => {
    const id = text(args, "channel_id");
    const limit = whole(args, "limit", 1, 1_000, 100);
    const until = clock.now() + whole(args, "timeout_ms", 0, LONGEST_MS, 0);
    const channel = channels.called(viewer, id);
    await bells.with(async (bell) => {
      const undo = channel.listen(() => bell.ring());
      try {
        while (!channel.waiting && !bells.closed && clock.now() < until) await bell.next(clock, until - clock.now(), signal);
      } finally {
        undo();
      }
    });
    // Another call may have closed it in the meantime.
    const { messages, dropped, closed } = channels.called(viewer, id).take(limit);
    if (closed !== undefined) channels.forget(id, closed);
    return {
      channel_id: id,
      messages: messages.map(base64Of),
      ...(dropped === 0 ? {} : { dropped }),
      ...omitUndefined({ closed }),
    };
  },
);

export const channelTools = [openChannel, sendOnChannel, closeChannel] as const;
export const receiveTools = [receiveOnChannel] as const;
