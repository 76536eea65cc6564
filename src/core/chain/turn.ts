// Owns: planning a turn: from its data to all that its commit needs, or a throw that leaves no trace (C3). Does not own: the commit, or
// what of the plan is stored (entry.ts).
import {
  EngineError,
  type ActorId,
  type JsonObject,
  type Behaviour,
  type Json,
  type Message,
  type Outgoing,
  type Policy,
  type Remembered,
  type Reply,
  type SetWake,
  TroupeError,
  type Turn,
  type Wake,
  type Work,
} from "../contract/index.ts";
import {
  type Changes,
  DirtyPaths,
  freezeDeep,
  hasOwn,
  nextCronTime,
  omitUndefined,
  unserialisableError,
  SETTLED_ACTION,
} from "../contract/internal.ts";
import { sha256 } from "./event.ts";
import { stateTooLarge } from "./engine-errors.ts";
import { atMostBytes, check, checkJson, checkReply, exactBytes, freezeNew } from "./json-check.ts";
import { type Extra, type Kind, overrideOf, policyWith } from "./kind.ts";
import { checkAction, keyOf, storedViewer } from "./messages.ts";
import { diffChanges } from "./patch.ts";
import { answerTo, settlePending, stepsIn } from "./replies.ts";

export const OK_NULL: Reply = { ok: null };
const NOTHING: readonly never[] = [];

/** What a turn starts from: a live actor, or one that this turn starts. */
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
  /** Undefined if nothing differs, or if the event stores the whole state. */
  readonly patch: Json | undefined;
  readonly reply: Reply | "later";
  /** Replies to messages whose turns returned "later". */
  readonly answers: readonly (readonly [id: string, reply: Reply])[];
  readonly remembered: readonly Remembered[];
  /** The keyed call whose turn returned "later". */
  readonly claimed: Omit<Remembered, "reply"> | undefined;
  readonly sends: readonly Outgoing[];
  /** Of a muted actor: the places in `sends` of those that bring replies to messages that requested them. */
  readonly replies: readonly number[];
  readonly sent: readonly string[];
  readonly stop: string | undefined;
  /** Names of the timers this turn sets. */
  readonly setWakes: readonly string[];
  /** Whether its timers or its expiry changed. */
  readonly timed: boolean;
  /** Whether the reply that `replyAs` requested is among the sends, or pending. */
  readonly answered: boolean;
  readonly record: Json | undefined;
  readonly emit: readonly Json[] | undefined;
  readonly report: Turn<unknown>["report"];
  readonly restart: Turn<unknown>["restart"];
}

/** Carried into the next life: the public uid, and whether this fork is muted. */
export type EarlierLife = Pick<Extra, "uid" | "muted">;

const NEW: EarlierLife = {};

/** The actor's first state. Throws what `initial` throws, and if the state is not JSON. */
export function begin(kind: Kind, id: ActorId, message: Message, { uid, muted }: EarlierLife = NEW): Base {
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
          ...omitUndefined({ uid, muted, override, owner, parent }),
        };
  return { state, life: lifeOf(message), createdAt: message.at, extra, bytes: bounded(id, state, atMostBytes(state), policy) };
}

/** Whether actors of the kind are children of the actor that starts them. Those that stand for a viewer, or for all, have no parent. */
export const hasParent = ({ behaviour: { per, autoStart } }: Kind): boolean => (per === undefined || per === "link") && autoStart !== true;

/** Whether the message starts its actor if there is none, or none that lives. A timer's message never gets that far: it ends with its life. */
export const mayStart = (
  { behaviour: { per, autoStart } }: Pick<Kind, "behaviour">,
  { start, noStart }: Pick<Message, "start" | "noStart">,
): boolean => start !== undefined || (noStart !== true && (autoStart ?? (per === "shared" || per === "user")));

/** The turn or work that the behaviour returns. Throws what it throws. */
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

/** Freezes a message before a behaviour sees it: it is stored, and may be delivered again, as it was sent (C3). */
export function freezeMessage({ args, start, answers }: Message): void {
  freezeDeep(args);
  if (start !== undefined) freezeDeep(start);
  if (answers !== undefined) freezeDeep(answers);
}

const isEffect = (effect: unknown): effect is Turn<unknown> | Work<unknown> =>
  typeof effect === "function" || (typeof effect === "object" && effect !== null && !("then" in effect));

/** The id of a life is derived from the seed of its first message, so that running that turn again starts the same life. */
function lifeOf({ seed }: Message): string {
  const hex = sha256(`${seed}:life`);
  // `join` makes a flat string. Every live actor has one, and a concatenated string would keep its pieces.
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}

/** C4: the key of a call, scoped to its caller, and the hash of what it calls. */
export interface CallKey {
  readonly key: string;
  readonly call: string;
}

/** A message on its way to a turn. */
export interface Incoming {
  readonly message: Message;
  /** The reply is remembered under it. */
  readonly key: CallKey | undefined;
  /** The name of the timer that sent it, which the turn must take off the row. */
  readonly wake: string | undefined;
}

export interface Circumstances {
  readonly id: ActorId;
  readonly seq: number;
  readonly born: boolean;
  /** How long keyed replies are remembered. */
  readonly keyMs: number;
  /** The reply to a message with `replyAs` is sent by other means than this commit. */
  readonly answersElsewhere: boolean;
  /** The parent stops too, and needs no message. */
  readonly parentKnows: boolean;
  /** The event stores the whole state, not a patch. */
  readonly whole: boolean;
}

/** Undefined if the turn has no effect except its reply. */
export function planTurn(base: Base, job: Incoming, turn: Turn<unknown>, now: Circumstances): Plan | undefined {
  // Read once, so that what was checked is what is stored.
  const reply = turn.reply ?? OK_NULL;
  if (reply !== OK_NULL && reply !== "later") checkReply(reply, "reply");
  return reply !== "later" && isPlain(job, turn, reply, now)
    ? planState(base, job.message, turn, reply, now)
    : planAll(base, job, turn, reply, now);
}

/** Most turns: a reply, perhaps another state, and nothing else. */
const isPlain = ({ key, wake, message }: Incoming, turn: Turn<unknown>, reply: Reply, { born }: Circumstances): boolean =>
  !born &&
  key === undefined &&
  wake === undefined &&
  message.replyAs === undefined &&
  hasOwn(reply, "ok") &&
  turn.send === undefined &&
  turn.wake === undefined &&
  turn.answer === undefined &&
  turn.settle === undefined &&
  turn.arrived === undefined &&
  turn.report === undefined &&
  turn.restart === undefined &&
  turn.stop === undefined &&
  turn.record === undefined &&
  turn.emit === undefined;

// A short function of its own, so that V8 inlines the common path into its caller.
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
    replies: NOTHING,
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
  const isRefused = reply !== "later" && !hasOwn(reply, "ok");
  if (isRefused && now.born) return undefined;
  const effects = isRefused ? refusedEffects(turn, reply) : turn;
  checkEffects(effects);
  // What waits only until this message is applied need not wait for a reply that comes later.
  const answer = reply === "later" && message.replyAs === SETTLED_ACTION ? OK_NULL : reply;
  const answered = answer === "later" || now.answersElsewhere ? undefined : answerTo(message, now.id, message.id, answer);
  const { state: after = base.state, dirty } = effects;
  const differs = after !== base.state;
  // C4: a reply is an effect, where it is to be remembered.
  const isRemembered = job.key !== undefined && !isRefused;
  if (
    !now.born &&
    !differs &&
    job.wake === undefined &&
    answered === undefined &&
    !isRemembered &&
    reply !== "later" &&
    !hasEffect(effects)
  )
    return undefined;

  const { extra } = base;
  const { state, bytes, patch } = differs ? changed(base, after, dirty, now) : same(base);
  const own = sendsOf(effects, message);
  const settled = settlePending(base, job, reply, effects, now);
  const sends = [...own, ...settled.sends, ...endedOf(extra.parent, effects, now), ...(answered === undefined ? NOTHING : [answered])];
  const wakes = effects.stop === undefined ? wakesAfter(base, job, effects) : {};
  return {
    id: now.id,
    message,
    born: now.born,
    seq: now.seq,
    life: base.life,
    createdAt: base.createdAt,
    state,
    bytes,
    patch,
    extra: wakes === extra.wakes && settled.pending === extra.pending ? extra : { ...extra, wakes, pending: settled.pending },
    reply,
    answers: settled.answers,
    remembered: settled.remembered,
    claimed:
      reply === "later" && job.key !== undefined && Object.hasOwn(settled.pending, message.id)
        ? { ...job.key, until: message.at + now.keyMs }
        : undefined,
    sends: message.trace === undefined ? sends : traced(sends, message.trace),
    replies: extra.muted === true ? placesIn(sends, [...settled.sends, answered]) : NOTHING,
    sent: sends.length === 0 ? NOTHING : idsOf(sends, base.life, now.seq),
    stop: effects.stop,
    setWakes: effects.wake === undefined ? NOTHING : namesSet(effects.wake),
    timed: wakes !== extra.wakes || effects.stop !== undefined || (now.born && extra.policy.expireMs !== undefined),
    answered: answered !== undefined || answer === "later",
    record: effects.record,
    emit: effects.emit,
    report: effects.report && stepsIn(effects.report, extra.pending, settled.pending),
    restart: effects.restart,
  };
}

/** C3: with a refusal only the record is stored, since what work did outside is done; with another failure, nothing. */
const refusedEffects = ({ record }: Turn<unknown>, reply: Reply): Turn<unknown> =>
  record === undefined || !hasOwn(reply, "refused") ? {} : { record };

function checkEffects({ emit, record, restart = NOTHING }: Turn<unknown>): void {
  if (emit !== undefined) for (const [index, line] of emit.entries()) checkJson(line, `emit[${index}]`);
  if (record !== undefined) checkJson(record, "record");
  for (const child of restart) keyOf(child);
}

/** What a parent hears when its child stops. */
const endedOf = (parent: ActorId | undefined, { stop }: Turn<unknown>, { id, parentKnows }: Circumstances): readonly Outgoing[] =>
  stop === undefined || parent === undefined || parentKnows
    ? NOTHING
    : [{ to: parent, action: "ended", args: { child: id, reason: stop }, noStart: true }];

const placesIn = (sends: readonly Outgoing[], some: readonly (Outgoing | undefined)[]): readonly number[] =>
  sends.flatMap((one, n) => (some.includes(one) ? n : []));

// A function of its own: V8 allocates a context for captured variables on every call.
const idsOf = (sends: readonly Outgoing[], life: string, seq: number): readonly string[] => sends.map((_, n) => `${life}.${seq}.${n}`);

const traced = (sends: readonly Outgoing[], trace: JsonObject): readonly Outgoing[] =>
  sends.map((outgoing) => (outgoing.trace === undefined ? { ...outgoing, trace } : outgoing));

const hasEffect = (turn: Turn<unknown>): boolean =>
  turn.record !== undefined ||
  (turn.send !== undefined && turn.send.length > 0) ||
  turn.stop !== undefined ||
  (turn.wake !== undefined && Object.keys(turn.wake).length > 0) ||
  (turn.answer !== undefined && Object.keys(turn.answer).length > 0) ||
  turn.settle !== undefined ||
  turn.arrived !== undefined ||
  (turn.report !== undefined && Object.keys(turn.report).length > 0) ||
  (turn.restart !== undefined && turn.restart.length > 0);

function sendsOf(turn: Turn<unknown>, { trace: known }: Message): Outgoing[] {
  if (turn.send === undefined) return [];
  return turn.send.map((outgoing, index) => {
    keyOf(outgoing.to);
    checkAction(outgoing.action);
    check(outgoing.args, `send[${index}].args`);
    if (outgoing.start !== undefined) checkJson(outgoing.start, `send[${index}].start`);
    if (outgoing.replyContext !== undefined) checkJson(outgoing.replyContext, `send[${index}].replyContext`);
    if (outgoing.answers !== undefined) checkJson(outgoing.answers, `send[${index}].answers`);
    const { to, viewer, policy, trace } = outgoing;
    if (viewer === undefined && policy === undefined && (trace === undefined || trace === known)) return outgoing;
    const wrong = unserialisableError(to, { ...(viewer && { viewer }), ...(policy && { policy }), ...(trace && { trace }) });
    if (wrong !== undefined) throw new TroupeError("BAD_TURN", wrong.message);
    return viewer === undefined ? outgoing : { ...outgoing, viewer: storedViewer(viewer, viewer.rolesByKind) };
  });
}

/** Measures the state only if the limit could be exceeded: summed patches are an upper bound of its size. */
function bounded(id: ActorId, state: Json, atMost: number, { maxStateBytes }: Policy): number {
  if (atMost <= maxStateBytes) return atMost;
  const bytes = exactBytes(state);
  if (bytes > maxStateBytes) throw stateTooLarge(id, maxStateBytes);
  return bytes;
}

/** Names the actor and its limit in the error of a walk that ended at the limit, which knows neither. */
const ofActor = (error: unknown, id: ActorId, { maxStateBytes }: Policy): unknown =>
  error instanceof EngineError && error.code === "STATE_TOO_LARGE" ? stateTooLarge(id, maxStateBytes) : error;

/** The new parts have been checked; the old ones were when they were written. */
function trustWalked(_state: unknown): asserts _state is Json {}

// ── timers ──────────────────────────────────────────────────────────────────

/** The most named timers of one actor: a behaviour that uses names from messages must not fill the row. */
export const MOST_WAKES = 1_000;
const LONGEST_WAKE_NAME = 256;

/** The timers an actor has after a turn. */
function wakesAfter({ extra: { wakes: before, policy } }: Base, job: Incoming, turn: Turn<unknown>): Readonly<Record<string, SetWake>> {
  if (job.wake === undefined && turn.wake === undefined) return before;
  const wakes: Record<string, SetWake> = { ...before };
  if (job.wake !== undefined) advance(wakes, job.wake, job.message.at, policy);
  for (const [name, wake] of Object.entries(turn.wake ?? {})) {
    if (wake === null) delete wakes[name];
    else wakes[name] = { ...checkedWake(name, wake), rang: job.message.at };
  }
  if (Object.keys(wakes).length > MOST_WAKES) throw new RangeError(`More than ${MOST_WAKES} named wakes: cancel some, or name fewer.`);
  return wakes;
}

/**
 * A timer that fired is removed, or set to its next time after `now`: missed times fire once, and a clock that is set back delays none. An
 * imported one, or that of a behaviour without `actor()`, may have a shorter interval than the policy allows.
 */
function advance(wakes: Record<string, SetWake>, name: string, now: number, { minEveryMs }: Pick<Policy, "minEveryMs">): void {
  const wake = wakes[name];
  if (wake?.cron !== undefined) {
    wakes[name] = { ...wake, at: nextCronTime(wake.cron, wake.timeZone ?? "UTC", now), rang: now };
    return;
  }
  if (wake?.everyMs === undefined) {
    delete wakes[name];
    return;
  }
  const everyMs = Math.max(wake.everyMs, minEveryMs);
  const from = Math.min(wake.at, now);
  wakes[name] = { ...wake, everyMs, at: from + everyMs * (Math.floor((now - from) / everyMs) + 1), rang: now };
}

function checkedWake(name: string, { at, everyMs, cron, timeZone, action, args }: Wake): Wake {
  if (name === "" || name === "__proto__" || name.length > LONGEST_WAKE_NAME)
    throw new RangeError(`${JSON.stringify(name.slice(0, 60))} is no name for a wake: use 1 to ${LONGEST_WAKE_NAME} characters.`);
  if (!Number.isFinite(at)) throw new RangeError(`The wake "${name}" has no time: give \`at\` in milliseconds since 1970.`);
  if (everyMs !== undefined && !(Number.isFinite(everyMs) && everyMs >= 1))
    throw new RangeError(`The wake "${name}" repeats every ${everyMs} ms: give at least 1.`);
  if (cron !== undefined) {
    if (everyMs !== undefined) throw new RangeError(`The wake "${name}" has both \`everyMs\` and \`cron\`: give one.`);
    // Throws if it never comes: when the timer has fired, its next time must be known.
    nextCronTime(cron, timeZone ?? "UTC", at);
  }
  if (args !== undefined) check(args, `wake.${name}.args`);
  return {
    at,
    ...(everyMs === undefined ? {} : { everyMs }),
    ...(cron === undefined ? {} : { cron, timeZone: timeZone ?? "UTC" }),
    action,
    ...(args === undefined ? {} : { args }),
  };
}

/** Names of the timers a turn sets. */
const namesSet = (wakes: NonNullable<Turn<unknown>["wake"]>): readonly string[] =>
  Object.keys(wakes).filter((name) => wakes[name] !== null);
