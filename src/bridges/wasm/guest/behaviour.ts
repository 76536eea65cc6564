// Owns: the behaviour of the kind `guest`: which messages it handles, and when. Does not own: handling them (message-handlers.ts, lifecycle.ts).
import { type Behaviour, DEFAULT_POLICY, type Message, type Turn, untilAborted, type Work } from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";
import { GUEST, type GuestState, pausedMessage } from "../guest-state.ts";
import { type Handler, refusal, type GuestRuntime, textArgument } from "./guest-runtime.ts";
import { start, pause, resume, initialGuestState, update } from "./lifecycle.ts";
import {
  channelCheck,
  channelClose,
  channelMessage,
  channelOpen,
  childError,
  childExit,
  childStopped,
  request,
  send,
} from "./message-handlers.ts";
import { interrupted } from "./run-guest.ts";

const HANDLERS: Readonly<Record<string, Handler>> = {
  start,
  send,
  request,
  "channel-open": channelOpen,
  "channel-message": channelMessage,
  "channel-close": channelClose,
  "channel-check": channelCheck,
  "child-error": childError,
  "child-exit": childExit,
  ended: childStopped,
  pause,
  resume,
  update,
  cut: interrupted,
};

/** Messages that a paused actor still handles. They do not call the guest. */
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

export function guestKind(runtime: GuestRuntime): Behaviour<GuestState> {
  return {
    kind: GUEST,
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: runtime.options.persistence, workMs: 300_000, mailbox: 1_000 },
    lapses: isIgnoredIfStopped,
    initial: (_, first) => initialGuestState(first),
    receive: (state, message, life = "", seq = 0, uid = "") => whenAttached(runtime, receive(runtime, state, message, life, seq, uid)),
  };
}

/** Messages to a stopped actor that are dropped without an error, since they would have no effect. An explicit restart is not among them. */
function isIgnoredIfStopped(message: Message): boolean {
  const { action, from } = message;
  if (action === "resume") return textArgument(message, "with") === "parent";
  if (action === "pause" || action === "child-error" || action === "child-exit" || action === "ended" || action === "channel-check")
    return from !== undefined;
  return action === "cut" || (action === "channel-close" && (from !== undefined || textArgument(message, "end") !== undefined));
}

/** Waits until an engine is attached. An engine delivers stored messages before anyone can attach it, and a failure would count as an attempt. */
function whenAttached(runtime: GuestRuntime, turn: Turn<GuestState> | Work<GuestState>): Turn<GuestState> | Work<GuestState> {
  const attached = typeof turn === "function" ? runtime.attached() : undefined;
  if (typeof turn !== "function" || attached === undefined) return turn;
  return async (context) => {
    await untilAborted(context.signal, () => attached);
    return turn(context);
  };
}

function receive(
  runtime: GuestRuntime,
  state: GuestState,
  message: Message,
  life: string,
  seq: number,
  uid: string,
): Turn<GuestState> | Work<GuestState> {
  const handler = getOwn(HANDLERS, message.action);
  if (handler === undefined)
    return refusal(
      "UNKNOWN",
      `A guest does not know ${JSON.stringify(message.action.slice(0, 100))}: send it \`send\` or \`request\` with data.`,
    );
  if (state.id === "" && message.action !== "start") return refusal("NO_ACTOR", `${message.to} has not begun: start it from its manifest.`);
  if (state.status === "paused" && !WHILE_PAUSED.has(message.action)) return refusal("PAUSED", pausedMessage(state));
  return handler(runtime, { self: message.to, state, message, life, seq, uid });
}
