// Owns: the tools that send messages, request responses and use channels. Does not own: the channels (viewer-channels.ts).
import { omitUndefined } from "../../../core/contract/internal.ts";
import { textOf } from "../../../core/platform/index.ts";
import { StageError } from "../stage.ts";
import { requiredBytes, encodeBase64, optionalBytes, requiredText, wholeNumber } from "./arguments.ts";
import { CONSUMING, defineTool, DESTRUCTIVE, integer, object, OPEN_WORLD, resolveActorId, string, SUCCESS, withTimeLimit } from "./tool.ts";
import type { ViewerChannel } from "./viewer-channels.ts";

// Responses are repeated as text for models that cannot read base64. For a long one that would cost more than it helps.
const TEXT_BYTES = 65_536;

const sendMessage = defineTool(
  "send_message",
  {
    title: "Send message",
    description: "Send a message to an actor",
    input: object({ actor_id: string("ID of the actor to send the message to"), data: string("Message data (base64 encoded)") }, [
      "actor_id",
      "data",
    ]),
    output: object({ success: SUCCESS, actor_id: string("ID of the actor") }, ["success", "actor_id"]),
    annotations: OPEN_WORLD,
  },
  async ({ stage, limits }, args) => {
    const data = requiredBytes(args, "data", limits.messageBytes);
    const id = await resolveActorId(stage, requiredText(args, "actor_id"));
    await stage.send(id, data);
    return { success: true, actor_id: id };
  },
);

const requestMessage = defineTool(
  "request_message",
  {
    title: "Request message",
    description: "Send a request to an actor and receive a response",
    input: object({ actor_id: string("ID of the actor to send the request to"), data: string("Request data (base64 encoded)") }, [
      "actor_id",
      "data",
    ]),
    output: object(
      {
        actor_id: string("ID of the actor"),
        response: string("Response data (base64 encoded)"),
        response_text: string("The same, where it is UTF-8 text of at most 64 KiB"),
      },
      ["actor_id", "response"],
    ),
    annotations: OPEN_WORLD,
  },
  async ({ stage, clock, limits }, args, { signal }) => {
    const data = requiredBytes(args, "data", limits.messageBytes);
    const id = await resolveActorId(stage, requiredText(args, "actor_id"));
    const response = await withTimeLimit(`The request to ${id}`, { clock, ms: limits.requestMs, signal }, (abortSignal) =>
      stage.request(id, data, abortSignal),
    );
    const responseText = response.length > 0 && response.length <= TEXT_BYTES ? textOf(response) : undefined;
    return { actor_id: id, response: encodeBase64(response), ...omitUndefined({ response_text: responseText }) };
  },
);

export const messageTools = [sendMessage, requestMessage] as const;

const CHANNEL_RESULT = object({ success: SUCCESS, channel_id: string("ID of the channel") }, ["success", "channel_id"]);
const NO_BYTES = new Uint8Array();
const MAX_WAIT_MS = 60_000;

const openChannel = defineTool(
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
    annotations: { ...OPEN_WORLD, destructiveHint: false },
  },
  async ({ stage, limits, channels }, args, { viewer, signal }) => {
    const initial = optionalBytes(args, "initial_message", limits.messageBytes) ?? NO_BYTES;
    const actor = await resolveActorId(stage, requiredText(args, "actor_id"));
    const { id, greeting } = await channels.open(viewer, actor, initial, signal);
    return { channel_id: id, actor_id: actor, ...omitUndefined({ message: greeting && encodeBase64(greeting) }) };
  },
);

function assertOpen(id: string, { ended }: ViewerChannel): void {
  if (ended !== undefined) throw new StageError("ChannelClosed", `the channel ${id} has ended: ${ended}`);
}

const sendOnChannel = defineTool(
  "send_on_channel",
  {
    title: "Send on channel",
    description: "Send a message on an open channel",
    input: object({ channel_id: string("ID of the channel"), message: string("Message data (base64 encoded)") }, ["channel_id", "message"]),
    output: CHANNEL_RESULT,
    annotations: OPEN_WORLD,
  },
  async ({ limits, channels }, args, { viewer }) => {
    const message = requiredBytes(args, "message", limits.messageBytes);
    const id = requiredText(args, "channel_id");
    const channel = channels.use(viewer, id);
    assertOpen(id, channel);
    await channel.stage.send(message);
    return { success: true, channel_id: id };
  },
);

const closeChannel = defineTool(
  "close_channel",
  {
    title: "Close channel",
    description: "Close an open channel",
    input: object({ channel_id: string("ID of the channel to close") }, ["channel_id"]),
    output: CHANNEL_RESULT,
    annotations: DESTRUCTIVE,
  },
  async ({ channels }, args, { viewer }) => {
    const id = requiredText(args, "channel_id");
    const { ended, stage } = channels.use(viewer, id);
    if (ended === undefined) await stage.close();
    channels.remove(id, ended ?? "you closed it");
    return { success: true, channel_id: id };
  },
);

const receiveOnChannel = defineTool(
  "receive_on_channel",
  {
    title: "Receive on channel",
    description:
      "Take the messages that came on an open channel since the last call, oldest first; waits for one where there is none. A channel that has ended says why, once",
    input: object(
      {
        channel_id: string("ID of the channel"),
        timeout_ms: integer("How long to wait for a message, in milliseconds (default 0)", 0, MAX_WAIT_MS),
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
    annotations: CONSUMING,
  },
  async ({ clock, channels, waits }, args, { viewer, signal }) => {
    const id = requiredText(args, "channel_id");
    const limit = wholeNumber(args, "limit", 1, 1_000, 100);
    const until = clock.now() + wholeNumber(args, "timeout_ms", 0, MAX_WAIT_MS, 0);
    const channel = channels.use(viewer, id);
    await waits.with(async (wakeup) => {
      const undo = channel.listen(() => wakeup.notify());
      try {
        while (!channel.hasPending && !waits.closed && clock.now() < until) await wakeup.wait(clock, until - clock.now(), signal);
      } finally {
        undo();
      }
    });
    // Another call may have closed it in the meantime.
    const { messages, dropped, closed } = channels.use(viewer, id).take(limit);
    if (closed !== undefined) channels.remove(id, closed);
    return {
      channel_id: id,
      messages: messages.map(encodeBase64),
      ...(dropped === 0 ? {} : { dropped }),
      ...omitUndefined({ closed }),
    };
  },
);

export const channelTools = [openChannel, sendOnChannel, closeChannel] as const;
export const receiveTools = [receiveOnChannel] as const;
