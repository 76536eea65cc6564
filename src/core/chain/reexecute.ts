// Owns: running the turns of a chain again (law 4: a pure turn, run again, leaves the same event). Does not own: reading or verifying it.
import {
  type ActorId,
  type JsonObject,
  type Behaviour,
  type Body,
  type ChainEvent,
  type Header,
  isJsonObject,
  type Json,
  type Message,
  type Turn,
} from "../contract/index.ts";
import { messageOf } from "../contract/internal.ts";
import { eventOf, type StoredParts } from "./entry.ts";
import { lacksSecret } from "./redaction.ts";
import { readBody, readHeader } from "./event.ts";
import { freezeNew } from "./json-check.ts";
import { kindFrom, type Kind } from "./kind.ts";
import { isOwnId, wakeNameIn } from "./messages.ts";
import { apply } from "./patch.ts";
import { upcast } from "./replay.ts";
import { type Base, begin, freezeMessage, OK_NULL, type Plan, planTurn } from "./turn.ts";

/** A turn whose result differs from its event. */
export interface Mismatch {
  readonly seq: number;
  /** `threw`: the turn throws now. `nothing`: it has no effect now, but its event records one. */
  readonly what: "patch" | "state" | "sent" | "reply" | "record" | "threw" | "nothing";
  readonly recorded?: Json;
  readonly now?: Json;
}

/** The result of running a chain's turns again. */
export interface Reexecution {
  /** How many turns ran again. */
  readonly run: number;
  /** How many events were taken from the record, by reason: work, another version, redacted arguments, erased, the engine's own. */
  readonly taken: Readonly<Record<"work" | "version" | "redacted" | "erased" | "engine", number>>;
  readonly mismatches: readonly Mismatch[];
}

/** The actor before an event. */
interface Before {
  readonly base: Base;
  /** The version of the behaviour that wrote the state. */
  readonly version: number;
}

/**
 * Runs the pure turns of a chain again, from its beginning or from a whole state on, and compares each with its event. Work, and what cannot
 * run again, is taken from the record. Each turn starts from the recorded state, so that one mismatch does not cause others. Throws only if
 * the chain itself cannot be read.
 */
export function reexecute(behaviour: Behaviour, events: Iterable<ChainEvent>): Reexecution {
  const running = new Reexecuting(behaviour);
  const mismatches: Mismatch[] = [];
  for (const event of events) mismatches.push(...running.next(event));
  const { run, taken } = running;
  return { run, taken, mismatches };
}

/** The same, event by event, for a chain that does not fit in memory. */
export class Reexecuting {
  run = 0;
  readonly taken = { work: 0, version: 0, redacted: 0, erased: 0, engine: 0 };
  readonly #kind: Kind;
  #before: Before | undefined;

  constructor(behaviour: Behaviour) {
    this.#kind = kindFrom(behaviour);
  }

  /** Takes the next event. Returns how its turn differs. */
  next(event: ChainEvent): readonly Mismatch[] {
    const header = readHeader(event);
    const body = readBody(event);
    if (body === undefined) {
      this.taken.erased += 1;
      this.#before = undefined;
      return [];
    }
    const why = reasonToTake(this.#kind.behaviour, header, body, this.#before);
    const outcome = why ?? again(this.#kind, header, body, event, this.#before);
    const isTaken = typeof outcome === "string";
    if (isTaken) this.taken[outcome] += 1;
    else this.run += 1;
    this.#before = after(this.#kind, header, body, this.#before, isTaken ? undefined : outcome.plan);
    return isTaken ? [] : outcome.mismatches;
  }
}

type Reason = keyof Reexecution["taken"];

function reasonToTake(behaviour: Behaviour, header: Header, body: Body, before: Before | undefined): Reason | undefined {
  if (isEngines(header, body)) return "engine";
  if (body.version !== behaviour.version) return "version";
  if (isMessage(body.message) && lacksSecret(body.message)) return "redacted";
  return before === undefined && !begins(header, before, body) ? "erased" : undefined;
}

/** Whether the engine wrote it, not `receive`. A behaviour may have messages of the same names. */
export function isEngines({ type, life, parent, cause }: Header, { message, state, patch, record }: Body): boolean {
  if (!isMessage(message)) return true;
  const { id, args } = message;
  if (isJsonObject(record) && patch === undefined && typeof record["dropped"] === "string" && Object.keys(record).length === 1)
    return wakeNameIn(id, life) !== undefined;
  if (type === "stop") return isOwnId(id);
  if (state === undefined || !isJsonObject(args)) return false;
  if (type === "checkpoint") return args["head"] === parent && Object.keys(args).length === 1;
  if (type === "revert")
    return (
      args["head"] === parent && typeof args["to"] === "number" && typeof args["reason"] === "string" && Object.keys(args).length === 3
    );
  if (type === "edit")
    return args["head"] === parent && typeof args["reason"] === "string" && Object.keys(args).length === (args["force"] === true ? 3 : 2);
  return type === "fork" && parent === null && args["head"] === cause && typeof args["life"] === "string";
}

const begins = (header: Header, before: Before | undefined, body: Body): boolean =>
  before === undefined ? header.seq === 1 : before.base.life !== header.life && body.state !== undefined;

export const isMessage = (value: unknown): value is Message =>
  isJsonObject(value) && typeof value["id"] === "string" && typeof value["action"] === "string" && typeof value["seed"] === "string";

function again(
  kind: Kind,
  header: Header,
  body: Body,
  event: ChainEvent,
  before: Before | undefined,
): Reason | { readonly mismatches: readonly Mismatch[]; readonly plan: Plan | undefined } {
  const { seq } = header;
  const { message } = body;
  if (!isMessage(message)) return "engine";
  const born = begins(header, before, body);
  let plan: Plan | undefined;
  try {
    const base = born || before === undefined ? begin(kind, header.actor, message) : upcastBase(kind, header.actor, before);
    freezeMessage(message);
    const turn = kind.behaviour.receive(base.state, message, header.life, seq, base.extra.uid ?? header.life);
    if (typeof turn === "function") return "work";
    plan = planTurn(base, { message, key: undefined, wake: wakeNameIn(message.id, header.life) }, turn, {
      id: header.actor,
      seq,
      born,
      keyMs: 0,
      answersElsewhere: false,
      parentKnows: false,
      whole: false,
    });
    const sent = plan?.sent.map((id) => header.life + id.slice(plan?.life.length)) ?? [];
    const parts: StoredParts = { ...(plan ?? idle(base, message, seq, turn)), life: header.life, sent };
    const now = readBody(eventOf(kind, parts, header.parent, body.state !== undefined));
    const mismatches = now === undefined ? [] : compare(seq, body, now);
    return { mismatches: plan === undefined && mismatches.length > 0 ? [{ seq, what: "nothing" }] : mismatches, plan };
  } catch (error) {
    return { mismatches: [{ seq, what: "threw", now: messageOf(error) }], plan };
  }
}

/** The event of a turn without effect. Older versions stored one if a turn undid its changes, so it is no mismatch. */
const idle = ({ state, life }: Base, message: Message, seq: number, { reply = OK_NULL }: Turn<unknown>): StoredParts => ({
  message,
  life,
  seq,
  state,
  patch: undefined,
  sent: [],
  reply,
  record: undefined,
});

function upcastBase(kind: Kind, id: ActorId, { base, version }: Before): Base {
  if (version === kind.behaviour.version) return base;
  const { state, failure } = upcast(kind, id, { state: base.state, version });
  if (failure) throw failure;
  return { ...base, state };
}

function compare(seq: number, recorded: Body, now: Body): Mismatch[] {
  const found: Mismatch[] = [];
  for (const what of ["patch", "state", "sent", "reply", "record"] as const) {
    const was = recorded[what];
    const is = now[what];
    if (JSON.stringify(was) !== JSON.stringify(is))
      found.push({ seq, what, ...(was === undefined ? {} : { recorded: was }), ...(is === undefined ? {} : { now: is }) });
  }
  return found;
}

/** The actor after the event: its recorded state, and from the plan what events do not record. */
function after(kind: Kind, header: Header, body: Body, before: Before | undefined, plan: Plan | undefined): Before | undefined {
  const state =
    body.state ??
    (before && (body.patch === undefined ? before.base.state : apply(patchBase(kind, header.actor, before, body.version), body.patch)));
  if (state === undefined) return undefined;
  const sameLife = before !== undefined && before.base.life === header.life;
  const extra = plan?.extra ?? (sameLife ? before.base.extra : kind.plain);
  const base: Base = {
    // Frozen as in an engine, so that code that writes to it throws again.
    state: freezeNew(before?.base.state, state),
    life: header.life,
    createdAt: sameLife ? before.base.createdAt : header.at,
    extra: plan === undefined ? { ...extra, pending: pendingAfter(extra.pending, body) } : extra,
    bytes: 0,
  };
  return { base, version: body.version };
}

/** The state that a patch applies to: migrated, if its writer did so and is the current version. Older migrations are not available. */
function patchBase(kind: Kind, id: ActorId, before: Before, version: number): Json {
  return version === before.version || version !== kind.behaviour.version ? before.base.state : upcastBase(kind, id, before).state;
}

function pendingAfter(pending: JsonObject, body: Body): JsonObject {
  const { reply } = body;
  const message: unknown = body.message;
  if (reply !== "later" || !isMessage(message)) return pending;
  const { id, from, replyAs, replyContext } = message;
  const address = from === undefined || replyAs === undefined ? {} : { from, replyAs };
  return { ...pending, [id]: { ...address, ...(replyContext === undefined ? {} : { replyContext }) } };
}
