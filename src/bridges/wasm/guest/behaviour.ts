/** The kind of actor that runs guests. Law 4: whatever runs one is work. */
import { type Behaviour, DEFAULT_POLICY, type Message, type Turn, untilAborted, type Work } from "../../../core/contract/index.ts";
import { GUEST, type GuestState, whyPaused } from "../guest-state.ts";
import { refused, type Room, textIn } from "./guest-context.ts";
import { begin, pause, resume, unbegun, update } from "./lifecycle.ts";
import {
  channelCheck,
  channelClose,
  channelMessage,
  channelOpen,
  childError,
  childExit,
  ended,
  type Handler,
  request,
  send,
} from "./message-handlers.ts";
import { cut } from "./run-guest.ts";

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["start", begin],
  ["send", send],
  ["request", request],
  ["channel-open", channelOpen],
  ["channel-message", channelMessage],
  ["channel-close", channelClose],
  ["channel-check", channelCheck],
  ["child-error", childError],
  ["child-exit", childExit],
  ["ended", ended],
  ["pause", pause],
  ["resume", resume],
  ["update", update],
  ["cut", cut],
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

export function guestKind(room: Room): Behaviour<GuestState> {
  return {
    kind: GUEST,
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: room.options.persistence, workMs: 300_000, mailbox: 1_000 },
    lapses,
    initial: (_, first) => unbegun(first),
    receive: (state, message, life = "", seq = 0, uid = "") => held(room, receive(room, state, message, life, seq, uid)),
  };
}

/** What an actor that has ended need not be told: nothing would come of it. A restart that somebody asked for is none of these. */
function lapses(message: Message): boolean {
  const { action, from } = message;
  if (action === "resume") return textIn(message, "with") === "parent";
  if (action === "pause" || action === "child-error" || action === "child-exit" || action === "ended" || action === "channel-check")
    return from !== undefined;
  return action === "cut" || (action === "channel-close" && (from !== undefined || textIn(message, "end") !== undefined));
}

/** An engine delivers what it kept as soon as it has started, before anybody can attach it: to fail then would use a send up. */
function held(room: Room, turn: Turn<GuestState> | Work<GuestState>): Turn<GuestState> | Work<GuestState> {
  const attached = typeof turn === "function" ? room.attached() : undefined;
  if (typeof turn !== "function" || attached === undefined) return turn;
  return async (context) => {
    await untilAborted(context.signal, () => attached);
    return turn(context);
  };
}

function receive(
  room: Room,
  state: GuestState,
  message: Message,
  life: string,
  seq: number,
  uid: string,
): Turn<GuestState> | Work<GuestState> {
  const handler = HANDLERS.get(message.action);
  if (handler === undefined)
    return refused(
      "UNKNOWN",
      `A guest does not know ${JSON.stringify(message.action.slice(0, 100))}: send it \`send\` or \`request\` with data.`,
    );
  if (state.id === "" && message.action !== "start") return refused("NO_ACTOR", `${message.to} has not begun: start it from its manifest.`);
  if (state.status === "paused" && !WHILE_PAUSED.has(message.action)) return refused("PAUSED", whyPaused(state));
  return handler(room, { self: message.to, state, message, life, seq, uid });
}
