import { type ActorId, isJsonObject, type Turn, type Work } from "../../../core/contract/index.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import { base64, isList } from "../host/values.ts";
import type { WitValue } from "../wit.ts";
import { type Answer, bytesIn, endIn, type Entered, isOwn, NULL, refused, type Room, textIn } from "./guest-context.ts";
import { runs } from "./run-guest.ts";

/** Messages and channels, as `message-server-client` has them. */

export type Handler = (room: Room, at: Entered) => Turn<GuestState> | Work<GuestState>;

const MOST_CHANNELS = 1_000;
const NO_DATA = refused("INVALID", "The message has no data: give bytes as base64.");

const unheard = (what: string): Turn<GuestState> =>
  refused("UNKNOWN", `This guest takes no ${what}: its component exports no handler for them.`);

export const send: Handler = (room, at) => {
  const data = bytesIn(at.message, "data");
  if (data === undefined) return NO_DATA;
  const call = { export: "message-server-client.handle-send", params: [data] } as const;
  return runs(room, at, { ...call, state: at.state, absent: unheard("messages"), answer: () => NULL });
};

export const request: Handler = (room, at) => {
  const data = bytesIn(at.message, "data");
  if (data === undefined) return NO_DATA;
  const { id } = at.message;
  return runs(room, at, {
    export: "message-server-client.handle-request",
    params: [id, data],
    state: at.state,
    absent: unheard("requests"),
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

const CLOSED = (channel: string | undefined): Turn<GuestState> =>
  refused("ChannelNotFound", `There is no channel ${(channel ?? "without a name").slice(0, 100)} to this actor: open one.`);

export const channelOpen: Handler = (room, at) => {
  const { message, state } = at;
  const channel = textIn(message, "channel");
  const data = bytesIn(message, "data");
  const end = endIn(message);
  if (channel === undefined || channel === "" || channel.length > 100 || data === undefined || end === undefined)
    return refused("INVALID", "A channel is opened with its id, its data as base64 and its other end.");
  // Nobody speaks for another actor.
  if ("actor" in end && end.actor !== message.from) return refused("INVALID", "A channel's other end is whoever opens it.");
  if (Object.hasOwn(state.channels, channel)) return refused("INVALID", `There is a channel ${channel} already: open another.`);
  if (Object.keys(state.channels).length >= MOST_CHANNELS)
    return refused("INVALID", `This actor has ${MOST_CHANNELS} channels, as many as it may: close some.`);
  return runs(room, at, {
    export: "message-server-client.handle-channel-open",
    params: [channel, data],
    state,
    absent: unheard("channels"),
    answer: (back) => accepted(channel, end, back),
  });
};

function accepted(channel: string, end: ChannelEnd, back: WitValue): Answer {
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
function openOf({ message, state, self }: Entered): string | undefined {
  const channel = textIn(message, "channel");
  const end = channel !== undefined && Object.hasOwn(state.channels, channel) ? state.channels[channel] : undefined;
  if (end === undefined) return undefined;
  const { from } = message;
  const speaks = "actor" in end ? from === end.actor : from === undefined || from === self;
  return speaks ? channel : undefined;
}

/** An actor that has ended tells nobody of it: who runs it does. */
function endedOf({ message, state }: Entered): string | undefined {
  const channel = textIn(message, "channel");
  const end = channel !== undefined && Object.hasOwn(state.channels, channel) ? state.channels[channel] : undefined;
  return isOwn(message) && end !== undefined && "actor" in end && end.actor === textIn(message, "end") ? channel : undefined;
}

export const channelMessage: Handler = (room, at) => {
  const channel = openOf(at);
  if (channel === undefined) return CLOSED(textIn(at.message, "channel"));
  const data = bytesIn(at.message, "data");
  if (data === undefined) return NO_DATA;
  const call = { export: "message-server-client.handle-channel-message", params: [channel, data] } as const;
  return runs(room, at, { ...call, state: at.state, absent: unheard("messages on channels"), answer: () => NULL });
};

/** Whatever its guest does with it: the channel is closed. */
export const channelClose: Handler = (room, at) => {
  const channel = openOf(at) ?? endedOf(at);
  if (channel === undefined) return CLOSED(textIn(at.message, "channel"));
  const { [channel]: _closed, ...channels } = at.state.channels;
  const state: GuestState = { ...at.state, channels };
  if (state.status === "paused") return { state };
  const call = { export: "message-server-client.handle-channel-close", params: [channel] } as const;
  return runs(room, at, { ...call, state, absent: { state }, answer: () => NULL });
};

/** The other end has a channel, and doubts that this actor has it. C5: a close comes after all that was sent on it. */
export const channelCheck: Handler = (room, at) => {
  const channel = textIn(at.message, "channel");
  const { from } = at.message;
  if (channel === undefined || from === undefined) return CLOSED(channel);
  if (openOf(at) !== undefined) return {};
  room.company.neverOpen(channel);
  return { send: [{ to: from, action: "channel-close", args: { channel, why: "its opener was cut short" } }] };
};

/** What becomes of children, as `supervisor-handlers` has it. */

/** The UUID of the child that says so; undefined: it is none, or has ended and was told of. */
function childIn({ message, state }: Entered): string | undefined {
  const child = textIn(message, "child");
  if (child === undefined || child !== message.from) return undefined;
  return Object.entries(state.children).find(([, id]) => id === child)?.[0];
}

function without(state: GuestState, uid: string): GuestState {
  const { [uid]: _gone, ...children }: Readonly<Record<string, ActorId>> = state.children;
  return { ...state, children };
}

export const childError: Handler = (room, at) => {
  const { message, state } = at;
  const uid = childIn(at);
  if (uid === undefined) return {};
  const event = isJsonObject(message.args) ? message.args["event"] : null;
  const data = Buffer.from(JSON.stringify({ event: event ?? null, message: textIn(message, "message") ?? "" }));
  return runs(room, at, {
    export: "supervisor-handlers.handle-child-error",
    params: [uid, { "error-type": "internal", data: new Uint8Array(data) }],
    state,
    absent: {},
    answer: () => NULL,
  });
};

/** It shut down of itself. The engine tells the same afterwards, of a child that is none any more. */
export const childExit: Handler = (room, at) => {
  const uid = childIn(at);
  if (uid === undefined) return {};
  const state = without(at.state, uid);
  if (state.status === "paused") return { state };
  const call = { export: "supervisor-handlers.handle-child-exit", params: [uid, bytesIn(at.message, "data")] } as const;
  return runs(room, at, { ...call, state, absent: { state }, answer: () => NULL });
};

/** Somebody else stopped it. */
export const ended: Handler = (room, at) => {
  const uid = childIn(at);
  if (uid === undefined) return {};
  const state = without(at.state, uid);
  if (state.status === "paused") return { state };
  const call = { export: "supervisor-handlers.handle-child-external-stop", params: [uid] } as const;
  return runs(room, at, { ...call, state, absent: { state }, answer: () => NULL });
};
