/**
 * A turn as data becomes what its commit needs, or throws and leaves no trace (C3).
 * Nothing here touches the cell.
 */
import { answerTo } from "./answer.ts";
import { checkReply, checkTold } from "./checked-turn.ts";
import { diffChanges } from "./diff.ts";
import { freezeNew } from "./freeze.ts";
import { check } from "./json-check.ts";
import {
  EngineError,
  type ActorId,
  type Bag,
  type Behaviour,
  type Json,
  type Message,
  type Outgoing,
  type Policy,
  type Remembered,
  type Reply,
  type Turn,
  type Work,
  TroupeError,
} from "../contract/index.ts";
import { type Changes, DirtyPaths, freezeDeep, hasOwn, unserialisableError } from "../contract/internal.ts";
import { sha256 } from "./event.ts";
import { keyOf } from "./key-of.ts";
import { stateTooLarge } from "./faults.ts";
import { overrideOf, policyWith, type Extra, type Kind } from "./kind.ts";
import { answersIn, settlePending, stepsIn } from "./pending.ts";
import { atMostBytes, exactBytes } from "./size.ts";
import { namesSet, wakesAfter } from "./wakes.ts";

export const OK_NULL: Reply = { ok: null };
const NOTHING: readonly never[] = [];

/** What a turn starts from: a live cell, or an actor that begins with it. */
export interface Base {
  readonly state: Json;
  readonly life: string;
  readonly createdAt: number;
  readonly extra: Extra;
  /** An upper bound of the state's bytes. */
  readonly bytes: number;
}

export interface Plan extends Base {
  readonly id: ActorId;
  readonly message: Message;
  readonly born: boolean;
  readonly seq: number;
  /** Undefined where nothing differs, and where nobody asks. */
  readonly patch: Json | undefined;
  readonly reply: Reply | "later";
  /** To messages that were told "later". */
  readonly answers: readonly (readonly [id: string, reply: Reply])[];
  readonly remembered: readonly Remembered[];
  /** The keyed call that was told "later". */
  readonly claimed: Omit<Remembered, "reply"> | undefined;
  readonly sends: readonly Outgoing[];
  readonly sent: readonly string[];
  readonly stop: string | undefined;
  /** Names of the wakes this turn sets. */
  readonly setWakes: readonly string[];
  /** Its wakes or its expiry are others than before. */
  readonly timed: boolean;
  /** The asker's answer is among the sends, or due. */
  readonly answered: boolean;
  readonly record: Json | undefined;
  readonly emit: readonly Json[] | undefined;
  readonly report: Turn<unknown>["report"];
  readonly restart: Turn<unknown>["restart"];
}

/** What goes over into another life: the actor's name for others, and that it is a fork nobody shall hear. */
export type Before = Pick<Extra, "uid" | "muted">;

const NEW: Before = {};

/** The actor's first state. Throws what `initial` throws, or that it is no JSON. */
export function begin(kind: Kind, id: ActorId, message: Message, { uid, muted }: Before = NEW): Base {
  const override = overrideOf(kind, message.start === undefined ? undefined : message.policy);
  const policy = policyWith(kind, override);
  freezeMessage(message);
  const state: unknown = kind.behaviour.initial(keyOf(id), message);
  try {
    check(state, "state", policy.maxStateBytes);
  } catch (error) {
    throw ofActor(error, id, policy);
  }
  freezeNew(undefined, state);
  const owner = policy.owner === "starter" ? message.viewer?.principal : undefined;
  const parent = hasParent(kind) ? message.from : undefined;
  const extra =
    override === undefined && owner === undefined && parent === undefined && uid === undefined && muted === undefined
      ? kind.plain
      : {
          ...kind.plain,
          policy,
          ...(uid === undefined ? {} : { uid }),
          ...(muted === undefined ? {} : { muted }),
          ...(override === undefined ? {} : { override }),
          ...(owner === undefined ? {} : { owner }),
          ...(parent === undefined ? {} : { parent }),
        };
  return { state, life: lifeOf(message), createdAt: message.at, extra, bytes: bounded(id, state, atMostBytes(state), policy) };
}

/** What stands for a viewer or for all belongs to no other actor, whoever wrote to it first. */
export const hasParent = ({ behaviour: { per, begins } }: Kind): boolean => (per === undefined || per === "link") && begins !== true;

/** What the behaviour gives, where it is a turn or work. Throws what it throws. */
export function received<S>(
  behaviour: Behaviour<S>,
  state: S,
  { life, extra }: Pick<Base, "life" | "extra">,
  message: Message,
  seq: number,
): Turn<S> | Work<S> {
  freezeMessage(message);
  const effect = behaviour.receive(state, message, life, seq, extra.uid ?? life);
  if (isEffect(effect)) return effect;
  throw new TypeError("`receive` gave neither a turn nor work: what waits is returned as a function.");
}

/** Before behaviours see it: a message is kept, and delivered again, as it was sent (C3). */
export function freezeMessage({ args, start, answers }: Message): void {
  freezeDeep(args);
  if (start !== undefined) freezeDeep(start);
  if (answers !== undefined) freezeDeep(answers);
}

const isEffect = (effect: unknown): effect is Turn<unknown> | Work<unknown> =>
  typeof effect === "function" || (typeof effect === "object" && effect !== null && !("then" in effect));

/** An actor's life follows from the seed of its first message: whoever runs that turn again begins the same life. */
function lifeOf({ seed }: Message): string {
  const hex = sha256(`${seed}:life`);
  // Joined, not added: every live actor keeps it, and a text that was added up keeps its pieces.
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}

/** C4: the name of a call, scoped to its principal, and the hash of what it asks for. */
export interface CallKey {
  readonly key: string;
  readonly call: string;
}

/** A message on its way to a turn. */
export interface Incoming {
  readonly message: Message;
  /** Its reply is remembered under it. */
  readonly key: CallKey | undefined;
  /** The wake it is, and the actor's business to take it off the row. */
  readonly wake: string | undefined;
}

export interface Circumstances {
  readonly id: ActorId;
  readonly seq: number;
  readonly born: boolean;
  /** How long keyed replies are remembered. */
  readonly keyMs: number;
  /** The reply to a message with `replyAs` leaves by other means than this commit. */
  readonly answersElsewhere: boolean;
  /** The parent stops too, and need not be told. */
  readonly parentKnows: boolean;
  /** The event tells the state, and not its patch. */
  readonly whole: boolean;
}

/** Undefined: the turn has no effect, only a reply. */
export function planTurn(base: Base, job: Incoming, turn: Turn<unknown>, now: Circumstances): Plan | undefined {
  // Read once: what is checked is what is kept.
  const reply = turn.reply ?? OK_NULL;
  if (reply !== OK_NULL && reply !== "later") checkReply(reply, "reply");
  return reply !== "later" && isPlain(job, turn, reply, now)
    ? planState(base, job.message, turn, reply, now)
    : planAll(base, job, turn, reply, now);
}

/** Nearly all turns: a reply, another state perhaps, and no more. */
const isPlain = ({ key, wake, message }: Incoming, turn: Turn<unknown>, reply: Reply, { born }: Circumstances): boolean =>
  !born &&
  key === undefined &&
  wake === undefined &&
  message.replyAs === undefined &&
  hasOwn(reply, "ok") &&
  turn.send === undefined &&
  turn.wake === undefined &&
  turn.answer === undefined &&
  turn.report === undefined &&
  turn.restart === undefined &&
  turn.stop === undefined &&
  turn.record === undefined &&
  turn.emit === undefined;

// Apart, and short: what all turns pass is compiled into one piece with what calls it.
function planState(
  base: Base,
  message: Message,
  { state: after, dirty }: Turn<unknown>,
  reply: Reply,
  now: Circumstances,
): Plan | undefined {
  if (after === undefined || after === base.state) return undefined;
  const { state, bytes, patch } = changed(base, after, dirty, now);
  return {
    id: now.id,
    message,
    born: false,
    seq: now.seq,
    life: base.life,
    createdAt: base.createdAt,
    state,
    bytes,
    patch,
    extra: base.extra,
    reply,
    answers: NOTHING,
    remembered: NOTHING,
    claimed: undefined,
    sends: NOTHING,
    sent: NOTHING,
    stop: undefined,
    setWakes: NOTHING,
    timed: false,
    answered: false,
    record: undefined,
    emit: undefined,
    report: undefined,
    restart: undefined,
  };
}

interface ChangedState {
  readonly state: Json;
  readonly bytes: number;
  readonly patch: Json | undefined;
}

const same = ({ state, bytes }: Base): ChangedState => ({ state, bytes, patch: undefined });

/** `dirty` comes from the behaviour, so it may be anything. */
function changed(base: Base, after: unknown, dirty: unknown, now: Circumstances): ChangedState {
  const changes = DirtyPaths.between(dirty, base.state, after);
  const known = now.whole ? changes?.growth : undefined;
  const patch = known === undefined ? patchOf(base, after, changes, now) : undefined;
  const growth = known ?? (patch === undefined ? 0 : atMostBytes(patch));
  if (growth === 0) return same(base);
  trustWalked(after);
  return { state: after, bytes: bounded(now.id, after, base.bytes + growth, base.extra.policy), patch };
}

function patchOf(base: Base, after: unknown, changes: Changes | undefined, { id }: Circumstances): Json | undefined {
  const { policy } = base.extra;
  try {
    const patch = diffChanges(base.state, after, policy.maxStateBytes, changes);
    if (patch !== undefined && changes === undefined) freezeNew(base.state, after);
    return patch;
  } catch (error) {
    throw ofActor(error, id, policy);
  }
}

function planAll(base: Base, job: Incoming, turn: Turn<unknown>, reply: Reply | "later", now: Circumstances): Plan | undefined {
  const { message } = job;
  const vain = reply !== "later" && !hasOwn(reply, "ok");
  if (vain && now.born) return undefined;
  const answersHere = message.replyAs !== undefined && message.from !== undefined && reply !== "later" && !now.answersElsewhere;
  // C3: of what came with a refusal only what was recorded stays: what work did outside is done.
  const effects: Turn<unknown> = !vain ? turn : hasOwn(reply, "refused") ? recordOf(turn) : {};
  if (effects.emit !== undefined) for (const [index, line] of effects.emit.entries()) checkTold(line, `emit[${index}]`);
  if (effects.record !== undefined) checkTold(effects.record, "record");
  for (const child of effects.restart ?? NOTHING) keyOf(child);
  const { state: after = base.state, dirty } = effects;
  const differs = after !== base.state;
  if (!now.born && !differs && job.wake === undefined && !answersHere && reply !== "later" && !hasEffect(effects)) return undefined;

  const { policy } = base.extra;
  const { state, bytes, patch } = differs ? changed(base, after, dirty, now) : same(base);
  const sends = sendsOf(effects, message);
  const answers = effects.answer === undefined ? NOTHING : answersIn(effects.answer, base.extra.pending);
  const settled = settlePending(base, job, reply, answers, effects.stop, now);
  if (settled.sends.length > 0) sends.push(...settled.sends);
  if (effects.stop !== undefined && base.extra.parent !== undefined && !now.parentKnows)
    sends.push({ to: base.extra.parent, action: "ended", args: { child: now.id, reason: effects.stop } });
  if (answersHere && message.replyAs !== undefined && message.from !== undefined)
    sends.push(answerTo(message.from, message.replyAs, now.id, message.id, reply));
  const wakes = effects.stop === undefined ? wakesAfter(base, job, effects) : {};
  const { seq } = now;
  const { trace } = message;
  const out = trace === undefined || sends.length === 0 ? sends : traced(sends, trace);
  return {
    id: now.id,
    message,
    born: now.born,
    seq,
    life: base.life,
    createdAt: base.createdAt,
    state,
    bytes,
    patch,
    extra:
      wakes === base.extra.wakes && settled.pending === base.extra.pending
        ? base.extra
        : { ...base.extra, wakes, pending: settled.pending },
    reply,
    answers: settled.answers,
    remembered: settled.remembered,
    claimed: reply === "later" && job.key !== undefined ? { ...job.key, until: message.at + now.keyMs } : undefined,
    sends: out,
    sent: sends.length === 0 ? NOTHING : idsOf(sends, base.life, seq),
    stop: effects.stop,
    setWakes: effects.wake === undefined ? NOTHING : namesSet(effects.wake),
    timed: wakes !== base.extra.wakes || effects.stop !== undefined || (now.born && policy.expireMs !== undefined),
    answered: answersHere || reply === "later",
    record: effects.record,
    emit: effects.emit,
    report: effects.report && stepsIn(effects.report, base.extra.pending, settled.pending),
    restart: effects.restart,
  };
}

// Apart from the turn: what a function closes over it puts on the heap each time it is entered.
const idsOf = (sends: readonly Outgoing[], life: string, seq: number): readonly string[] => sends.map((_, n) => `${life}.${seq}.${n}`);

const traced = (sends: readonly Outgoing[], trace: Bag): readonly Outgoing[] =>
  sends.map((outgoing) => (outgoing.trace === undefined ? { ...outgoing, trace } : outgoing));

const recordOf = ({ record }: Turn<unknown>): Turn<unknown> => (record === undefined ? {} : { record });

const hasEffect = (turn: Turn<unknown>): boolean =>
  turn.record !== undefined ||
  (turn.send !== undefined && turn.send.length > 0) ||
  turn.stop !== undefined ||
  (turn.wake !== undefined && Object.keys(turn.wake).length > 0) ||
  (turn.answer !== undefined && Object.keys(turn.answer).length > 0) ||
  (turn.report !== undefined && Object.keys(turn.report).length > 0) ||
  (turn.restart !== undefined && turn.restart.length > 0);

function sendsOf(turn: Turn<unknown>, { trace: known }: Message): Outgoing[] {
  if (turn.send === undefined) return [];
  return turn.send.map((outgoing, index) => {
    keyOf(outgoing.to);
    check(outgoing.args, `send[${index}].args`);
    if (outgoing.start !== undefined) checkTold(outgoing.start, `send[${index}].start`);
    const { to, viewer, policy, trace } = outgoing;
    if (viewer === undefined && policy === undefined && (trace === undefined || trace === known)) return outgoing;
    const wrong = unserialisableError(to, { ...(viewer && { viewer }), ...(policy && { policy }), ...(trace && { trace }) });
    if (wrong !== undefined) throw new TroupeError("BAD_TURN", wrong.message);
    return outgoing;
  });
}

/** Measures only where the bound could have been passed: summed patches never say less than the state takes. */
function bounded(id: ActorId, state: Json, atMost: number, { maxStateBytes }: Policy): number {
  if (atMost <= maxStateBytes) return atMost;
  const bytes = exactBytes(state);
  if (bytes > maxStateBytes) throw stateTooLarge(id, maxStateBytes);
  return bytes;
}

/** A walk that ends at the bound knows neither whose state it is nor what it may take. */
const ofActor = (error: unknown, id: ActorId, { maxStateBytes }: Policy): unknown =>
  error instanceof EngineError && error.code === "STATE_TOO_LARGE" ? stateTooLarge(id, maxStateBytes) : error;

/** What is new in it has been walked; what is old was walked before. */
function trustWalked(_state: unknown): asserts _state is Json {}
