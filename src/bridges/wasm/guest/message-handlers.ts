// Owns: handling messages, channels and children's ends: each message becomes a call of an export. Does not own: the call (run-guest.ts).
import { type ActorId, isJsonObject, type Turn } from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";
import { type ChannelEnd, type GuestState, MAX_CHANNELS } from "../guest-state.ts";
import { base64 } from "../host/values.ts";
import { isRecord, type WitValue } from "../wit.ts";
import type { ExportName } from "../component/world.ts";
import {
  type CallAnswer,
  bytesArgument,
  channelEndArgument,
  type Delivery,
  type Handler,
  isFromOperator,
  refusal,
  type GuestRuntime,
  textArgument,
} from "./guest-runtime.ts";
import { closeMessage } from "./channel-peers.ts";
import { runGuest } from "./run-guest.ts";

const NO_DATA = refusal("INVALID", "The message has no data: give bytes as base64.");

const notHandled = (what: string): Turn<GuestState> =>
  refusal("UNKNOWN", `This guest takes no ${what}: its component exports no handler for them.`);

export const send: Handler = (runtime, delivery) => {
  const data = bytesArgument(delivery.message, "data");
  if (data === undefined) return NO_DATA;
  return runGuest(runtime, delivery, {
    export: "message-server-client.handle-send",
    params: [data],
    state: delivery.state,
    ifNotExported: notHandled("messages"),
  });
};

export const request: Handler = (runtime, delivery) => {
  const data = bytesArgument(delivery.message, "data");
  if (data === undefined) return NO_DATA;
  const { id } = delivery.message;
  return runGuest(runtime, delivery, {
    export: "message-server-client.handle-request",
    params: [id, data],
    state: delivery.state,
    ifNotExported: notHandled("requests"),
    request: id,
    answer: (back, { answers }) => {
      // The guest may have answered the request itself during the call.
      const given = answers.get(id);
      if (given !== undefined) return { reply: given };
      if (back instanceof Uint8Array) return { reply: { ok: { data: base64(back) } } };
      return { reply: "later", change: (state) => ({ ...state, outstanding: [...state.outstanding, id] }) };
    },
  });
};

// ── channels ─────────────────────────────────────────────────────────────────

const channelNotFound = (channel: string | undefined): Turn<GuestState> =>
  refusal("ChannelNotFound", `There is no channel ${(channel ?? "without a name").slice(0, 100)} to this actor: open one.`);

export const channelOpen: Handler = (runtime, delivery) => {
  const { message, state } = delivery;
  const channel = textArgument(message, "channel");
  const data = bytesArgument(message, "data");
  const end = channelEndArgument(message);
  if (channel === undefined || channel === "" || channel.length > 100 || data === undefined || end === undefined)
    return refusal("INVALID", "A channel is opened with its id, its data as base64 and its other end.");
  // An actor cannot open a channel on behalf of another.
  if ("actor" in end && end.actor !== message.from) return refusal("INVALID", "A channel's other end is whoever opens it.");
  if (Object.hasOwn(state.channels, channel)) return refusal("INVALID", `There is a channel ${channel} already: open another.`);
  if (Object.keys(state.channels).length >= MAX_CHANNELS)
    return refusal("INVALID", `This actor has ${MAX_CHANNELS} channels, as many as it may: close some.`);
  return runGuest(runtime, delivery, {
    export: "message-server-client.handle-channel-open",
    params: [channel, data],
    state,
    ifNotExported: notHandled("channels"),
    answer: (back) => openAnswer(channel, end, back),
  });
};

function openAnswer(channel: string, end: ChannelEnd, back: WitValue): CallAnswer {
  const { accepted, message } = isRecord(back) ? back : {};
  const data = message instanceof Uint8Array ? { data: base64(message) } : {};
  if (accepted !== true) return { reply: { ok: { accepted: false, ...data } } };
  return {
    reply: { ok: { accepted: true, ...data } },
    change: (state) => ({ ...state, channels: { ...state.channels, [channel]: end } }),
  };
}

const endOf = ({ channels }: GuestState, channel: string | undefined): ChannelEnd | undefined =>
  channel === undefined ? undefined : getOwn(channels, channel);

/** The channel that a message names; undefined if it does not exist or its other end is not the sender. */
function channelOfSender({ message, state, self }: Delivery): string | undefined {
  const channel = textArgument(message, "channel");
  const end = endOf(state, channel);
  if (end === undefined) return undefined;
  const { from } = message;
  const speaks = "actor" in end ? from === end.actor : from === undefined || from === self;
  return speaks ? channel : undefined;
}

/** The channel that this process closes for its stopped other end. A stopped actor cannot send the close itself. */
function channelOfStoppedPeer({ message, state }: Delivery): string | undefined {
  const channel = textArgument(message, "channel");
  const end = endOf(state, channel);
  return isFromOperator(message) && end !== undefined && "actor" in end && end.actor === textArgument(message, "end") ? channel : undefined;
}

export const channelMessage: Handler = (runtime, delivery) => {
  const channel = channelOfSender(delivery);
  if (channel === undefined) return channelNotFound(textArgument(delivery.message, "channel"));
  const data = bytesArgument(delivery.message, "data");
  if (data === undefined) return NO_DATA;
  return runGuest(runtime, delivery, {
    export: "message-server-client.handle-channel-message",
    params: [channel, data],
    state: delivery.state,
    ifNotExported: notHandled("messages on channels"),
  });
};

/** The channel is closed, whatever the guest does. */
export const channelClose: Handler = (runtime, delivery) => {
  const channel = channelOfSender(delivery) ?? channelOfStoppedPeer(delivery);
  if (channel === undefined) return channelNotFound(textArgument(delivery.message, "channel"));
  const { [channel]: _closed, ...channels } = delivery.state.channels;
  const state: GuestState = { ...delivery.state, channels };
  if (state.status === "paused") return { state };
  return runGuest(runtime, delivery, {
    export: "message-server-client.handle-channel-close",
    params: [channel],
    state,
    ifNotExported: { state },
  });
};

/** The other end asks whether this actor has a channel. If not, it is closed. C5: the close arrives after everything sent on it. */
export const channelCheck: Handler = (runtime, delivery) => {
  const channel = textArgument(delivery.message, "channel");
  const { from } = delivery.message;
  if (channel === undefined || from === undefined) return channelNotFound(channel);
  if (channelOfSender(delivery) !== undefined) return {};
  runtime.peers.markInterrupted(channel);
  return { send: [closeMessage(from, channel, "its opener was cut short")] };
};

// ── children ─────────────────────────────────────────────────────────────────

/** The UUID of the child that sent the message; undefined if the sender is not a child, or its end was already handled. */
function childOfSender({ message, state }: Delivery): string | undefined {
  const child = textArgument(message, "child");
  if (child === undefined || child !== message.from) return undefined;
  return Object.entries(state.children).find(([, id]) => id === child)?.[0];
}

export const childError: Handler = (runtime, delivery) => {
  const { message, state } = delivery;
  const uid = childOfSender(delivery);
  if (uid === undefined) return {};
  const { event = null } = isJsonObject(message.args) ? message.args : {};
  const data = Buffer.from(JSON.stringify({ event, message: textArgument(message, "message") ?? "" }));
  return runGuest(runtime, delivery, {
    export: "supervisor-handlers.handle-child-error",
    params: [uid, { "error-type": "internal", data: new Uint8Array(data) }],
    state,
    ifNotExported: {},
  });
};

/** The child shut down itself. The engine reports the same later, when it is no longer a child. */
export const childExit: Handler = (runtime, delivery) =>
  childEnded(runtime, delivery, "supervisor-handlers.handle-child-exit", [bytesArgument(delivery.message, "data")]);

/** The child was stopped from outside. */
export const childStopped: Handler = (runtime, delivery) =>
  childEnded(runtime, delivery, "supervisor-handlers.handle-child-external-stop", []);

/** The child is removed, whatever the guest does. */
function childEnded(runtime: GuestRuntime, delivery: Delivery, name: ExportName, more: readonly WitValue[]): ReturnType<Handler> {
  const uid = childOfSender(delivery);
  if (uid === undefined) return {};
  const { [uid]: _removed, ...children }: Readonly<Record<string, ActorId>> = delivery.state.children;
  const state: GuestState = { ...delivery.state, children };
  if (state.status === "paused") return { state };
  return runGuest(runtime, delivery, { export: name, params: [uid, ...more], state, ifNotExported: { state } });
}
