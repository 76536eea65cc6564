import { seal, sha256 } from "./event.ts";
import type { ChainEvent, Entry, Json, Message, Remembered, Row, Status } from "../contract/index.ts";
import type { Kind } from "./kind.ts";
import { secretsIn, withoutSecrets } from "./redact.ts";
import type { Plan } from "./turn.ts";

/** The chain's parameters at the place the event goes to. */
export interface Place {
  readonly parent: string | null;
  readonly full: boolean;
  readonly messageCount: number;
  readonly lastMessageAt: number;
  readonly consumed: string | undefined;
}

/** In the contract's order of keys, whoever built the message: the same turn has the same text, in which nothing undefined is. */
const recorded = (
  { id, to, action, at, seed, viewer, start, policy, replyAs, from, cause, deadline, trace, answers, can }: Message,
  args: Json,
): object => ({ id, to, action, args, at, seed, viewer, start, policy, replyAs, from, cause, deadline, trace, answers, can });

/** What an event tells of a turn. */
export type Tellable = Pick<Plan, "message" | "life" | "seq" | "state" | "patch" | "sent" | "reply" | "record">;

export function eventOf(kind: Kind, plan: Tellable, parent: string | null, full: boolean): ChainEvent {
  const { message, life, seq, state, patch, sent, reply, record } = plan;
  const { to: actor, at, action: type, cause } = message;
  const { behaviour } = kind;
  const args = behaviour.redact === undefined ? message.args : behaviour.redact(message);
  return seal(
    { actor, life, seq, parent, at, type, cause },
    {
      message: recorded(message, args),
      patch: full ? undefined : patch,
      state: full ? state : undefined,
      version: behaviour.version,
      sent,
      reply,
      // A record may repeat the arguments: what is secret in them is secret in it.
      record: behaviour.redact === undefined || record === undefined ? record : withoutSecrets(record, secretsIn(message.args, args)),
    },
  );
}

/** Sends as messages. The seed follows from the sender's, so that a whole world replays. */
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

export const statusOf = (plan: Plan): Status => (plan.stop === undefined ? "live" : "stopped");

/** Those this turn sets name its event: what they cause does too. */
function wakesOf({ extra, setWakes, stop }: Plan, cause: string): Row["wakes"] {
  if (setWakes.length === 0 || stop !== undefined) return extra.wakes;
  const wakes = { ...extra.wakes };
  for (const name of setWakes) {
    const wake = wakes[name];
    if (wake !== undefined) wakes[name] = { ...wake, cause };
  }
  return wakes;
}

function rowOf(kind: Kind, plan: Plan, { messageCount, lastMessageAt }: Place, eventId: string): Row {
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

export function entryOf(kind: Kind, plan: Plan, place: Place, now: number): Entry {
  const event = eventOf(kind, plan, place.parent, place.full);
  const entry: { -readonly [K in keyof Entry]: Entry[K] } = {
    after: place.parent,
    seq: plan.seq,
    event,
    full: place.full,
    row: rowOf(kind, plan, place, event.id),
    out: plan.sends.length === 0 || plan.extra.muted ? NONE : messagesOf(plan, now, event.id),
  };
  if (place.consumed !== undefined) entry.consumed = place.consumed;
  if (plan.claimed !== undefined) entry.claimed = plan.claimed;
  if (plan.remembered.length > 0) remember(entry, plan.remembered);
  return entry;
}

function remember(entry: { -readonly [K in keyof Entry]: Entry[K] }, [first, ...rest]: readonly Remembered[]): void {
  if (first !== undefined) entry.remember = first;
  if (rest.length > 0) entry.answered = rest;
}

const NONE: readonly Message[] = [];
