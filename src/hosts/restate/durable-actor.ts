// Owns: the turns of one kind of actor, on whatever makes them durable; no SDK, so turns are tested without a server. Does not own:
// what a commit writes (commit.ts), work (durable-work.ts), retries (delivery.ts).
//
// C1: the caller of these methods runs one at a time per actor, work included. C2: nothing is announced before a turn ends, and its end
// is durable before the reply. C3: a throw, a refusal or "needs" sets nothing. C4: a reply is stored in the same write as the state it
// came with. Law 4: a turn may run many times before its end is durable; what is not pure comes from the context.
import {
  afterCrash,
  failedMessage,
  faults,
  kindFrom,
  pendingReply,
  OK_NULL,
  pastOf,
  planTurn,
  received,
  wakeId,
  type CallKey,
  type Kind,
  type Plan,
  thrownText,
} from "../../core/chain/internal.ts";
import {
  EngineError,
  isJsonObject,
  StoreError,
  TroupeError,
  type Behaviour,
  type Message,
  type Past,
  type SetWake,
  type Turn,
  type Work,
} from "../../core/contract/index.ts";
import { counted, invalidMessageReply, hasOwn, tickOfSetBack, tryParseJson } from "../../core/contract/internal.ts";
import { commit, sendMessage, sendTimers, type StopOptions } from "./commit.ts";
import { type DurableContext, InvocationCancelled, uncancellable, type NodeHost } from "./durable-context.ts";
import { runWork } from "./durable-work.ts";
import { type ExpireInput, isObject, type RestartInput, type TimerInput, type StopInput, type TurnInput } from "./handler-inputs.ts";
import {
  ACTOR_KEY,
  HEALTH_KEY,
  healthOf,
  isStarted,
  isStoredReply,
  storedActorText,
  readStoredActor,
  SEEN_KEY,
  WORK_KEY,
  type Health,
  type StoredActor,
  type StoredReply,
} from "./stored-actor.ts";
import { faultOf, type Failed, forCaller, type Guarded, type Outcome, valueIn } from "./outcome.ts";
import { startFrom, turnStart, type TurnStart } from "./turn-writes.ts";
import { EVENT_BYTES, isLarger, tooLarge } from "./sizes.ts";

/** The result of a message, and whether the commit contains the reply to a sender that used `replyAs`. */
export interface MessageResult {
  readonly outcome: Outcome;
  readonly answered: boolean;
}

/** How a message is run, beyond its own content. */
interface TurnOptions {
  readonly key: CallKey | undefined;
  readonly wake: string | undefined;
  /** A turn sent it: if the sender becomes the parent, it must be running. */
  readonly isSent: boolean;
}

/** What is loaded of the actor when a message arrives. */
interface LoadedActor {
  readonly stored: StoredActor | undefined;
  readonly health: Health;
}

const NOT_STOPPING: StopOptions = { above: [], parentKnows: false };

export class DurableActor {
  readonly kind: Kind;
  readonly #host: NodeHost;

  constructor(behaviour: Behaviour, host: NodeHost) {
    this.kind = kindFrom(behaviour);
    this.#host = host;
  }

  /**
   * Handles a caller's message. Returns a value whatever the behaviour does; a rejection comes from the context and asks for another
   * attempt.
   */
  async turn(context: DurableContext, input: TurnInput): Promise<Outcome> {
    // What only reads reads again, whatever its key was used for.
    const key = this.kind.reads.has(input.message.action) ? undefined : input.key;
    return forCaller((await this.run(context, input, { key, wake: undefined, isSent: false })).outcome);
  }

  /** Handles a message of any origin once. */
  async run(context: DurableContext, input: TurnInput, options: TurnOptions): Promise<MessageResult> {
    const { message } = input;
    try {
      const loaded = await this.#load(context, message);
      if (hasOwn(loaded, "fault")) return failed(loaded);
      return await this.#run(context, input, options, loaded.value);
    } catch (error) {
      if (error instanceof InvocationCancelled) return failed({ fault: faultOf(faults.cancelled(message.to)) });
      throw error;
    }
  }

  async #run(context: DurableContext, input: TurnInput, options: TurnOptions, loaded: LoadedActor): Promise<MessageResult> {
    const { message } = input;
    const { stored, health } = loaded;
    const { key } = options;
    if (key !== undefined) {
      const earlier = await this.#earlierReply(context, stored, message, key);
      if (earlier !== undefined) return { outcome: earlier, answered: true };
    }
    const isPastDeadline = message.deadline !== undefined && message.deadline <= (await this.#now(context));
    const started = this.#guarded(message, loaded, "turn", () => {
      if (isPastDeadline) throw faults.deadline(message.to, false, false);
      return turnStart(this.kind, message, stored, health.why);
    });
    if (hasOwn(started, "fault")) return this.#failed(context, message, loaded, started);
    const start = started.value;
    const { base } = start;
    let effect: Turn<unknown> | Work<unknown>;
    try {
      effect = received(this.kind.behaviour, base.state, base, message, (stored?.seq ?? 0) + 1);
    } catch (error) {
      return this.#turnFailed(context, message, loaded, this.#crashed(message, loaded, "turn", error));
    }
    let turn: Turn<unknown>;
    if (typeof effect === "function") {
      context.set(WORK_KEY, context.invocation());
      const worked = await this.#runWork(context, input, options, loaded, start, effect);
      context.clear(WORK_KEY);
      if (hasOwn(worked, "fault")) return this.#turnFailed(context, message, loaded, worked);
      turn = worked.value;
    } else turn = effect;
    const planned = this.#guarded(message, loaded, "turn", () => ({ plan: this.#plan(start, message, options, turn), turn }));
    if (hasOwn(planned, "fault")) return this.#turnFailed(context, message, loaded, planned);
    return this.#commit(context, start, options, planned.value);
  }

  async #commit(
    context: DurableContext,
    start: TurnStart,
    options: TurnOptions,
    { plan, turn }: { readonly plan: Plan | undefined; readonly turn: Turn<unknown> },
    stopOptions = NOT_STOPPING,
  ): Promise<MessageResult> {
    const { stored } = start;
    if (plan === undefined) {
      const reply = turn.reply === undefined || turn.reply === "later" ? OK_NULL : turn.reply;
      await this.#postponeExpiry(context, stored);
      const emit = turn.emit !== undefined && turn.emit.length > 0 && hasOwn(reply, "ok") ? turn.emit : undefined;
      const change =
        emit === undefined || stored === undefined ? undefined : { seq: stored.seq, head: stored.head, status: stored.row.status, emit };
      return { outcome: { reply, ...(change === undefined ? {} : { change }) }, answered: false };
    }
    const committed = await commit({
      context,
      host: this.#host,
      kind: this.kind,
      start,
      plan,
      claim: options.key,
      isSent: options.isSent,
      stopOptions,
    });
    if (hasOwn(committed, "fault")) return failed(committed);
    const { change } = committed.value;
    const reply = plan.reply === "later" ? { later: plan.message.id } : { reply: plan.reply };
    return { outcome: { ...reply, change, committed: true }, answered: plan.answered };
  }

  // ── stops, timers, restarts ───────────────────────────────────────────────

  /** A timer is due. Unless it was cancelled or moved meanwhile, it runs like any message. Returns when it has to be retried. */
  async fireTimer(context: DurableContext, { name, life, at, failures, dropped }: TimerInput, id: Message["to"]): Promise<TimerResult> {
    const stored = readStoredActor(await uncancellable(() => context.get(ACTOR_KEY)));
    const wake = stored?.row.life === life && stored.row.status === "live" ? stored.row.wakes[name] : undefined;
    if (wake === undefined || wake.at !== at) return {};
    const stamped = await uncancellable(() => context.run("stamp", async () => ({ now: this.#host.now(), seed: this.#host.seed() })));
    const { now, seed } = stampOf(stamped);
    const firesAt = fireTime(wake, now);
    if (firesAt > now) return { againAfterMs: firesAt - now };
    if (stored?.health?.why !== undefined && dropped === undefined) {
      keepForRestart(context, stored, stored.health, name, failures);
      return {};
    }
    const message: Message = {
      id: wakeId(life, name, at),
      to: id,
      action: wake.action,
      args: wake.args ?? null,
      at: now,
      seed,
      from: id,
      ...(wake.cause === undefined ? {} : { cause: wake.cause }),
    };
    const options: TurnOptions = { key: undefined, wake: name, isSent: false };
    if (dropped === undefined) return { done: await this.run(context, { message }, options), message };
    const health = stored?.health ?? { times: [] };
    const planned = this.#guarded(message, { stored, health }, "turn", () => {
      if (stored === undefined) throw faults.noActor(id);
      const start = startFrom(this.kind, id, stored, true);
      const turn: Turn<unknown> = { record: { dropped } };
      return { place: start, plan: this.#plan(start, message, options, turn), turn };
    });
    if (hasOwn(planned, "fault")) return { done: failed(planned), message };
    return { done: await this.#commit(context, planned.value.place, options, planned.value), message };
  }

  async stop(context: DurableContext, { message, reason, above }: StopInput): Promise<Outcome> {
    const loaded = await uncancellable(() => this.#load(context, message));
    if (hasOwn(loaded, "fault")) return loaded;
    const { stored, health } = loaded.value;
    if (stored === undefined) return { fault: faultOf(faults.noActor(message.to)) };
    const parent = above.at(-1);
    // It was a child of this parent in an earlier life, and may have another parent now, or none.
    if (parent !== undefined && stored.row.parent !== parent) return { reply: OK_NULL };
    if (stored.row.status === "stopped") return { reply: OK_NULL };
    const options: TurnOptions = { key: undefined, wake: undefined, isSent: false };
    const parentKnows = stored.row.parent !== undefined && above.includes(stored.row.parent);
    const lastMessageAt = await lastMessageOf(context, stored);
    const planned = this.#guarded(message, { stored, health }, "turn", () => {
      const start = startFrom(this.kind, message.to, stored, false);
      const turn: Turn<unknown> = { stop: reason };
      return { place: start, plan: this.#plan(start, message, options, turn, parentKnows), turn };
    });
    if (hasOwn(planned, "fault")) return planned;
    return (await this.#commit(context, planned.value.place, options, planned.value, { above, parentKnows, lastMessageAt })).outcome;
  }

  /** How long until it may expire. Undefined if it will not, or has stopped already. */
  async expiresAfter(context: DurableContext, { life }: ExpireInput): Promise<number | undefined> {
    const stored = readStoredActor(await context.get(ACTOR_KEY));
    if (stored === undefined || stored.row.life !== life || stored.row.status !== "live") return undefined;
    const expireMs = stored.row.policy?.expireMs;
    if (expireMs === undefined) return undefined;
    return (await lastMessageOf(context, stored)) + expireMs - (await this.#now(context));
  }

  /** Forgets crashes and failures, but leaves the state. On behalf of a parent, only for a child that has failed. */
  async restart(context: DurableContext, { by }: RestartInput, id: Message["to"]): Promise<Outcome> {
    const stored = readStoredActor(await uncancellable(() => context.get(ACTOR_KEY)));
    const { why } = await uncancellable(() => healthOf(context, stored));
    if (by !== undefined && (stored?.row.parent !== by || why === undefined)) return { reply: OK_NULL };
    if (stored === undefined && why === undefined) return { fault: faultOf(faults.noActor(id)) };
    if (!isStarted(stored)) context.clear(HEALTH_KEY);
    else if (stored?.health !== undefined) {
      const { health: _, ...rest } = stored;
      context.set(ACTOR_KEY, storedActorText(rest));
    }
    if (stored === undefined) return { reply: OK_NULL };
    const change = { seq: stored.seq, head: stored.head, status: stored.row.status };
    if (why !== undefined) {
      this.#host.hint({ id, ...change });
      const { life, wakes } = stored.row;
      const late = new Set(stored.health?.late);
      // Not the others, which are on their way: they would come twice.
      const due = Object.entries(wakes).filter(([name]) => late.has(name));
      // After an operator's restart they have all attempts again.
      sendTimers(context, this.#host, id, life, due, by === undefined ? undefined : stored.health?.failures);
    }
    return { reply: OK_NULL, change };
  }

  // ── steps ─────────────────────────────────────────────────────────────────

  async #load(context: DurableContext, message: Message): Promise<Guarded<LoadedActor>> {
    const value = await context.get(ACTOR_KEY);
    const read = this.#guarded(message, undefined, "load", () => readStoredActor(value));
    if (hasOwn(read, "fault")) return read;
    const stored = read.value;
    return { value: { stored, health: await healthOf(context, stored) } };
  }

  /** C4: the reply to an earlier call under this key, or that its reply is deferred. */
  async #earlierReply(
    context: DurableContext,
    stored: StoredActor | undefined,
    message: Message,
    key: CallKey,
  ): Promise<Outcome | undefined> {
    if (stored === undefined) return undefined;
    const reused: Outcome = { fault: faultOf(faults.keyReused(message.to)) };
    for (const [id, pending] of Object.entries(stored.row.pending)) {
      const due = pendingReply(pending);
      if (due.key === key.key) return due.call === key.call ? { later: id } : reused;
    }
    const found = stored.replies.findLast((reply) => reply.key === key.key) ?? (await this.#archivedReply(context, stored, message, key));
    if (found === undefined || found.until <= message.at) return undefined;
    return found.call === "" || found.call === key.call ? { reply: found.reply } : reused;
  }

  async #archivedReply(context: DurableContext, stored: StoredActor, { to }: Message, { key }: CallKey): Promise<StoredReply | undefined> {
    if (!stored.archived) return undefined;
    const answer = await context.call(this.#host.names.archive(to, "reply"), key);
    const reply = valueIn(answer);
    return isStoredReply(reply) ? reply : undefined;
  }

  async #runWork(
    context: DurableContext,
    { message, node, waiting = [] }: TurnInput,
    options: TurnOptions,
    loaded: LoadedActor,
    start: TurnStart,
    work: Parameters<typeof runWork>[2]["work"],
  ): Promise<Guarded<Turn<unknown>>> {
    try {
      return await runWork(context, this.#host, {
        work,
        message,
        key: options.key,
        node,
        waiting,
        workMs: start.base.extra.policy.workMs,
        past: this.#past(message, start),
        checkPlan: (turn) => this.#plan(start, message, options, turn),
        guarded: (step) => this.#guarded(message, loaded, "work", step),
        crashed: (error) => this.#crashed(message, loaded, "work", error),
        sealer: this.#host.sealerFor(this.kind.name),
      });
    } catch (error) {
      if (error instanceof InvocationCancelled) return { fault: faultOf(faults.cancelled(message.to)) };
      throw error;
    }
  }

  #past({ to }: Message, { base, stored }: TurnStart): Past {
    const { life, extra } = base;
    return pastOf({ kind: this.kind, life, seq: stored?.seq ?? 0, extra, history: (afterSeq) => this.#host.history(to, afterSeq) });
  }

  #plan(
    { base, born, stored }: TurnStart,
    message: Message,
    { key, wake }: TurnOptions,
    turn: Turn<unknown>,
    parentKnows = false,
  ): Plan | undefined {
    const plan = planTurn(base, { message, key, wake }, turn, {
      id: message.to,
      seq: (stored?.seq ?? 0) + 1,
      born,
      keyMs: this.#host.keyMs,
      answersElsewhere: false,
      parentKnows,
      whole: false,
    });
    const { reply = null, emit = null } = plan ?? turn;
    if (isLarger(reply, EVENT_BYTES) || isLarger(emit, EVENT_BYTES)) throw tooLarge(message.to, "An answer", EVENT_BYTES);
    return plan;
  }

  /** C3: whatever the behaviour throws becomes a value, and nothing is applied. */
  #guarded<T>(message: Message, loaded: LoadedActor | undefined, where: "turn" | "work" | "load", step: () => T): Guarded<T> {
    try {
      return { value: step() };
    } catch (error) {
      if (invalidMessageReply(error, message) !== undefined) return this.#crashed(message, loaded, where, error);
      if (error instanceof EngineError) {
        // A state that could not be migrated: the caller does not get the cause.
        if (error.code === "ACTOR_FAILED" && error.cause !== undefined) this.#host.fault(error, { where: "load", message });
        if (faults.isAuthors(error)) this.#host.fault(error, { where, message });
        return { fault: faultOf(error, this.#thrown(error.cause, message)) };
      }
      if (error instanceof StoreError) return { fault: faultOf(faults.fromStore(error)) };
      return this.#crashed(message, loaded, where, error);
    }
  }

  /** The behaviour threw, unless that shows that the message itself is invalid. */
  #crashed(message: Message, loaded: LoadedActor | undefined, where: "turn" | "work" | "load", error: unknown): Failed {
    const crash = faults.crashed(message.to, (loaded?.stored?.seq ?? 0) + 1, error);
    const refusal = invalidMessageReply(error, message);
    if (refusal !== undefined) return { fault: faultOf(crash), refusal };
    this.#host.fault(error, { where, message });
    return { fault: faultOf(crash, this.#thrown(error, message)) };
  }

  #thrown(error: unknown, message: Message): string | undefined {
    return thrownText(error, this.kind.behaviour.redact !== undefined && this.kind.behaviour.redact(message) !== message.args);
  }

  /** A message that leaves no event is one all the same. */
  async #postponeExpiry(context: DurableContext, stored: StoredActor | undefined): Promise<void> {
    if (stored?.row.policy?.expireMs !== undefined) context.set(SEEN_KEY, JSON.stringify({ at: await this.#now(context) }));
  }

  /** The actor has taken the message. */
  async #turnFailed(context: DurableContext, message: Message, loaded: LoadedActor, failure: Failed): Promise<MessageResult> {
    await this.#postponeExpiry(context, loaded.stored);
    return this.#failed(context, message, loaded, failure);
  }

  /** Records a failure: a crash counts if its kind bounds crashes. */
  async #failed(context: DurableContext, message: Message, { stored, health }: LoadedActor, failure: Failed): Promise<MessageResult> {
    if (failure.refusal !== undefined) return { outcome: { reply: failure.refusal }, answered: false };
    const { code } = failure.fault;
    // An actor that has not started needs no record.
    if (stored?.row.status === "live" && code === "CRASHED") {
      const { restart } = startFrom(this.kind, message.to, stored, false).base.extra.policy;
      if (restart !== undefined) {
        const now = await this.#now(context);
        const { times, fails } = afterCrash(health.times, now, restart);
        const why = `it crashed ${counted(times.length, "time")} within ${restart.withinMs} ms`;
        const next: StoredActor = { ...stored, health: { times, ...(fails ? { why } : {}) } };
        context.set(ACTOR_KEY, storedActorText(next));
        const { seq, head } = stored;
        const notice = fails ? failedMessage(stored.row, message.to, why, message, now) : undefined;
        if (notice !== undefined) sendMessage(context, this.#host, notice);
        // Without the message: the caller's fault does not mention this.
        if (fails) this.#host.hint({ id: message.to, seq, head, status: "failed" });
      }
    }
    return failed(failure);
  }

  async #now(context: DurableContext): Promise<number> {
    return Number(await context.run("now", async () => this.#host.now()));
  }
}

/** The outcome of a timer. */
export interface TimerResult {
  readonly done?: MessageResult;
  readonly message?: Message;
  readonly againAfterMs?: number;
}

/** When a timer fires by the current clock, once it is due by Restate's clock. */
function fireTime({ at, rang, cron, timeZone = "UTC" }: SetWake, now: number): number {
  // If the timer was set, or last fired, at a time in the future, the clock was set back, and only Restate's clock is right.
  if (rang === undefined || rang <= now) return at;
  return cron === undefined ? now : tickOfSetBack(cron, timeZone, at, rang, now);
}

/** The timer fires when the actor is restarted. */
function keepForRestart(context: DurableContext, stored: StoredActor, health: Health, name: string, failed: number): void {
  const { late = [], failures } = health;
  if (late.includes(name)) return;
  const more = failed === 0 ? {} : { failures: { ...failures, [name]: failed } };
  context.set(ACTOR_KEY, storedActorText({ ...stored, health: { ...health, late: [...late, name], ...more } }));
}

/** When the last message arrived, including one that left no event. */
async function lastMessageOf(context: DurableContext, { row }: StoredActor): Promise<number> {
  const seen = tryParseJson(await uncancellable(() => context.get(SEEN_KEY)));
  return Math.max(row.lastMessageAt, isJsonObject(seen) && typeof seen["at"] === "number" ? seen["at"] : 0);
}

const failed = ({ fault }: Failed): MessageResult => ({ outcome: { fault }, answered: false });

function stampOf(value: unknown): { readonly now: number; readonly seed: string } {
  if (isObject(value) && typeof value["now"] === "number" && typeof value["seed"] === "string")
    return { now: value["now"], seed: value["seed"] };
  throw new TroupeError("STORE_CORRUPT", "The journal holds something else where a wake's time should be.");
}
