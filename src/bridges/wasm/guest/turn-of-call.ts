// Owns: the turn that a call results in (C3, C5): state, reply and messages, after success and failure.
import type { ActorId, Json, Outgoing, Turn } from "../../../core/contract/index.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import type { CallEffects } from "../host/call-effects.ts";
import { type PeerCheck, markClosing, staleChannels, checkMessage, closeMessage, closeStale } from "./channel-peers.ts";
import type { Program } from "./program-cache.ts";
import { type CallAnswer, type Delivery, failedReply, refusal, type ExportCall } from "./guest-runtime.ts";
import { base64 } from "../host/values.ts";
import type { GuestOutcome } from "../sandbox.ts";

const SHUTDOWN = "shutdown";
const MAX_MESSAGE = 4_096;

interface FinishedCall {
  readonly delivery: Delivery;
  readonly exportCall: ExportCall;
  readonly program: Program;
  readonly outcome: GuestOutcome;
  readonly effects: CallEffects;
  /** The `host` of channel ends that clients of this process hold. */
  readonly process: string;
  readonly peers: PeerCheck;
}

export function turnOfCall(finished: FinishedCall, state: GuestState["state"]): Turn<GuestState> {
  const { outcome, exportCall, effects } = finished;
  if (outcome.end === "ok") return succeeded(finished, outcome, state);
  if (outcome.end !== "lost") return failed(finished, outcome);
  const reply = failedReply("OUTCOME_UNKNOWN", unknownOutcome(outcome.message));
  const send = closeOpened(effects, "its opener lost it");
  if (exportCall.isStart) return { state: exportCall.state, reply, send, stop: "its start was lost" };
  // Spawned children belong to the actor although the outcome is unknown, and opened channels must be closed. A refusal could do neither.
  if (effects.spawned.size + effects.stopped.size + send.length > 0) return { state: withChildren(exportCall.state, effects), reply, send };
  return refusal("OUTCOME_UNKNOWN", unknownOutcome(outcome.message));
}

const unknownOutcome = (message: string): string =>
  `${message} What it did outside is in the event's record: look there before asking again.`;

/** These changes have already happened, whatever the outcome. */
function withChildren(state: GuestState, { spawned, stopped }: CallEffects): GuestState {
  if (spawned.size + stopped.size === 0) return state;
  const children = Object.entries({ ...state.children, ...Object.fromEntries(spawned) }).filter(([uid]) => !stopped.has(uid));
  return { ...state, children: Object.fromEntries(children) };
}

// ── success ───────────────────────────────────────────────────────────────────

type Ok = Extract<GuestOutcome, { readonly end: "ok" }>;

function succeeded(finished: FinishedCall, outcome: Ok, state: GuestState["state"]): Turn<GuestState> {
  const { delivery, exportCall, effects } = finished;
  const { reply, change = unchanged } = exportCall.answer?.(outcome.back, effects) ?? NULL_ANSWER;
  const channels = Object.entries({ ...exportCall.state.channels, ...Object.fromEntries(effects.opened) }).filter(
    ([channel]) => !effects.closed.has(channel),
  );
  const next = change({
    ...withChildren(exportCall.state, effects),
    state,
    channels: Object.fromEntries(channels),
    outstanding: exportCall.state.outstanding.filter((id) => !effects.answers.has(id)),
  });
  const turn = { state: next, reply, ...answers(effects, exportCall) };
  if (effects.shutdown !== undefined) return shutdownTurn(delivery, turn, effects, effects.shutdown.data);
  const stale = staleChannels(next.channels, { process: finished.process, stopped: finished.peers.stopped });
  const unconfirmed = [...finished.peers.unconfirmed].filter(([channel]) => Object.hasOwn(next.channels, channel));
  return {
    ...turn,
    state: markClosing(next, stale),
    send: [...effects.sends, ...stale.map((channel) => closeStale(delivery.self, channel)), ...unconfirmed.map(checkMessage)],
    emit: effects.emits,
  };
}

const NULL_ANSWER: CallAnswer = { reply: { ok: null } };

const unchanged = (state: GuestState): GuestState => state;

function answers({ answers: given }: CallEffects, { request }: ExportCall): Pick<Turn<GuestState>, "answer"> {
  const later = [...given].filter(([id]) => id !== request);
  return later.length === 0 ? {} : { answer: Object.fromEntries(later) };
}

type TurnWithState = Turn<GuestState> & { readonly state: GuestState; readonly reply: NonNullable<Turn<GuestState>["reply"]> };

function shutdownTurn({ self }: Delivery, turn: TurnWithState, effects: CallEffects, data: Uint8Array | undefined): Turn<GuestState> {
  const { parent, channels } = turn.state;
  const why = "the actor has shut down";
  const sends = [...effects.sends];
  const emit = [...effects.emits];
  for (const [channel, end] of Object.entries(channels)) notifyClosed(channel, end, why, sends, emit);
  if (parent !== undefined)
    sends.push({ to: parent, action: "child-exit", args: { child: self, ...(data === undefined ? {} : { data: base64(data) }) } });
  return {
    ...turn,
    state: { ...turn.state, channels: {} },
    // After the shutdown no one could answer it.
    reply:
      turn.reply === "later" ? failedReply("ActorNotRunning", "The actor has shut down without an answer: start it again.") : turn.reply,
    send: sends,
    emit,
    stop: SHUTDOWN,
  };
}

function notifyClosed(channel: string, end: ChannelEnd, why: string, sends: Outgoing[], emit: Json[]): void {
  if ("actor" in end) sends.push(closeMessage(end.actor, channel, why));
  else emit.push({ channel, closed: why });
}

// ── failure ──────────────────────────────────────────────────────────────────

type Failure = Exclude<GuestOutcome, { readonly end: "ok" | "lost" }>;

function failed({ delivery, exportCall, program, effects }: FinishedCall, outcome: Failure): Turn<GuestState> {
  const message = sentence(outcome);
  const state = withChildren(exportCall.state, effects);
  const paused: GuestState = { ...state, status: "paused", failed: { seq: delivery.seq, message } };
  const closed = closeOpened(effects, "its opener failed");
  if (exportCall.isStart)
    return { state: paused, reply: failedReply("ActorInitializationError", message), send: closed, stop: `its start failed: ${message}` };
  const code = outcome.end === "killed" && outcome.why === "time" ? "Timeout" : "ActorError";
  const toParent = errorToParent(state.parent, delivery, message);
  if (program.manifest.onError === "restart") return { state, reply: failedReply(code, message), send: [...closed, ...toParent] };
  const pauses = Object.values(state.children).map((to): Outgoing => ({ to, action: "pause", args: {} }));
  return { state: paused, reply: failedReply(code, `${message} It is paused.`), send: [...closed, ...toParent, ...pauses] };
}

/** Closes the channels that a failed call opened. */
const closeOpened = ({ opened }: CallEffects, why: string): readonly Outgoing[] =>
  [...opened].flatMap(([channel, end]) => ("actor" in end ? [closeMessage(end.actor, channel, why)] : []));

const PREFIX: Readonly<Record<Failure["end"], string>> = { error: "The guest failed: ", trap: "Trap: ", killed: "" };

function sentence({ end, message }: Failure): string {
  const text = message.slice(0, MAX_MESSAGE).toWellFormed().trim();
  if (text === "") return "The guest failed, and did not say why.";
  return `${PREFIX[end]}${text}${/[.!?…]$/u.test(text) ? "" : "."}`;
}

function errorToParent(parent: ActorId | undefined, { self, seq }: Delivery, message: string): readonly Outgoing[] {
  return parent === undefined ? [] : [{ to: parent, action: "child-error", args: { child: self, message, event: seq } }];
}
