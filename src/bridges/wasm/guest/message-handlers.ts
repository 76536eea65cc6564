import { type ActorId, isJsonObject, type Turn, type Work } from "../../../core/contract/index.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import { base64, isList } from "../host/values.ts";
import type { WitValue } from "../wit.ts";
import {
  type CallAnswer,
  bytesArgument,
  channelEndArgument,
  type Delivery,
  isFromOperator,
  NULL_REPLY,
  refusal,
  type GuestRuntime,
  textArgument,
} from "./guest-runtime.ts";
import { runGuest } from "./run-guest.ts";

/** Messages and channels, as `message-server-client` has them. */

export type Handler = (room: GuestRuntime, at: Delivery) => Turn<GuestState> | Work<GuestState>;

const MAX_CHANNELS = 1_000;
const NO_DATA = refusal("INVALID", "The message has no data: give bytes as base64.");

const notHandled = (what: string): Turn<GuestState> =>
  refusal("UNKNOWN", `This guest takes no ${what}: its component exports no handler for them.`);

export const send: Handler = (room, at) => {
  const data = bytesArgument(at.message, "data");
  if (data === undefined) return NO_DATA;
  const call = { export: "message-server-client.handle-send", params: [data] } as const;
  return runGuest(room, at, { ...call, state: at.state, ifNotExported: notHandled("messages"), answer: () => NULL_REPLY });
};

export const request: Handler = (room, at) => {
  const data = bytesArgument(at.message, "data");
  if (data === undefined) return NO_DATA;
  const { id } = at.message;
  return runGuest(room, at, {
    export: "message-server-client.handle-request",
    params: [id, data],
    state: at.state,
    ifNotExported: notHandled("requests"),
    request: id,
    answer: (back, { answers }) => {
      // It may have answered itself before it came back.
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

export const channelOpen: Handler = (room, at) => {
  const { message, state } = at;
  const channel = textArgument(message, "channel");
  const data = bytesArgument(message, "data");
  const end = channelEndArgument(message);
  if (channel === undefined || channel === "" || channel.length > 100 || data === undefined || end === undefined)
    return refusal("INVALID", "A channel is opened with its id, its data as base64 and its other end.");
  // Nobody speaks for another actor.
  if ("actor" in end && end.actor !== message.from) return refusal("INVALID", "A channel's other end is whoever opens it.");
  if (Object.hasOwn(state.channels, channel)) return refusal("INVALID", `There is a channel ${channel} already: open another.`);
  if (Object.keys(state.channels).length >= MAX_CHANNELS)
    return refusal("INVALID", `This actor has ${MAX_CHANNELS} channels, as many as it may: close some.`);
  return runGuest(room, at, {
    export: "message-server-client.handle-channel-open",
    params: [channel, data],
    state,
    ifNotExported: notHandled("channels"),
    answer: (back) => openAnswer(channel, end, back),
  });
};

function openAnswer(channel: string, end: ChannelEnd, back: WitValue): CallAnswer {
  const { accepted: yes, message } = fieldsOf(back);
  const data = message instanceof Uint8Array ? { data: base64(message) } : {};
  if (yes !== true) return { reply: { ok: { accepted: false, ...data } } };
  return {
    reply: { ok: { accepted: true, ...data } },
    change: (state) => ({ ...state, channels: { ...state.channels, [channel]: end } }),
  };
}

const fieldsOf = (value: WitValue): { readonly [name: string]: WitValue } =>
  typeof value === "object" && !(value instanceof Uint8Array) && !isList(value) ? value : {};

/** Undefined: no channel of that name, or not with whoever says so. */
function channelOfSender({ message, state, self }: Delivery): string | undefined {
  const channel = textArgument(message, "channel");
  const end = channel !== undefined && Object.hasOwn(state.channels, channel) ? state.channels[channel] : undefined;
  if (end === undefined) return undefined;
  const { from } = message;
  const speaks = "actor" in end ? from === end.actor : from === undefined || from === self;
  return speaks ? channel : undefined;
}

/** An actor that has ended tells nobody of it: who runs it does. */
function channelOfStoppedPeer({ message, state }: Delivery): string | undefined {
  const channel = textArgument(message, "channel");
  const end = channel !== undefined && Object.hasOwn(state.channels, channel) ? state.channels[channel] : undefined;
  return isFromOperator(message) && end !== undefined && "actor" in end && end.actor === textArgument(message, "end") ? channel : undefined;
}

export const channelMessage: Handler = (room, at) => {
  const channel = channelOfSender(at);
  if (channel === undefined) return channelNotFound(textArgument(at.message, "channel"));
  const data = bytesArgument(at.message, "data");
  if (data === undefined) return NO_DATA;
  const call = { export: "message-server-client.handle-channel-message", params: [channel, data] } as const;
  return runGuest(room, at, { ...call, state: at.state, ifNotExported: notHandled("messages on channels"), answer: () => NULL_REPLY });
};

/** Whatever its guest does with it: the channel is closed. */
export const channelClose: Handler = (room, at) => {
  const channel = channelOfSender(at) ?? channelOfStoppedPeer(at);
  if (channel === undefined) return channelNotFound(textArgument(at.message, "channel"));
  const { [channel]: _closed, ...channels } = at.state.channels;
  const state: GuestState = { ...at.state, channels };
  if (state.status === "paused") return { state };
  const call = { export: "message-server-client.handle-channel-close", params: [channel] } as const;
  return runGuest(room, at, { ...call, state, ifNotExported: { state }, answer: () => NULL_REPLY });
};

/** The other end has a channel, and doubts that this actor has it. C5: a close comes after all that was sent on it. */
export const channelCheck: Handler = (room, at) => {
  const channel = textArgument(at.message, "channel");
  const { from } = at.message;
  if (channel === undefined || from === undefined) return channelNotFound(channel);
  if (channelOfSender(at) !== undefined) return {};
  room.peers.markInterrupted(channel);
  return { send: [{ to: from, action: "channel-close", args: { channel, why: "its opener was cut short" } }] };
};

/** What becomes of children, as `supervisor-handlers` has it. */

/** The UUID of the child that says so; undefined: it is none, or has ended and was told of. */
function childOfSender({ message, state }: Delivery): string | undefined {
  const child = textArgument(message, "child");
  if (child === undefined || child !== message.from) return undefined;
  return Object.entries(state.children).find(([, id]) => id === child)?.[0];
}

function withoutChild(state: GuestState, uid: string): GuestState {
  const { [uid]: _gone, ...children }: Readonly<Record<string, ActorId>> = state.children;
  return { ...state, children };
}

export const childError: Handler = (room, at) => {
  const { message, state } = at;
  const uid = childOfSender(at);
  if (uid === undefined) return {};
  const event = isJsonObject(message.args) ? message.args["event"] : null;
  const data = Buffer.from(JSON.stringify({ event: event ?? null, message: textArgument(message, "message") ?? "" }));
  return runGuest(room, at, {
    export: "supervisor-handlers.handle-child-error",
    params: [uid, { "error-type": "internal", data: new Uint8Array(data) }],
    state,
    ifNotExported: {},
    answer: () => NULL_REPLY,
  });
};

/** It shut down of itself. The engine tells the same afterwards, of a child that is none any more. */
export const childExit: Handler = (room, at) => {
  const uid = childOfSender(at);
  if (uid === undefined) return {};
  const state = withoutChild(at.state, uid);
  if (state.status === "paused") return { state };
  const call = { export: "supervisor-handlers.handle-child-exit", params: [uid, bytesArgument(at.message, "data")] } as const;
  return runGuest(room, at, { ...call, state, ifNotExported: { state }, answer: () => NULL_REPLY });
};

/** Somebody else stopped it. */
export const childStopped: Handler = (room, at) => {
  const uid = childOfSender(at);
  if (uid === undefined) return {};
  const state = withoutChild(at.state, uid);
  if (state.status === "paused") return { state };
  const call = { export: "supervisor-handlers.handle-child-external-stop", params: [uid] } as const;
  return runGuest(room, at, { ...call, state, ifNotExported: { state }, answer: () => NULL_REPLY });
};
