// Owns: what becomes of a turn's reply: the messages that carry it, and the replies that are still pending. Does not own: its check
// (json-check.ts), the rest of a turn (turn.ts).
import {
  type ActorId,
  type JsonObject,
  type EngineError,
  isJsonObject,
  type Json,
  type Message,
  type Outgoing,
  type Remembered,
  type Reply,
  type Step,
  TroupeError,
  type Turn,
} from "../contract/index.ts";
import {
  hasOwn,
  isAddress,
  isTexts,
  missingActorRefusal,
  REPLY_ACTION,
  REPLY_FAILED_ACTION,
  SETTLED_ACTION,
} from "../contract/internal.ts";
import { sha256 } from "./event.ts";
import { CALLER_LEFT, isCallerLeft, mailboxFull } from "./engine-errors.ts";
import { checkReply, isObject } from "./json-check.ts";
import type { Base, CallKey, Circumstances, Incoming } from "./turn.ts";

// ── replies as messages ─────────────────────────────────────────────────────

/** The sender, if it requested the reply as a message (`replyAs`). */
export const askerOf = ({ from, replyAs }: Message): ActorId | undefined => (replyAs === undefined ? undefined : from);

/**
 * The reply that no retry would change, to a sender that requested one with `replyAs`: the actor is missing, the deadline has passed, or
 * the caller has left.
 * Undefined for any other fault, and without `replyAs`: that message may become a dead letter.
 */
export function finalRefusal(message: Message, fault: EngineError): Reply | undefined {
  // What waits only until a message is applied does not read its reply: its failure must stay visible as a dead letter.
  if (askerOf(message) === undefined || message.replyAs === SETTLED_ACTION) return undefined;
  if (isCallerLeft(fault)) return callerLeftRefusal(fault);
  const { code, message: why } = fault;
  return code === "DEADLINE" ? { refused: { code, message: why } } : missingActorRefusal(fault);
}

/** Where a requested reply goes. */
interface ReplyAddress {
  readonly from: ActorId;
  readonly replyAs: string;
  readonly replyContext?: Json;
}

/** The message that carries a reply to the sender that requested it with `replyAs`. Undefined if none was requested. */
export const answerTo = (
  { from, replyAs, replyContext }: Partial<ReplyAddress>,
  self: ActorId,
  of: string,
  reply: Reply,
): Outgoing | undefined =>
  from === undefined || replyAs === undefined
    ? undefined
    : {
        to: from,
        action: replyAs,
        args: { of, to: self, reply, ...(replyContext === undefined ? {} : { context: replyContext }) },
        noStart: true,
      };

/** The reply, as a message, to one that left no event to send it. Undefined if none was requested. */
export function answerMessage(message: Message, reply: Reply, at: number): Message | undefined {
  const answer = answerTo(message, message.to, message.id, reply);
  return answer && derived(message, answer, message.to, at);
}

/**
 * Who hears of a message that became a dead letter: the sender that requested a reply. If the message itself brought the reply to a
 * forwarded one, its receiver hears of it instead: a caller waits there.
 */
export function deadLetterAnswer(message: Message, reply: Reply, at: number): Message | undefined {
  const { to, from, action, args } = message;
  if (action !== REPLY_ACTION || from === undefined || !isJsonObject(args)) return answerMessage(message, reply, at);
  return derived(message, { to, action: REPLY_FAILED_ACTION, args: { ...args, reply }, noStart: true }, from, at);
}

/** A message that follows from another one, without a turn. */
function derived(message: Message, outgoing: Outgoing, from: ActorId, at: number): Message {
  // C5: each replay sends the reply again, in a message of its own.
  const name = message.replays === undefined ? "r" : `r${message.replays}`;
  return {
    ...outgoing,
    id: `${message.id}.${name}`,
    at,
    seed: sha256(`${message.seed}:${name}`).slice(0, 32),
    from,
    ...(message.cause === undefined ? {} : { cause: message.cause }),
    ...(message.trace === undefined ? {} : { trace: message.trace }),
  };
}

/** The id of the first call, if this message was forwarded for it. Its caller gets the progress. */
export const firstCall = ({ replyAs, replyContext }: Partial<ReplyAddress>): string | undefined =>
  replyAs === REPLY_ACTION && isJsonObject(replyContext) && typeof replyContext["root"] === "string" ? replyContext["root"] : undefined;

/** The same, if the message is cancelled with it. */
export const cancelledWith = (message: Partial<ReplyAddress>): string | undefined =>
  isJsonObject(message.replyContext) && message.replyContext["undoing"] === true ? undefined : firstCall(message);

/** C4: a question is no outcome, and neither is that the caller has left: it may call again under the same key. */
const isOutcome = (reply: Reply): boolean => !hasOwn(reply, "needs") && !isCancelledReply(reply);

/** The refusal of a message that ends because its caller has left, or because its time is over. */
export const callerLeftRefusal = ({ code, message }: EngineError): Reply => ({ refused: { code, message, data: CALLER_LEFT } });

/** The caller left before the actor that its call was forwarded to had applied it. */
export const isCancelledReply = (reply: Reply): boolean => hasOwn(reply, "refused") && isCallerLeft(reply.refused);

// ── pending replies ─────────────────────────────────────────────────────────
// A message whose turn returned "later" stays in the row until it is answered, so it survives the process.

const NOTHING: readonly never[] = [];

/** Throws `BAD_TURN` unless each is progress. */
function checkSteps(report: unknown): void {
  if (isJsonObject(report) && Object.values(report).every(isStep)) return;
  throw new TroupeError("BAD_TURN", "A turn's report is by the ids of messages, each `{ done, total?, text? }`: numbers, and a text.");
}

const isStep = (step: unknown): boolean =>
  isObject(step) &&
  Number.isFinite(step["done"]) &&
  (step["total"] === undefined || Number.isFinite(step["total"])) &&
  (step["text"] === undefined || typeof step["text"] === "string");

/** The progress of such messages, pending before or after the turn, by the first calls they are for. That of other ids is ignored. */
export function stepsIn(
  report: NonNullable<Turn<unknown>["report"]>,
  before: JsonObject,
  after: JsonObject,
): Readonly<Record<string, Step>> {
  checkSteps(report);
  const known = Object.entries(report).filter(([id]) => Object.hasOwn(before, id) || Object.hasOwn(after, id));
  return Object.fromEntries(known.map(([id, step]) => [firstCall(pendingReply(after[id] ?? before[id])) ?? id, step]));
}

/** The pending replies after a turn, and what settling some of them sends and remembers. */
export function settlePending(
  base: Base,
  { message, key }: Incoming,
  reply: Reply | "later",
  { stop, answer = NONE, settle = NONE, arrived = NONE, send = NOTHING }: Turn<unknown>,
  { id, seq, keyMs }: Circumstances,
): PendingReplies {
  const until = message.at + keyMs;
  const replies = new PendingReplies(base.extra.pending, id, until);
  if (key !== undefined && reply !== "later" && hasOwn(reply, "ok")) replies.remembered.push({ ...key, reply, until });
  for (const [of, given] of Object.entries(answer)) replies.answer(of, given);
  for (const [of, messageId] of Object.entries(arrived)) replies.arrive(of, messageId);
  if (reply === "later") replies.hold(message, key, base.extra.policy.mailbox);
  for (const [of, { reply: held, after }] of Object.entries(settle))
    replies.wait(of, held, awaited(after, `${base.life}.${seq}`, send.length));
  if (stop !== undefined) replies.end(stop);
  return replies;
}

/** The pending replies of an actor while a turn is planned. Ids that are not pending are ignored. */
class PendingReplies {
  readonly answers: [id: string, reply: Reply][] = [];
  readonly sends: Outgoing[] = [];
  readonly remembered: Remembered[] = [];
  readonly #before: JsonObject;
  #changed: Record<string, Json> | undefined;
  readonly #self: ActorId;
  readonly #until: number;

  /** Keyed replies are remembered until that time. */
  constructor(before: JsonObject, self: ActorId, until: number) {
    this.#before = before;
    this.#self = self;
    this.#until = until;
  }

  /** By message id. The object of before, if nothing has changed. */
  get pending(): JsonObject {
    return this.#changed ?? this.#before;
  }

  answer(of: string, reply: Reply): void {
    if (!Object.hasOwn(this.pending, of)) return;
    checkReply(reply, `answer["${of}"]`);
    this.#settle(of, reply);
  }

  /** The reply to a message that it waited for has arrived. With the last one, the reply is given. */
  arrive(of: string, messageId: string): void {
    if (!Object.hasOwn(this.pending, of)) return;
    const { reply, after } = pendingReply(this.pending[of]);
    if (reply === undefined) return;
    const left = after && withoutArrived(after, messageId);
    if (left === undefined) this.#settle(of, reply);
    else this.#change()[of] = { ...objectOf(this.pending[of]), after: left };
  }

  /** Keeps a message whose turn returned "later". */
  hold(message: Message, key: CallKey | undefined, mailbox: number): void {
    if (Object.keys(this.pending).length >= mailbox) throw mailboxFull(this.#self);
    // What waits only until this message is applied has its answer from this turn.
    const wantsReply = askerOf(message) !== undefined && message.replyAs !== SETTLED_ACTION;
    this.#change()[message.id] = {
      ...key,
      ...(wantsReply ? { from: message.from, replyAs: message.replyAs } : {}),
      ...(message.replyContext === undefined ? {} : { replyContext: message.replyContext }),
    };
  }

  /** Gives the reply once the replies to the messages in `after` have arrived. */
  wait(of: string, reply: Reply, after: Awaited): void {
    if (!Object.hasOwn(this.pending, of)) return;
    checkReply(reply, `settle["${of}"].reply`);
    this.#change()[of] = { ...objectOf(this.pending[of]), reply, after };
  }

  /** The actor stops. What a held reply was for has been applied, so it is given, although what it waits for may still be on its way. */
  end(reason: string): void {
    const stopped: Reply = { refused: { code: "ACTOR_STOPPED", message: `${this.#self} has stopped: ${reason}` } };
    for (const of of Object.keys(this.pending)) this.#settle(of, pendingReply(this.pending[of]).reply ?? stopped);
  }

  #change(): Record<string, Json> {
    return (this.#changed ??= { ...this.#before });
  }

  #settle(of: string, reply: Reply): void {
    this.answers.push([of, reply]);
    const entry = pendingReply(this.pending[of]);
    const answer = answerTo(entry, this.#self, of, reply);
    if (answer !== undefined) this.sends.push(answer);
    if (entry.key !== undefined && isOutcome(reply))
      this.remembered.push({ key: entry.key, call: entry.call ?? "", reply, until: this.#until });
    delete this.#change()[of];
  }
}

interface PendingReply extends Partial<CallKey>, Partial<ReplyAddress> {
  /** Given once the replies to the messages in `after` have arrived. */
  readonly reply?: Reply;
  readonly after?: Awaited | readonly string[];
}

/**
 * Messages that one turn sent, and whose replies have not arrived. All are stored again with each that arrives, so each is one bit. An
 * earlier version stored a list of their ids.
 */
interface Awaited extends JsonObject {
  /** What their ids begin with. */
  readonly turn: string;
  /** In hexadecimal: bit `n` is for the message `n`. */
  readonly left: string;
}

function awaited(ids: readonly string[], turn: string, sent: number): Awaited {
  const wanted = new Set(ids);
  let left = 0n;
  for (let n = 0; n < sent; n += 1) if (wanted.has(`${turn}.${n}`)) left |= 1n << BigInt(n);
  return { turn, left: left.toString(16) };
}

/** Undefined: none is left. */
function withoutArrived(after: Awaited | readonly string[], id: string): Awaited | readonly string[] | undefined {
  if (isTexts(after)) {
    const others = after.filter((one) => one !== id);
    return others.length === 0 ? undefined : others;
  }
  const { turn, left } = after;
  const n = id.startsWith(`${turn}.`) ? Number(id.slice(turn.length + 1)) : Number.NaN;
  const bit = Number.isSafeInteger(n) && n >= 0 && n < 4 * left.length ? 1n << BigInt(n) : 0n;
  const rest = BigInt(`0x${left}`) & ~bit;
  return rest === 0n ? undefined : { turn, left: rest.toString(16) };
}

const NONE: Readonly<Record<string, never>> = {};

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** An entry of `pending`: the key to remember the reply under, and the actor to send it to. */
export function pendingReply(stored: Json | undefined): PendingReply {
  if (!isJsonObject(stored)) return {};
  const { key, call, from, replyAs, replyContext, reply, after } = stored;
  return {
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof call === "string" ? { call } : {}),
    ...(isAddress(from) ? { from } : {}),
    ...(typeof replyAs === "string" ? { replyAs } : {}),
    ...(replyContext === undefined ? {} : { replyContext }),
    ...(isStoredReply(reply) ? { reply } : {}),
    ...(isAwaited(after) || isTexts(after) ? { after } : {}),
  };
}

const isAwaited = (value: Json | undefined): value is Awaited =>
  isJsonObject(value) && typeof value["turn"] === "string" && typeof value["left"] === "string" && /^[0-9a-f]+$/.test(value["left"]);

const isStoredReply = (value: Json | undefined): value is Reply & JsonObject => isJsonObject(value) && hasOwn(value, "ok");
