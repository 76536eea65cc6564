// Owns: what the commit of a planned turn stores: event, row, outgoing messages; when to store a whole state. Does not own: the plan
// (turn.ts), the texts of an event (event.ts), taking out secrets (redaction.ts).
import type { ChainEvent, Entry, Json, Message, Remembered, Reply, Row, Status } from "../contract/index.ts";
import { storedContext } from "../contract/internal.ts";
import { seal, sha256 } from "./event.ts";
import type { Kind } from "./kind.ts";
import { secretsIn, withoutSecrets } from "./redaction.ts";
import { answerMessage } from "./replies.ts";
import type { Plan } from "./turn.ts";

/** Where the event goes in its chain. */
export interface Position {
  readonly parent: string | null;
  readonly full: boolean;
  readonly messageCount: number;
  readonly lastMessageAt: number;
  readonly consumed: string | undefined;
  /** What the turn changes in indexes, where the engine maintains them. */
  readonly indexed?: Entry["indexed"];
}

/** Always in the same order of keys: the same turn has the same text. */
const recorded = (
  { id, to, action, at, seed, viewer, start, policy, replyAs, from, cause, deadline, trace, answers, can }: Message,
  args: Json,
  replyContext: Json | undefined,
): object => ({ id, to, action, args, at, seed, viewer, start, policy, replyAs, replyContext, from, cause, deadline, trace, answers, can });

/** The parts of a plan that its event stores. */
export type StoredParts = Pick<Plan, "message" | "life" | "seq" | "state" | "patch" | "sent" | "reply" | "record">;

export function eventOf(kind: Kind, plan: StoredParts, parent: string | null, full: boolean): ChainEvent {
  const { message, life, seq, state, patch, sent, reply, record } = plan;
  const { to: actor, at, action: type, cause } = message;
  const { behaviour } = kind;
  const args = behaviour.redact === undefined ? message.args : behaviour.redact(message);
  return seal(
    { actor, life, seq, parent, at, type, cause },
    {
      message: recorded(message, args, storedContext(message.replyContext)),
      patch: full ? undefined : patch,
      state: full ? state : undefined,
      version: behaviour.version,
      sent,
      reply,
      // A record may repeat secret arguments.
      record: behaviour.redact === undefined || record === undefined ? record : withoutSecrets(record, secretsIn(message.args, args)),
    },
  );
}

/** The sends as messages. Each seed is derived from the sender's, so that a system of actors replays. */
export function messagesOf(plan: Plan, at: number, cause: string | undefined): Message[] {
  return plan.sends.map((outgoing, n) => ({
    ...outgoing,
    id: plan.sent[n] ?? "",
    at,
    seed: sha256(`${plan.message.seed}:${n}`).slice(0, 32),
    from: plan.id,
    ...(cause === undefined ? {} : { cause }),
  }));
}

/**
 * A muted actor's own messages are not delivered. One that requests a reply gets a refusal at once, and replies to other actors are
 * delivered, so that no caller waits for ever.
 */
function mutedMessages(plan: Plan, at: number, cause: string | undefined): readonly Message[] {
  return messagesOf(plan, at, cause).flatMap((message, n) => {
    if (plan.replies.includes(n)) return message;
    return answerMessage(message, MUTED, at) ?? [];
  });
}

/** Names no actor, since the caller may be another's. */
const MUTED: Reply = {
  refused: {
    code: "MUTED",
    message: "This actor is a fork: what it sends to others is recorded, but not delivered, so none of them replies.",
  },
};

export const statusOf = (plan: Plan): Status => (plan.stop === undefined ? "live" : "stopped");

/** The timers. Those that this turn sets get its event as their cause. */
function wakesOf({ extra, setWakes, stop }: Plan, cause: string): Row["wakes"] {
  if (setWakes.length === 0 || stop !== undefined) return extra.wakes;
  const wakes = { ...extra.wakes };
  for (const name of setWakes) {
    const wake = wakes[name];
    if (wake !== undefined) wakes[name] = { ...wake, cause };
  }
  return wakes;
}

function rowOf(kind: Kind, plan: Plan, { messageCount, lastMessageAt }: Position, eventId: string): Row {
  const { life, createdAt, extra } = plan;
  const { uid, override, owner, parent, muted, pending } = extra;
  const row: { -readonly [K in keyof Row]: Row[K] } = {
    uid: uid ?? life,
    life,
    version: kind.behaviour.version,
    createdAt,
    lastMessageAt,
    messageCount,
    status: statusOf(plan),
    wakes: wakesOf(plan, eventId),
    pending,
  };
  if (override !== undefined) row.policy = override;
  if (owner !== undefined) row.owner = owner;
  if (parent !== undefined) row.parent = parent;
  if (muted !== undefined) row.muted = muted;
  return row;
}

export function entryOf(kind: Kind, plan: Plan, position: Position, now: number): Entry {
  const event = eventOf(kind, plan, position.parent, position.full);
  const entry: { -readonly [K in keyof Entry]: Entry[K] } = {
    after: position.parent,
    seq: plan.seq,
    event,
    full: position.full,
    row: rowOf(kind, plan, position, event.id),
    out: plan.sends.length === 0 ? NONE : plan.extra.muted ? mutedMessages(plan, now, event.id) : messagesOf(plan, now, event.id),
  };
  if (position.consumed !== undefined) entry.consumed = position.consumed;
  if (position.indexed !== undefined) entry.indexed = position.indexed;
  if (plan.claimed !== undefined) entry.claimed = plan.claimed;
  if (plan.remembered.length > 0) remember(entry, plan.remembered);
  return entry;
}

function remember(entry: { -readonly [K in keyof Entry]: Entry[K] }, [first, ...rest]: readonly Remembered[]): void {
  if (first !== undefined) entry.remember = first;
  if (rest.length > 0) entry.answered = rest;
}

const NONE: readonly Message[] = [];

// ── snapshots ───────────────────────────────────────────────────────────────

/** The events after the last whole state. Every engine decides from them when to store the next one. */
export interface SinceFull {
  readonly events: number;
  /** Total size of the bodies of these events. */
  readonly bytes: number;
  /** Size of the body that holds the state. */
  readonly fullBytes: number;
}

export const NOTHING_SINCE: SinceFull = { events: 0, bytes: 0, fullBytes: 0 };

/** A whole state is written once the patches after the last one exceed its size by this much. */
const SLACK_BYTES = 2_048;
const LONGEST_TAIL = 256;

export const needsSnapshot = ({ events, bytes, fullBytes }: SinceFull): boolean =>
  events >= LONGEST_TAIL || bytes > fullBytes + SLACK_BYTES;

export function sinceAfter({ events, bytes, fullBytes }: SinceFull, { event, full }: Pick<Entry, "event" | "full">): SinceFull {
  const length = event.body?.length ?? 0;
  return full ? { events: 0, bytes: 0, fullBytes: length } : { events: events + 1, bytes: bytes + length, fullBytes };
}
