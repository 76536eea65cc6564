/**
 * What a call comes to.
 *
 * C3: a call that failed sends nothing of what it gathered; that it failed is a state of its own, so it is told as an answer.
 * C5: what a call sends leaves with its commit.
 */
import type { ActorId, Json, Outgoing, Turn } from "../../../core/contract/index.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import type { Gathered } from "../host/call-effects.ts";
import { type Ends, marked, staleIn, toCheck, toClose } from "./channel-peers.ts";
import type { Program } from "./program-cache.ts";
import { type Entered, failedReply, refused, type Visit } from "./guest-context.ts";
import { base64 } from "../host/values.ts";
import type { GuestOutcome } from "../sandbox.ts";

const SHUTDOWN = "shutdown";
const LONGEST_MESSAGE = 4_096;

export interface Ended {
  readonly at: Entered;
  readonly visit: Visit;
  readonly program: Program;
  readonly outcome: GuestOutcome;
  readonly gathered: Gathered;
  /** The `host` of channel ends in this process. */
  readonly process: string;
  readonly ends: Ends;
}

export function turnOf(ended: Ended, state: GuestState["state"]): Turn<GuestState> {
  const { outcome, visit, gathered } = ended;
  if (outcome.end === "ok") return succeeded(ended, outcome, state);
  if (outcome.end !== "lost") return failed(ended, outcome);
  const reply = failedReply("OUTCOME_UNKNOWN", lost(outcome.message));
  const send = closing(gathered, "its opener lost it");
  if (visit.begins) return { state: visit.state, reply, send, stop: "its start was lost" };
  // Children that were born meanwhile are the actor's whatever is known of the rest, channels are nobody's: a refusal would not say so.
  if (gathered.born.size + gathered.ended.size + send.length > 0) return { state: withFamily(visit.state, gathered), reply, send };
  return refused("OUTCOME_UNKNOWN", lost(outcome.message));
}

const lost = (message: string): string => `${message} What it did outside is in the event's record: look there before asking again.`;

/** Done already, whatever became of the call. */
function withFamily(state: GuestState, { born, ended }: Gathered): GuestState {
  if (born.size + ended.size === 0) return state;
  const children = Object.entries({ ...state.children, ...Object.fromEntries(born) }).filter(([uid]) => !ended.has(uid));
  return { ...state, children: Object.fromEntries(children) };
}

// ── it went well ─────────────────────────────────────────────────────────────

type Ok = Extract<GuestOutcome, { readonly end: "ok" }>;

function succeeded(ended: Ended, outcome: Ok, state: GuestState["state"]): Turn<GuestState> {
  const { at, visit, gathered } = ended;
  const { reply, change = same } = visit.answer(outcome.back, gathered);
  const channels = Object.entries({ ...visit.state.channels, ...Object.fromEntries(gathered.opened) }).filter(
    ([channel]) => !gathered.closed.has(channel),
  );
  const next = change({
    ...withFamily(visit.state, gathered),
    state,
    channels: Object.fromEntries(channels),
    outstanding: visit.state.outstanding.filter((id) => !gathered.answers.has(id)),
  });
  const turn = { state: next, reply, ...answers(gathered, visit) };
  if (gathered.shutdown !== undefined) return leaving(at, turn, gathered, gathered.shutdown.data);
  const stale = staleIn(next.channels, { process: ended.process, gone: ended.ends.gone });
  const doubtful = [...ended.ends.doubtful].filter(([channel]) => Object.hasOwn(next.channels, channel));
  return {
    ...turn,
    state: marked(next, stale),
    send: [...gathered.sends, ...stale.map((channel) => toClose(at.self, channel)), ...doubtful.map(toCheck)],
    emit: gathered.emits,
  };
}

const same = (state: GuestState): GuestState => state;

function answers({ answers: given }: Gathered, { request }: Visit): Pick<Turn<GuestState>, "answer"> {
  const later = [...given].filter(([id]) => id !== request);
  return later.length === 0 ? {} : { answer: Object.fromEntries(later) };
}

type Begun = Turn<GuestState> & { readonly state: GuestState; readonly reply: NonNullable<Turn<GuestState>["reply"]> };

function leaving({ self }: Entered, turn: Begun, gathered: Gathered, data: Uint8Array | undefined): Turn<GuestState> {
  const { parent, channels } = turn.state;
  const why = "the actor has shut down";
  const sends = [...gathered.sends];
  const emit = [...gathered.emits];
  for (const [channel, end] of Object.entries(channels)) tellClosed(channel, end, why, sends, emit);
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

function tellClosed(channel: string, end: ChannelEnd, why: string, sends: Outgoing[], emit: Json[]): void {
  if ("actor" in end) sends.push({ to: end.actor, action: "channel-close", args: { channel, why } });
  else emit.push({ channel, closed: why });
}

// ── it failed ────────────────────────────────────────────────────────────────

type Failure = Exclude<GuestOutcome, { readonly end: "ok" | "lost" }>;

function failed({ at, visit, program, gathered }: Ended, outcome: Failure): Turn<GuestState> {
  const message = sentence(outcome);
  const state = withFamily(visit.state, gathered);
  const paused: GuestState = { ...state, status: "paused", failed: { seq: at.seq, message } };
  const closed = closing(gathered, "its opener failed");
  if (visit.begins)
    return { state: paused, reply: failedReply("ActorInitializationError", message), send: closed, stop: `its start failed: ${message}` };
  const code = outcome.end === "killed" && outcome.why === "time" ? "Timeout" : "ActorError";
  const told = toParent(state.parent, at, message);
  if (program.manifest.onError === "restart") return { state, reply: failedReply(code, message), send: [...closed, ...told] };
  const pauses = Object.values(state.children).map((to): Outgoing => ({ to, action: "pause", args: {} }));
  return { state: paused, reply: failedReply(code, `${message} It is paused.`), send: [...closed, ...told, ...pauses] };
}

/** Ends of channels that this call opened and does not keep. */
const closing = ({ opened }: Gathered, why: string): readonly Outgoing[] =>
  [...opened].flatMap(([channel, end]) => ("actor" in end ? [{ to: end.actor, action: "channel-close", args: { channel, why } }] : []));

const SAID: Readonly<Record<Failure["end"], string>> = { error: "The guest failed: ", trap: "Trap: ", killed: "" };

function sentence({ end, message }: Failure): string {
  const said = message.slice(0, LONGEST_MESSAGE).toWellFormed().trim();
  if (said === "") return "The guest failed, and did not say why.";
  return `${SAID[end]}${said}${/[.!?…]$/u.test(said) ? "" : "."}`;
}

function toParent(parent: ActorId | undefined, { self, seq }: Entered, message: string): readonly Outgoing[] {
  return parent === undefined ? [] : [{ to: parent, action: "child-error", args: { child: self, message, event: seq } }];
}
