/**
 * What a call comes to.
 *
 * C3: a call that failed sends nothing of what it gathered; that it failed is a state of its own, so it is told as an answer.
 * C5: what a call sends leaves with its commit.
 */
import type { ActorId, Json, Outgoing, Turn } from "../../../core/contract/index.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import type { CallEffects } from "../host/call-effects.ts";
import { type PeerCheck, markClosing, staleChannels, checkMessage, closeMessage } from "./channel-peers.ts";
import type { Program } from "./program-cache.ts";
import { type Delivery, failedReply, refusal, type ExportCall } from "./guest-runtime.ts";
import { base64 } from "../host/values.ts";
import type { GuestOutcome } from "../sandbox.ts";

const SHUTDOWN = "shutdown";
const LONGEST_MESSAGE = 4_096;

export interface FinishedCall {
  readonly at: Delivery;
  readonly visit: ExportCall;
  readonly program: Program;
  readonly outcome: GuestOutcome;
  readonly gathered: CallEffects;
  /** The `host` of channel ends in this process. */
  readonly process: string;
  readonly ends: PeerCheck;
}

export function turnOfCall(ended: FinishedCall, state: GuestState["state"]): Turn<GuestState> {
  const { outcome, visit, gathered } = ended;
  if (outcome.end === "ok") return succeeded(ended, outcome, state);
  if (outcome.end !== "lost") return failed(ended, outcome);
  const reply = failedReply("OUTCOME_UNKNOWN", lost(outcome.message));
  const send = closeOpened(gathered, "its opener lost it");
  if (visit.isStart) return { state: visit.state, reply, send, stop: "its start was lost" };
  // Children that were born meanwhile are the actor's whatever is known of the rest, channels are nobody's: a refusal would not say so.
  if (gathered.spawned.size + gathered.stopped.size + send.length > 0) return { state: withChildren(visit.state, gathered), reply, send };
  return refusal("OUTCOME_UNKNOWN", lost(outcome.message));
}

const lost = (message: string): string => `${message} What it did outside is in the event's record: look there before asking again.`;

/** Done already, whatever became of the call. */
function withChildren(state: GuestState, { spawned, stopped }: CallEffects): GuestState {
  if (spawned.size + stopped.size === 0) return state;
  const children = Object.entries({ ...state.children, ...Object.fromEntries(spawned) }).filter(([uid]) => !stopped.has(uid));
  return { ...state, children: Object.fromEntries(children) };
}

// ── it went well ─────────────────────────────────────────────────────────────

type Ok = Extract<GuestOutcome, { readonly end: "ok" }>;

function succeeded(ended: FinishedCall, outcome: Ok, state: GuestState["state"]): Turn<GuestState> {
  const { at, visit, gathered } = ended;
  const { reply, change = unchanged } = visit.answer(outcome.back, gathered);
  const channels = Object.entries({ ...visit.state.channels, ...Object.fromEntries(gathered.opened) }).filter(
    ([channel]) => !gathered.closed.has(channel),
  );
  const next = change({
    ...withChildren(visit.state, gathered),
    state,
    channels: Object.fromEntries(channels),
    outstanding: visit.state.outstanding.filter((id) => !gathered.answers.has(id)),
  });
  const turn = { state: next, reply, ...answers(gathered, visit) };
  if (gathered.shutdown !== undefined) return shutdownTurn(at, turn, gathered, gathered.shutdown.data);
  const stale = staleChannels(next.channels, { process: ended.process, gone: ended.ends.stopped });
  const doubtful = [...ended.ends.unconfirmed].filter(([channel]) => Object.hasOwn(next.channels, channel));
  return {
    ...turn,
    state: markClosing(next, stale),
    send: [...gathered.sends, ...stale.map((channel) => closeMessage(at.self, channel)), ...doubtful.map(checkMessage)],
    emit: gathered.emits,
  };
}

const unchanged = (state: GuestState): GuestState => state;

function answers({ answers: given }: CallEffects, { request }: ExportCall): Pick<Turn<GuestState>, "answer"> {
  const later = [...given].filter(([id]) => id !== request);
  return later.length === 0 ? {} : { answer: Object.fromEntries(later) };
}

type Begun = Turn<GuestState> & { readonly state: GuestState; readonly reply: NonNullable<Turn<GuestState>["reply"]> };

function shutdownTurn({ self }: Delivery, turn: Begun, gathered: CallEffects, data: Uint8Array | undefined): Turn<GuestState> {
  const { parent, channels } = turn.state;
  const why = "the actor has shut down";
  const sends = [...gathered.sends];
  const emit = [...gathered.emits];
  for (const [channel, end] of Object.entries(channels)) notifyClosed(channel, end, why, sends, emit);
  if (parent !== undefined)
    sends.push({ to: parent, action: "child-exit", args: { child: self, ...(data === undefined ? {} : { data: base64(data) }) } });
  return {
    ...turn,
    state: { ...turn.state, channels: {} },
    // Nobody would be left to answer it.
    reply:
      turn.reply === "later" ? failedReply("ActorNotRunning", "The actor has shut down without an answer: start it again.") : turn.reply,
    send: sends,
    emit,
    stop: SHUTDOWN,
  };
}

function notifyClosed(channel: string, end: ChannelEnd, why: string, sends: Outgoing[], emit: Json[]): void {
  if ("actor" in end) sends.push({ to: end.actor, action: "channel-close", args: { channel, why } });
  else emit.push({ channel, closed: why });
}

// ── it failed ────────────────────────────────────────────────────────────────

type Failure = Exclude<GuestOutcome, { readonly end: "ok" | "lost" }>;

function failed({ at, visit, program, gathered }: FinishedCall, outcome: Failure): Turn<GuestState> {
  const message = sentence(outcome);
  const state = withChildren(visit.state, gathered);
  const paused: GuestState = { ...state, status: "paused", failed: { seq: at.seq, message } };
  const closed = closeOpened(gathered, "its opener failed");
  if (visit.isStart)
    return { state: paused, reply: failedReply("ActorInitializationError", message), send: closed, stop: `its start failed: ${message}` };
  const code = outcome.end === "killed" && outcome.why === "time" ? "Timeout" : "ActorError";
  const told = errorToParent(state.parent, at, message);
  if (program.manifest.onError === "restart") return { state, reply: failedReply(code, message), send: [...closed, ...told] };
  const pauses = Object.values(state.children).map((to): Outgoing => ({ to, action: "pause", args: {} }));
  return { state: paused, reply: failedReply(code, `${message} It is paused.`), send: [...closed, ...told, ...pauses] };
}

/** Ends of channels that this call opened and does not keep. */
const closeOpened = ({ opened }: CallEffects, why: string): readonly Outgoing[] =>
  [...opened].flatMap(([channel, end]) => ("actor" in end ? [{ to: end.actor, action: "channel-close", args: { channel, why } }] : []));

const PREFIX: Readonly<Record<Failure["end"], string>> = { error: "The guest failed: ", trap: "Trap: ", killed: "" };

function sentence({ end, message }: Failure): string {
  const said = message.slice(0, LONGEST_MESSAGE).toWellFormed().trim();
  if (said === "") return "The guest failed, and did not say why.";
  return `${PREFIX[end]}${said}${/[.!?…]$/u.test(said) ? "" : "."}`;
}

function errorToParent(parent: ActorId | undefined, { self, seq }: Delivery, message: string): readonly Outgoing[] {
  return parent === undefined ? [] : [{ to: parent, action: "child-error", args: { child: self, message, event: seq } }];
}
