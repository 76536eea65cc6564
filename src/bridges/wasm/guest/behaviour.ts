/** The kind of actor that runs guests. Law 4: whatever runs one is work. */
import { type Behaviour, DEFAULT_POLICY, type Message, type Turn, untilAborted, type Work } from "../../../core/contract/index.ts";
import { GUEST, type GuestState, pausedMessage } from "../guest-state.ts";
import { refusal, type GuestRuntime, textArgument } from "./guest-runtime.ts";
import { start, pause, resume, initialGuestState, update } from "./lifecycle.ts";
import {
  channelCheck,
  channelClose,
  channelMessage,
  channelOpen,
  childError,
  childExit,
  childStopped,
  type Handler,
  request,
  send,
} from "./message-handlers.ts";
import { interrupted } from "./run-guest.ts";

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["start", start],
  ["send", send],
  ["request", request],
  ["channel-open", channelOpen],
  ["channel-message", channelMessage],
  ["channel-close", channelClose],
  ["channel-check", channelCheck],
  ["child-error", childError],
  ["child-exit", childExit],
  ["ended", childStopped],
  ["pause", pause],
  ["resume", resume],
  ["update", update],
  ["cut", interrupted],
]);

/** What a paused guest's actor still does, since it takes no guest: to know who is there, and to be mended. */
const WHILE_PAUSED: ReadonlySet<string> = new Set([
  "start",
  "pause",
  "resume",
  "update",
  "channel-close",
  "channel-check",
  "child-exit",
  "ended",
  "cut",
]);

export function guestKind(room: GuestRuntime): Behaviour<GuestState> {
  return {
    kind: GUEST,
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: room.options.persistence, workMs: 300_000, mailbox: 1_000 },
    lapses: isIgnoredIfStopped,
    initial: (_, first) => initialGuestState(first),
    receive: (state, message, life = "", seq = 0, uid = "") => whenAttached(room, receive(room, state, message, life, seq, uid)),
  };
}

/** What an actor that has ended need not be told: nothing would come of it. A restart that somebody asked for is none of these. */
function isIgnoredIfStopped(message: Message): boolean {
  const { action, from } = message;
  if (action === "resume") return textArgument(message, "with") === "parent";
  if (action === "pause" || action === "child-error" || action === "child-exit" || action === "ended" || action === "channel-check")
    return from !== undefined;
  return action === "cut" || (action === "channel-close" && (from !== undefined || textArgument(message, "end") !== undefined));
}

/** An engine delivers what it kept as soon as it has started, before anybody can attach it: to fail then would use a send up. */
function whenAttached(room: GuestRuntime, turn: Turn<GuestState> | Work<GuestState>): Turn<GuestState> | Work<GuestState> {
  const attached = typeof turn === "function" ? room.attached() : undefined;
  if (typeof turn !== "function" || attached === undefined) return turn;
  return async (context) => {
    await untilAborted(context.signal, () => attached);
    return turn(context);
  };
}

function receive(
  room: GuestRuntime,
  state: GuestState,
  message: Message,
  life: string,
  seq: number,
  uid: string,
): Turn<GuestState> | Work<GuestState> {
  const handler = HANDLERS.get(message.action);
  if (handler === undefined)
    return refusal(
      "UNKNOWN",
      `A guest does not know ${JSON.stringify(message.action.slice(0, 100))}: send it \`send\` or \`request\` with data.`,
    );
  if (state.id === "" && message.action !== "start") return refusal("NO_ACTOR", `${message.to} has not begun: start it from its manifest.`);
  if (state.status === "paused" && !WHILE_PAUSED.has(message.action)) return refusal("PAUSED", pausedMessage(state));
  return handler(room, { self: message.to, state, message, life, seq, uid });
}
