import { seal, sha256 } from "./event.ts";
import type { Body, ChainEvent, Entry, Json, Message, Row, Status } from "../contract/index.ts";
import { isJsonObject } from "./json-check.ts";
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

/** In the contract's order of keys, whoever built the message: the same turn has the same text. */
function recorded(kind: Kind, message: Message): Json {
  const kept: Record<string, Json> = {};
  for (const key of KEYS) {
    const value: unknown = message[key];
    if (isTold(value)) kept[key] = value;
  }
  const { behaviour } = kind;
  if (behaviour.redact) kept["args"] = behaviour.redact(message);
  return kept;
}

const KEYS = [
  "id",
  "to",
  "action",
  "args",
  "at",
  "seed",
  "viewer",
  "start",
  "policy",
  "replyAs",
  "from",
  "cause",
  "deadline",
  "trace",
  "answers",
  "can",
] as const satisfies readonly (keyof Message)[];

/** A message is plain JSON by its type. */
const isTold = (value: unknown): value is Json => value !== undefined;

/** What an event tells of a turn. */
export type Tellable = Pick<Plan, "message" | "life" | "seq" | "state" | "patch" | "sent" | "reply" | "record">;

export function eventOf(kind: Kind, plan: Tellable, parent: string | null, full: boolean): ChainEvent {
  const { message } = plan;
  const told = recorded(kind, message);
  const body: Body = {
    message: told,
    ...(full ? { state: plan.state } : plan.patch === undefined ? {} : { patch: plan.patch }),
    version: kind.behaviour.version,
    sent: plan.sent,
    reply: plan.reply,
    ...(plan.record === undefined ? {} : { record: recordOf(kind, message, told, plan.record) }),
  };
  return seal(
    {
      actor: message.to,
      life: plan.life,
      seq: plan.seq,
      parent,
      at: message.at,
      type: message.action,
      ...(message.cause === undefined ? {} : { cause: message.cause }),
    },
    body,
  );
}

/** A record may repeat the arguments: what is secret in them is secret in it. */
function recordOf(kind: Kind, message: Message, told: Json, record: Json): Json {
  if (kind.behaviour.redact === undefined || !isJsonObject(told)) return record;
  return withoutSecrets(record, secretsIn(message.args, told["args"] ?? null));
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
  const { uid, override, owner, parent, muted, pending } = plan.extra;
  return {
    uid: uid ?? plan.life,
    life: plan.life,
    version: kind.behaviour.version,
    createdAt: plan.createdAt,
    lastMessageAt,
    messageCount,
    ...(override === undefined ? {} : { policy: override }),
    status: statusOf(plan),
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parent }),
    ...(muted === undefined ? {} : { muted }),
    wakes: wakesOf(plan, eventId),
    pending,
  };
}

export function entryOf(kind: Kind, plan: Plan, place: Place, now: number): Entry {
  const event = eventOf(kind, plan, place.parent, place.full);
  const [first, ...rest] = plan.remembered;
  return {
    after: place.parent,
    seq: plan.seq,
    event,
    full: place.full,
    row: rowOf(kind, plan, place, event.id),
    out: plan.sends.length === 0 || plan.extra.muted ? NONE : messagesOf(plan, now, event.id),
    ...(place.consumed === undefined ? {} : { consumed: place.consumed }),
    ...(first === undefined ? {} : { remember: first }),
    ...(rest.length === 0 ? {} : { answered: rest }),
    ...(plan.claimed === undefined ? {} : { claimed: plan.claimed }),
  };
}

const NONE: readonly Message[] = [];
