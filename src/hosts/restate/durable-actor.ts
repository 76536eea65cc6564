/**
 * One kind of actor on something that makes its turns durable. No SDK here: a turn is
 * tested without a server.
 *
 * C1: whoever calls these handlers runs one at a time per actor, work included.
 * C2: nothing is told before a turn ends, and its end is durable before the reply.
 * C3: a throw, a refusal or "needs" sets nothing.
 * C4: a reply is kept in the same write as the state it came with.
 * Law 4: a turn may run many times before its end is durable; what is not pure comes
 * from the context.
 */
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
} from "../../core/contract/index.ts";
import { invalidMessageReply, hasOwn, tickOfSetBack, tryParseJson } from "../../core/contract/internal.ts";
import { commit, deliver, type Parting } from "./commit.ts";
import { type DurableContext, Withdrawn } from "./durable-context.ts";
import { runWork } from "./durable-work.ts";
import type { ExpireInput, RestartInput, RingInput, StopInput, TurnInput } from "./inputs.ts";
import { insist } from "./insist.ts";
import {
  ACTOR_KEY,
  HEALTH_KEY,
  healthOf,
  isBegun,
  isReplyOf,
  keptText,
  readKept,
  SEEN_KEY,
  WORK_KEY,
  type Health,
  type Kept,
  type KeptReply,
} from "./kept.ts";
import type { NodeHost } from "./node-host.ts";
import { faultOf, type Failed, forCaller, type Guarded, type Outcome } from "./outcome.ts";
import { living, NoBeginning, placeFor, type Place } from "./place.ts";
import { EVENT_BYTES, isLarger, tooLarge } from "./sizes.ts";

/** What a message led to, and whether whoever asked with `replyAs` has its answer in the commit. */
export interface Done {
  readonly outcome: Outcome;
  readonly answered: boolean;
}

/** How a message is run beyond its own content. */
interface Manner {
  readonly key: CallKey | undefined;
  readonly wake: string | undefined;
  /** A turn sent it: its sender must live if it is to be its parent. */
  readonly sent: boolean;
}

/** What is known of the actor when a message comes. */
interface Known {
  readonly kept: Kept | undefined;
  readonly health: Health;
}

const PLAIN: Parting = { above: [], parentKnows: false };

export class DurableActor {
  readonly kind: Kind;
  readonly #host: NodeHost;

  constructor(behaviour: Behaviour, host: NodeHost) {
    this.kind = kindFrom(behaviour);
    this.#host = host;
  }

  /** A caller's message. Ends in a value whatever the behaviour does; what it throws comes from the context and asks for another run. */
  async turn(context: DurableContext, input: TurnInput): Promise<Outcome> {
    return forCaller((await this.run(context, input, { key: input.key, wake: undefined, sent: false })).outcome);
  }

  /** A message of any origin, once. */
  async run(context: DurableContext, input: TurnInput, manner: Manner): Promise<Done> {
    const { message } = input;
    try {
      const known = await this.#known(context, message);
      if (hasOwn(known, "fault")) return failed(known);
      return await this.#run(context, input, manner, known.value);
    } catch (error) {
      if (error instanceof Withdrawn) return failed({ fault: faultOf(faults.cancelled(message.to)) });
      throw error;
    }
  }

  async #run(context: DurableContext, input: TurnInput, manner: Manner, known: Known): Promise<Done> {
    const { message } = input;
    const { kept, health } = known;
    const { key } = manner;
    if (key !== undefined) {
      const again = await this.#again(context, kept, message, key);
      if (again !== undefined) return { outcome: again, answered: true };
    }
    const late = message.deadline !== undefined && message.deadline <= (await this.#now(context));
    const placed = this.#guarded(message, known, "turn", () => {
      if (late) throw faults.deadline(message.to, false, false);
      return placeFor(this.kind, message, kept, health.why);
    });
    if (hasOwn(placed, "fault")) {
      if (!isBegun(kept) && placed.fault.code === "ACTOR_FAILED" && health.why === undefined)
        this.#failBeginning(context, message.to, kept);
      return this.#failed(context, message, known, placed);
    }
    const place = placed.value;
    const { base } = place;
    const entered = this.#guarded(message, known, "turn", () =>
      received(this.kind.behaviour, base.state, base, message, (kept?.seq ?? 0) + 1),
    );
    if (hasOwn(entered, "fault")) return this.#failed(context, message, known, entered);
    const effect = entered.value;
    let turn: Turn<unknown>;
    if (typeof effect === "function") {
      context.set(WORK_KEY, context.invocation());
      const worked = await this.#worked(context, input, manner, known, place, effect);
      context.clear(WORK_KEY);
      if (hasOwn(worked, "fault")) return this.#failed(context, message, known, worked);
      turn = worked.value;
    } else turn = effect;
    const planned = this.#guarded(message, known, "turn", () => ({ plan: this.#plan(place, message, manner, turn), turn }));
    if (hasOwn(planned, "fault")) return this.#failed(context, message, known, planned);
    return this.#conclude(context, place, manner, planned.value);
  }

  async #conclude(
    context: DurableContext,
    place: Place,
    manner: Manner,
    { plan, turn }: { readonly plan: Plan | undefined; readonly turn: Turn<unknown> },
    parting = PLAIN,
  ): Promise<Done> {
    const { kept } = place;
    if (plan === undefined) {
      const reply = turn.reply === undefined || turn.reply === "later" ? OK_NULL : turn.reply;
      if (kept?.row.policy?.expireMs !== undefined) context.set(SEEN_KEY, JSON.stringify({ at: await this.#now(context) }));
      const emit = turn.emit !== undefined && turn.emit.length > 0 && hasOwn(reply, "ok") ? turn.emit : undefined;
      const change =
        emit === undefined || kept === undefined ? undefined : { seq: kept.seq, head: kept.head, status: kept.row.status, emit };
      return { outcome: { reply, ...(change === undefined ? {} : { change }) }, answered: false };
    }
    const committed = await commit({
      context,
      host: this.#host,
      kind: this.kind,
      place,
      plan,
      claim: manner.key,
      sent: manner.sent,
      parting,
    });
    if (hasOwn(committed, "fault")) return failed(committed);
    const { change } = committed.value;
    const reply = plan.reply === "later" ? { later: plan.message.id } : { reply: plan.reply };
    return { outcome: { ...reply, change, committed: true }, answered: plan.answered };
  }

  // ── on the engine's account ───────────────────────────────────────────────

  /** A wake has come: unless it was cancelled or put off meanwhile, it runs like any message. Returns why it must come again. */
  async ring(context: DurableContext, { name, life, at, dropped }: RingInput, id: Message["to"]): Promise<Rung> {
    const kept = readKept(await insist(() => context.get(ACTOR_KEY)));
    const wake = kept?.row.life === life && kept.row.status === "live" ? kept.row.wakes[name] : undefined;
    if (wake === undefined || wake.at !== at) return {};
    const stamped = await insist(() => context.run("stamp", async () => ({ now: this.#host.now(), seed: this.#host.seed() })));
    const { now, seed } = stampOf(stamped);
    const firesAt = whenItFires(wake, now);
    if (firesAt > now) return { againAfterMs: firesAt - now };
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
    const manner: Manner = { key: undefined, wake: name, sent: false };
    if (dropped === undefined) return { done: await this.run(context, { message }, manner), message };
    const health = kept?.health ?? { times: [] };
    const planned = this.#guarded(message, { kept, health }, "turn", () => {
      if (kept === undefined) throw faults.noActor(id);
      const place = living(this.kind, id, kept, true);
      const turn: Turn<unknown> = { record: { dropped } };
      return { place, plan: this.#plan(place, message, manner, turn), turn };
    });
    if (hasOwn(planned, "fault")) return { done: failed(planned), message };
    return { done: await this.#conclude(context, planned.value.place, manner, planned.value), message };
  }

  async stop(context: DurableContext, { message, reason, above }: StopInput): Promise<Outcome> {
    const known = await insist(() => this.#known(context, message));
    if (hasOwn(known, "fault")) return known;
    const { kept, health } = known.value;
    if (kept === undefined) return { fault: faultOf(faults.noActor(message.to)) };
    const parent = above.at(-1);
    // Found under who began it in a life before, it may have begun anew, as another's child or nobody's.
    if (parent !== undefined && kept.row.parent !== parent) return { reply: OK_NULL };
    // A next life whose first state could not be made is none.
    if (kept.row.status === "stopped") return this.restart(context, {}, message.to);
    const manner: Manner = { key: undefined, wake: undefined, sent: false };
    const parentKnows = kept.row.parent !== undefined && above.includes(kept.row.parent);
    const lastMessageAt = await lastMessageOf(context, kept);
    const planned = this.#guarded(message, { kept, health }, "turn", () => {
      const place = living(this.kind, message.to, kept, false);
      const turn: Turn<unknown> = { stop: reason };
      return { place, plan: this.#plan(place, message, manner, turn, parentKnows), turn };
    });
    if (hasOwn(planned, "fault")) return planned;
    return (await this.#conclude(context, planned.value.place, manner, planned.value, { above, parentKnows, lastMessageAt })).outcome;
  }

  /** How long until it may have to end; undefined: it will not, or has. */
  async expiresAfter(context: DurableContext, { life }: ExpireInput): Promise<number | undefined> {
    const kept = readKept(await context.get(ACTOR_KEY));
    if (kept === undefined || kept.row.life !== life || kept.row.status !== "live") return undefined;
    const expireMs = kept.row.policy?.expireMs;
    if (expireMs === undefined) return undefined;
    return (await lastMessageOf(context, kept)) + expireMs - (await this.#now(context));
  }

  /** Forgets crashes and failures. The state stays. By a parent's word alone that of a child that has failed. */
  async restart(context: DurableContext, { ifUnborn, by }: RestartInput, id: Message["to"]): Promise<Outcome> {
    const kept = readKept(await insist(() => context.get(ACTOR_KEY)));
    const { why } = await insist(() => healthOf(context, kept));
    if (by !== undefined && (kept?.row.parent !== by || why === undefined)) return { reply: OK_NULL };
    if (kept === undefined && why === undefined && ifUnborn !== true) return { fault: faultOf(faults.noActor(id)) };
    if (!isBegun(kept)) context.clear(HEALTH_KEY);
    else if (ifUnborn !== true && kept?.health !== undefined) {
      const { health: _, ...rest } = kept;
      context.set(ACTOR_KEY, keptText(rest));
    }
    if (kept === undefined) return { reply: OK_NULL };
    const change = { seq: kept.seq, head: kept.head, status: kept.row.status };
    if (ifUnborn !== true && why !== undefined) this.#host.hint({ id, ...change });
    return { reply: OK_NULL, change };
  }

  // ── steps ─────────────────────────────────────────────────────────────────

  async #known(context: DurableContext, message: Message): Promise<Guarded<Known>> {
    const value = await context.get(ACTOR_KEY);
    const read = this.#guarded(message, undefined, "load", () => readKept(value));
    if (hasOwn(read, "fault")) return read;
    const kept = read.value;
    return { value: { kept, health: await healthOf(context, kept) } };
  }

  /** C4: the reply that call has had already, or that it is due. */
  async #again(context: DurableContext, kept: Kept | undefined, message: Message, key: CallKey): Promise<Outcome | undefined> {
    if (kept === undefined) return undefined;
    const reused: Outcome = { fault: faultOf(faults.keyReused(message.to)) };
    for (const [id, pending] of Object.entries(kept.row.pending)) {
      const due = pendingReply(pending);
      if (due.key === key.key) return due.call === key.call ? { later: id } : reused;
    }
    const found = kept.replies.findLast((reply) => reply.key === key.key) ?? (await this.#archived(context, kept, message, key));
    if (found === undefined || found.until <= message.at) return undefined;
    return found.call === "" || found.call === key.call ? { reply: found.reply } : reused;
  }

  async #archived(context: DurableContext, kept: Kept, { to }: Message, { key }: CallKey): Promise<KeptReply | undefined> {
    if (!kept.archived) return undefined;
    const answer = await context.call(this.#host.names.archive(to, "reply"), key);
    return isReplyOf(answer) ? answer.value : undefined;
  }

  async #worked(
    context: DurableContext,
    { message, node, waiting = [] }: TurnInput,
    manner: Manner,
    known: Known,
    place: Place,
    work: Parameters<typeof runWork>[2]["work"],
  ): Promise<Guarded<Turn<unknown>>> {
    try {
      return await runWork(context, this.#host, {
        work,
        message,
        key: manner.key,
        node,
        waiting,
        workMs: place.base.extra.policy.workMs,
        past: this.#past(message, place),
        planned: (turn) => this.#plan(place, message, manner, turn),
        guarded: (step) => this.#guarded(message, known, "work", step),
        sealer: this.#host.sealerFor(this.kind.name),
      });
    } catch (error) {
      if (error instanceof Withdrawn) return { fault: faultOf(faults.cancelled(message.to)) };
      throw error;
    }
  }

  #past({ to }: Message, { base, kept }: Place): Past | undefined {
    if (kept === undefined) return undefined;
    const { life, extra } = base;
    return pastOf({ kind: this.kind, life, seq: kept.seq, extra, history: (afterSeq) => this.#host.history(to, afterSeq) });
  }

  #plan({ base, born, kept }: Place, message: Message, { key, wake }: Manner, turn: Turn<unknown>, parentKnows = false): Plan | undefined {
    const plan = planTurn(base, { message, key: this.kind.reads.has(message.action) ? undefined : key, wake }, turn, {
      id: message.to,
      seq: (kept?.seq ?? 0) + 1,
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

  /** C3: whatever the behaviour throws becomes a value that says nothing was applied. */
  #guarded<T>(message: Message, known: Known | undefined, where: "turn" | "work" | "load", step: () => T): Guarded<T> {
    try {
      return { value: step() };
    } catch (error) {
      const refusal = invalidMessageReply(error, message);
      if (refusal !== undefined) return { fault: faultOf(faults.crashed(message.to, (known?.kept?.seq ?? 0) + 1, error)), refusal };
      if (error instanceof EngineError) {
        // A state that could not be brought to this version: the caller is not told why.
        if (error.code === "ACTOR_FAILED" && error.cause !== undefined) this.#host.fault(error, { where: "load", message });
        if (faults.isAuthors(error)) this.#host.fault(error, { where, message });
        return { fault: faultOf(error, this.#thrown(error.cause, message)) };
      }
      if (error instanceof StoreError) return { fault: faultOf(faults.fromStore(error)) };
      if (error instanceof NoBeginning) {
        this.#host.fault(error.cause, { where: "load", message });
        return { fault: faultOf(faults.failed(message.to, NO_BEGINNING, error.cause), this.#thrown(error.cause, message)) };
      }
      this.#host.fault(error, { where, message });
      return { fault: faultOf(faults.crashed(message.to, (known?.kept?.seq ?? 0) + 1, error), this.#thrown(error, message)) };
    }
  }

  #thrown(error: unknown, message: Message): string | undefined {
    return thrownText(error, this.kind.behaviour.redact !== undefined && this.kind.behaviour.redact(message) !== message.args);
  }

  /** A beginning that failed fails the actor, for a while. */
  #failBeginning(context: DurableContext, id: Message["to"], kept: Kept | undefined): void {
    context.set(HEALTH_KEY, JSON.stringify({ times: [], why: NO_BEGINNING }));
    // Whoever makes up keys and beginnings that throw must not fill the disk.
    const forgive: RestartInput = { ifUnborn: true };
    context.send(this.#host.names.actor(id, "restart"), forgive, this.kind.plain.policy.idleMs);
    if (kept !== undefined) this.#host.hint({ id, seq: kept.seq, head: kept.head, status: "failed" });
  }

  /** What a failure leaves behind: a crash counts where its kind bounds them. */
  async #failed(context: DurableContext, message: Message, { kept, health }: Known, failure: Failed): Promise<Done> {
    if (failure.refusal !== undefined) return { outcome: { reply: failure.refusal }, answered: false };
    const { code } = failure.fault;
    // What has not begun has nothing to go on from.
    if (kept?.row.status === "live" && code === "CRASHED") {
      const { restart } = living(this.kind, message.to, kept, false).base.extra.policy;
      if (restart !== undefined) {
        const now = await this.#now(context);
        const { times, fails } = afterCrash(health.times, now, restart);
        const why = `it crashed ${times.length} times within ${restart.withinMs} ms`;
        const next: Kept = { ...kept, health: { times, ...(fails ? { why } : {}) } };
        context.set(ACTOR_KEY, keptText(next));
        const { seq, head } = kept;
        const told = fails ? failedMessage(kept.row, message.to, why, message, now) : undefined;
        if (told !== undefined) deliver(context, this.#host, told);
        // Without the message: the fault that its caller gets says nothing of this.
        if (fails) this.#host.hint({ id: message.to, seq, head, status: "failed" });
      }
    }
    return failed(failure);
  }

  async #now(context: DurableContext): Promise<number> {
    return Number(await context.run("now", async () => this.#host.now()));
  }
}

/** What became of a wake. */
export interface Rung {
  readonly done?: Done;
  readonly message?: Message;
  readonly againAfterMs?: number;
}

/** When a timer fires, by the clock as it is now, once its time has come by Restate's. */
function whenItFires({ at, rang, cron, timeZone = "UTC" }: SetWake, now: number): number {
  // If it was set, or last fired, at a time that is still to come, the clock was set back, and only Restate's is right.
  if (rang === undefined || rang <= now) return at;
  return cron === undefined ? now : tickOfSetBack(cron, timeZone, at, rang, now);
}

const NO_BEGINNING = "its first state could not be made";

/** When its last message came, one that left no event included. */
async function lastMessageOf(context: DurableContext, { row }: Kept): Promise<number> {
  const seen = tryParseJson(await insist(() => context.get(SEEN_KEY)));
  return Math.max(row.lastMessageAt, isJsonObject(seen) && typeof seen["at"] === "number" ? seen["at"] : 0);
}

const failed = ({ fault }: Failed): Done => ({ outcome: { fault }, answered: false });

function stampOf(value: unknown): { readonly now: number; readonly seed: string } {
  if (typeof value === "object" && value !== null && "now" in value && "seed" in value)
    if (typeof value.now === "number" && typeof value.seed === "string") return { now: value.now, seed: value.seed };
  throw new TroupeError("STORE_CORRUPT", "The journal holds something else where a wake's time should be.");
}
