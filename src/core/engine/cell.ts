// Owns: the order of one actor's turns, from a message to its reply (C1, C2, C3).
// Does not own: the actor's state (actor-state.ts), the turns on their way to the store (uncommitted.ts), delivery, timers, children.
import { type Base, failedMessage, faults, hasParent, messagesOf, OK_NULL, type Plan, planTurn, received } from "../chain/internal.ts";
import { EngineError } from "../contract/index.ts";
import type { ActorId, Entry, Json, Message, Reply, Snapshot, Stored, Turn, Work } from "../contract/index.ts";
import { invalidMessageReply, hasOwn } from "../contract/internal.ts";
import { type ActorState, appendToStored, loadActor } from "./actor-state.ts";
import { type EventSummary, type MemoryEvent, publish, receipt, replyDeferred, reportAndRestart } from "./events.ts";
import { fromStore } from "./faults.ts";
import { failTask, type FiredTimer, Job, type Task } from "./job.ts";
import { Mailbox } from "./mailbox.ts";
import type { CellOps } from "./ops.ts";
import { NO_ACTORS, stopChildrenMessage } from "./supervision.ts";
import { type CommitWaiter, failDropped, PendingCommit, UncommittedTurns } from "./uncommitted.ts";
import { WorkRun } from "./work.ts";

/** Why the next message waits, while no turn runs. */
type Phase =
  | { readonly is: "ready" }
  /** The store is asked what the actor is: from the first lost commit on, and `done` while it is being asked. */
  | { readonly is: "loading"; done: Promise<void> | undefined }
  | { readonly is: "working"; readonly run: WorkRun }
  /** More than so many turns are uncommitted. */
  | { readonly is: "awaiting-commits"; readonly atMost: number }
  /** A first message waits to learn whether its parent lives, or for the children of the last life to stop. */
  | { readonly is: "starting"; readonly done: Promise<void> }
  /** The actor has stopped, and its children are being stopped. */
  | { readonly is: "stopping-children"; readonly done: Promise<void> };

const READY: Phase = { is: "ready" };
/** More turns would only wait in another queue, the store's. */
const MAX_UNCOMMITTED = 512;
const UNTIL_ALL_COMMITTED: Phase = { is: "awaiting-commits", atMost: 0 };
const UNTIL_HALF_COMMITTED: Phase = { is: "awaiting-commits", atMost: MAX_UNCOMMITTED / 2 - 1 };
/** A slower turn is reported: it holds up all actors, since they share one event loop. */
const SLOW_MS = 100;
const NO_MESSAGES: readonly Message[] = [];
const NO_WAITERS: readonly CommitWaiter[] = [];

export class Cell {
  readonly id: ActorId;
  readonly actor: ActorState;
  /** Since eviction last looked (`passivation.ts`). */
  used = true;
  /** Where `passivation.ts` keeps it. */
  idlePlace = 0;
  idleIndex = 0;
  /** Out of the registry: another cell may stand for the actor. An error: the store could not say what the actor is. */
  gone: EngineError | true | undefined;
  readonly #ops: CellOps;
  #phase: Phase = READY;
  /** A turn is on the stack. */
  #running = false;
  #mailbox: Mailbox<Task> | undefined;
  #uncommitted: UncommittedTurns | undefined;

  constructor(ops: CellOps, actor: ActorState) {
    this.id = actor.id;
    this.actor = actor;
    this.#ops = ops;
  }

  // ── what others may know ──────────────────────────────────────────────────

  /** The store could not say what the actor is: another cell will ask again. */
  get lost(): EngineError | undefined {
    return this.gone === true ? undefined : this.gone;
  }

  /** While the store is asked what the actor is. */
  get loading(): Promise<void> | undefined {
    return this.#phase.is === "loading" ? this.#phase.done : undefined;
  }

  get waiting(): number {
    return this.#mailbox?.length ?? 0;
  }

  /** Nothing runs, waits or is on its way to the store. */
  get quiet(): boolean {
    return this.#free && this.#uncommitted === undefined && this.waiting === 0;
  }

  /** The last durable state (law 2); undefined before there is one. */
  snapshot(): Snapshot | undefined {
    const { actor } = this;
    if (actor.seq === 0) return undefined;
    if (this.#uncommitted === undefined) return actor.snapshot();
    const { durable } = this.#uncommitted;
    if (durable.seq === 0) return undefined;
    return actor.status === "failed" ? { ...durable, head: durable.head, status: "failed" } : durable;
  }

  /** Settles when all turns of now are committed or dropped; undefined: there are none. */
  committing(): Promise<void> | undefined {
    return this.#uncommitted?.whenEmpty();
  }

  /** A turn that replies to a call of that key is on its way to the store: settles when it is there, or will not be. */
  replyTo(key: string): Promise<void> | undefined {
    return this.#uncommitted?.replyTo(key);
  }

  /** Settles when the store has answered for everything. */
  async settled(): Promise<void> {
    for (;;) {
      const phase = this.#phase;
      const waited = ("done" in phase ? phase.done : undefined) ?? this.#uncommitted?.whenEmpty();
      if (waited === undefined) return;
      await waited;
    }
  }

  // ── C1: one message at a time ─────────────────────────────────────────────

  get #free(): boolean {
    return this.#phase === READY && !this.#running;
  }

  /** Runs the task at once, inside this call, unless something is before it. */
  push(task: Task, urgent = false): void {
    this.used = true;
    if (this.#free && this.waiting === 0) {
      this.#enter(task);
      this.#pump();
      return;
    }
    const mailbox = (this.#mailbox ??= new Mailbox());
    if (task instanceof Job) task.fresh = false;
    if (task instanceof Job && task.bounded && mailbox.length >= this.actor.extra.policy.mailbox) task.fail(faults.mailboxFull(this.id));
    else if (urgent) mailbox.addUrgent(task);
    else mailbox.add(task);
  }

  /** Pushes a task before all others. Ends the work that it would wait for; what is started by listeners meanwhile goes on. */
  #pushBeforeWork(task: Task, why: EngineError): void {
    const phase = this.#phase;
    this.push(task, true);
    if (phase.is === "working" && phase === this.#phase) this.abortWork(why);
  }

  /** Fails what waits. */
  refuseAll(error: EngineError): void {
    for (const task of this.#mailbox?.drain() ?? []) failTask(task, error);
  }

  #pump(): void {
    while (this.#free) {
      const task = this.#mailbox?.shift();
      if (task === undefined) {
        this.#mailbox = undefined;
        if ((this.actor.status !== "live" || this.#ops.draining) && this.quiet) this.#ops.idle(this);
        return;
      }
      this.#enter(task);
    }
  }

  // C1: what listeners send this actor meanwhile finds it running, and waits.
  #enter(task: Task, act?: () => void): void {
    this.#running = true;
    try {
      if (act) act();
      else if (task instanceof Job) this.#receive(task);
      else task.run();
    } catch (error) {
      this.#ops.fault(error, { where: "turn", actor: this.id });
      failTask(task, faults.crashed(this.id, this.actor.seq + 1, error));
    } finally {
      this.#running = false;
    }
  }

  #becomeReady(): void {
    this.#phase = READY;
    if (!this.#running) this.#pump();
  }

  /** Ends a phase with an act of the task that caused it; nothing can come before that. */
  #resume(task: Task, act: () => void): void {
    this.#phase = READY;
    this.#enter(task, act);
    this.#pump();
  }

  /** Runs the task again, before all others, once every turn is committed. */
  #retryWhenCommitted(task: Task): void {
    this.#phase = UNTIL_ALL_COMMITTED;
    if (task instanceof Job) task.fresh = false;
    (this.#mailbox ??= new Mailbox()).addUrgent(task);
  }

  /** The caller cancels, or its deadline has passed. Too late from the commit on. */
  cancel(job: Job, error: EngineError): void {
    if (job.phase === "waiting") {
      this.#mailbox?.remove(job);
      job.fail(error);
    } else if (this.#phase.is === "working" && this.#phase.run.job === job) this.abortWork(error);
  }

  // ── a message ─────────────────────────────────────────────────────────────

  #receive(job: Job): void {
    if (job.phase === "over") return;
    const { actor } = this;
    const refusal = actor.refusal(job.message, this.#ops.clock);
    if (refusal) return actor.ignores(job.message) ? job.done(OK_NULL) : job.fail(refusal);
    if (actor.status === "live") this.#turn(job, actor, false);
    else if (this.#isSent(job)) this.#startIfParentLives(job);
    else this.#start(job);
  }

  #turn(job: Job, base: Base, born: boolean): void {
    const { actor, id } = this;
    const { clock } = this.#ops;
    // Not the message's own time: one that waited long in the outbox comes now all the same.
    const from = (actor.lastAt = job.fresh ? job.message.at : clock.now());
    this.#runTurn(job, base, born);
    const ms = clock.now() - from;
    if (ms >= SLOW_MS) this.#ops.slow({ actor: id, action: job.message.action, ms });
  }

  #runTurn(job: Job, base: Base, born: boolean): void {
    const { kind, seq } = this.actor;
    let effect: Turn<unknown> | Work<unknown>;
    try {
      effect = received(kind.behaviour, base.state, base, job.message, seq + 1);
    } catch (error) {
      return this.#crash(job, error, "turn");
    }
    if (typeof effect === "function") this.#startWork(job, base, born, effect);
    else this.#conclude(job, base, born, effect, NO_ACTORS);
  }

  /** C3: everything that can throw comes before the commit. `ancestors`: who is stopping already, and need not be told of a stop. */
  #conclude(job: Job, base: Base, born: boolean, turn: Turn<unknown>, ancestors: ReadonlySet<ActorId>): void {
    const { id, actor } = this;
    const { extra } = actor;
    let plan: Plan | undefined;
    try {
      plan = planTurn(base, job, turn, {
        id,
        seq: actor.seq + 1,
        born,
        keyMs: this.#ops.keyMs,
        answersElsewhere: actor.memory && job.consumed !== undefined,
        parentKnows: extra.parent !== undefined && ancestors.has(extra.parent),
        whole: born || actor.memory,
      });
      if (plan !== undefined) this.#commit(job, plan, ancestors);
    } catch (error) {
      if (error instanceof EngineError) this.#refuseTurn(job, error);
      else this.#crash(job, error, "turn");
      return;
    }
    if (plan !== undefined) return;
    const reply = turn.reply === "later" ? OK_NULL : (turn.reply ?? OK_NULL);
    // C2: a reply that saw uncommitted state is sent, or dropped, with it.
    if (this.#uncommitted === undefined) this.#replyWithoutEvent(job, reply, turn.emit);
    else this.#replyWhenCommitted(this.#uncommitted, job, reply, turn.emit);
  }

  #refuseTurn(job: Job, error: EngineError): void {
    const reply = invalidMessageReply(error, job.message);
    if (reply !== undefined) return job.done(reply);
    if (faults.isAuthors(error)) this.#ops.fault(error, { where: "turn", actor: this.id, action: job.message.action });
    job.fail(error);
  }

  #replyWhenCommitted(uncommitted: UncommittedTurns, job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
    uncommitted.waitForLast({ committed: () => this.#replyWithoutEvent(job, reply, emit), dropped: (error) => job.fail(error) });
  }

  #replyWithoutEvent(job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
    const now = emit === undefined || emit.length === 0 || !hasOwn(reply, "ok") ? undefined : this.snapshot();
    if (now) publish(this.#ops, this.actor, now, emit);
    job.done(reply);
  }

  // ── C2: commit, then publish the change, then reply ───────────────────────

  #commit(job: Job, plan: Plan, ancestors: ReadonlySet<ActorId>): void {
    const inMemory = plan.born ? plan.extra.policy.persistence === "memory" : this.actor.memory;
    if (!inMemory) return this.#handToStore(job, plan, ancestors);
    const event = this.actor.applyInMemory(plan);
    if (plan.born) this.#ops.started(this);
    const sent = plan.sends.length === 0 ? NO_MESSAGES : messagesOf(plan, this.#ops.clock.now(), undefined);
    if (plan.stop === undefined) this.#committed(job, plan, event, sent);
    else this.#stopInMemory(job, plan, event, sent, ancestors);
  }

  /** The next turn may run before the store has answered. */
  #handToStore(job: Job, plan: Plan, ancestors: ReadonlySet<ActorId>): void {
    const { actor, id } = this;
    const { commit, clock } = this.#ops;
    if (commit === undefined) throw faults.engineMissing(actor.kind.name, "store");
    const now = clock.now();
    const turn = actor.entryFor(plan, job.consumed, now);
    const stopping = plan.stop === undefined ? undefined : { message: stopChildrenMessage(plan, now, turn.event.id), ancestors };
    const entry = stopping === undefined ? turn : { ...turn, out: [...turn.out, stopping.message] };
    const uncommitted = (this.#uncommitted ??= new UncommittedTurns(actor.snapshot()));
    actor.apply(plan, entry);
    job.phase = "commit";
    const pending = new PendingCommit(this, job, plan, entry, stopping);
    uncommitted.add(pending);
    commit(id, entry, pending);
    // Another life must not start on a stop that may be dropped.
    if (stopping !== undefined) this.#phase = UNTIL_ALL_COMMITTED;
    else if (uncommitted.length >= MAX_UNCOMMITTED) this.#phase = UNTIL_HALF_COMMITTED;
  }

  /** The store has answered for one more turn. They are committed in their order; a lost one takes all behind it along. */
  onStoreAnswer({ outcome }: PendingCommit): void {
    const uncommitted = this.#uncommitted;
    if (uncommitted === undefined) return;
    if (outcome === "lost" && !uncommitted.failed) {
      uncommitted.failed = true;
      this.#phase = { is: "loading", done: undefined };
    }
    if (uncommitted.failed) {
      if (!uncommitted.allAnswered) return;
      this.#uncommitted = undefined;
      void this.load(uncommitted.drop());
    } else {
      let first = uncommitted.firstCommitted();
      if (first === undefined) return;
      for (; first !== undefined; first = uncommitted.firstCommitted()) {
        this.#storeCommitted(first);
        uncommitted.shift();
      }
      const left = uncommitted.length;
      if (left === 0) this.#uncommitted = undefined;
      if (this.#phase.is === "awaiting-commits" && left <= this.#phase.atMost) this.#phase = READY;
      if (this.#free) this.#pump();
    }
    uncommitted.settleIfEmpty();
  }

  #storeCommitted(turn: PendingCommit): void {
    const { job, entry, stopping } = turn;
    job.dequeued = job.consumed !== undefined;
    if (stopping === undefined) this.#letOut(turn, entry.out);
    else this.#stopInStore(turn, stopping);
  }

  #letOut(turn: PendingCommit, sent: readonly Message[]): void {
    const { job, plan, entry } = turn;
    this.#committed(job, plan, { seq: plan.seq, head: entry.event.id, status: entry.row.status }, sent);
    // Listeners may have added some just now.
    for (const waiter of turn.waiters ?? NO_WAITERS) waiter.committed();
  }

  /** C2, C8: the turn is committed. Its change is published, then its callers get their replies, then its messages leave. */
  #committed(job: Job, plan: Plan, event: EventSummary, sent: readonly Message[]): void {
    const { actor } = this;
    const ops = this.#ops;
    job.answered = plan.answered;
    publish(ops, actor, event, plan.emit);
    if (plan.report !== undefined || plan.restart !== undefined) reportAndRestart(ops, job, plan);
    if (plan.answers.length > 0) replyDeferred(ops, actor, plan.answers, event);
    if (plan.reply !== "later") {
      receipt(ops, actor, job, event);
      job.done(plan.reply);
    } else if (job.onEnd === undefined) ops.deferred.add(plan.message.id, job);
    else job.done(OK_NULL);
    if (sent.length > 0) ops.deliver(sent, !actor.memory);
    if (plan.timed) ops.timersChanged(this);
    if (actor.memory && plan.remembered.length > 0) ops.remember(this.id, plan.remembered);
  }

  #publishNow(): void {
    const now = this.snapshot();
    if (now) publish(this.#ops, this.actor, now, undefined);
  }

  // ── work ──────────────────────────────────────────────────────────────────

  #startWork(job: Job, base: Base, born: boolean, work: Work<unknown>): void {
    // C2: work starts only when all before it is durable; to receive the message again is pure.
    if (this.#uncommitted !== undefined) return this.#retryWhenCommitted(job);
    const finish = (act: () => void): void => {
      job.phase = "waiting";
      this.#resume(job, act);
    };
    const run = new WorkRun(this.id, this.#ops, job, base.extra.policy.workMs, {
      turned: (turn) =>
        finish(() => {
          if (born) this.#ifParentLives(job, () => this.#conclude(job, base, true, turn, NO_ACTORS));
          else this.#conclude(job, base, false, turn, NO_ACTORS);
        }),
      threw: (error) => finish(() => this.#crash(job, error, "work")),
      timedOut: (error) => finish(() => job.fail(error)),
    });
    this.#phase = { is: "working", run };
    job.phase = "work";
    run.start(work);
  }

  /** Ends the work, if any: what it still does is ignored, and the next message may run. */
  abortWork(error: EngineError): void {
    const phase = this.#phase;
    if (phase.is !== "working" || !phase.run.end(error)) return;
    phase.run.job.fail(error);
    this.#becomeReady();
  }

  // ── start and stop ────────────────────────────────────────────────────────

  #isSent({ bounded, message }: Job): boolean {
    return !bounded && message.from !== undefined && hasParent(this.actor.kind);
  }

  // V8 allocates what a function's closures capture each time it is entered, so the way of a call goes through none that has them.
  #startIfParentLives(job: Job): void {
    this.#ifParentLives(job, () => this.#start(job));
  }

  /** A message starts no actor once its sender, which would be the parent, has ended the life it was sent in. */
  #ifParentLives(job: Job, act: () => void): void {
    const { message } = job;
    const { from } = message;
    const { supervision } = this.#ops;
    if (from === undefined || !this.#isSent(job)) return act();
    const go = (lives: boolean): void => (lives ? act() : job.fail(faults.parentStopped(this.id, from)));
    const lives = supervision.senderLives(message);
    if (lives !== undefined) return go(lives);
    // It may have stopped a moment after the answer; if that is not known here, nobody has changed it.
    this.#startAfter(job, supervision.whenSure(message), (sure) => go(supervision.senderLives(message) ?? sure));
  }

  /** Another life starts without the children of the last. */
  #start(job: Job): void {
    const stopping = this.actor.life === "" ? undefined : this.#ops.supervision.stopChildren(this.id, NO_ACTORS);
    if (stopping === undefined) this.#firstTurn(job);
    else this.#startAfterChildren(job, stopping);
  }

  #startAfterChildren(job: Job, stopping: Promise<void>): void {
    this.#startAfter(job, stopping, () => this.#firstTurn(job));
  }

  #firstTurn(job: Job): void {
    let base: Base;
    try {
      base = this.actor.begin(job.message, this.#ops.store);
    } catch (error) {
      return this.#refuseStart(job, error);
    }
    this.#turn(job, base, true);
  }

  #refuseStart(job: Job, error: unknown): void {
    const reply = invalidMessageReply(error, job.message);
    if (reply !== undefined) return job.done(reply);
    if (error instanceof EngineError) return job.fail(error);
    this.#ops.fault(error, { where: "load", actor: this.id, action: job.message.action });
    job.fail(this.#fail(faults.failed(this.id, "its first state could not be made", error)));
  }

  /** Waits for an answer, and goes on unless the caller has cancelled meanwhile: it was told "not applied". */
  #startAfter<T>(job: Job, answer: Promise<T>, act: (value: T) => void): void {
    job.fresh = false;
    const goOn = (run: () => void): void =>
      this.#resume(job, () => {
        if (job.phase !== "over") run();
      });
    const done = answer.then(
      (value) => goOn(() => act(value)),
      (error: unknown) => goOn(() => job.fail(faults.fromStore(error))),
    );
    this.#phase = { is: "starting", done };
  }

  #stopInMemory(job: Job, plan: Plan, event: MemoryEvent, sent: readonly Message[], ancestors: ReadonlySet<ActorId>): void {
    job.phase = "commit";
    this.#ops.stopped(this);
    const message = stopChildrenMessage(plan, this.#ops.clock.now(), undefined);
    this.#afterChildren(job, message, ancestors, () => this.#committed(job, plan, event, sent));
  }

  #stopInStore(turn: PendingCommit, { message, ancestors }: NonNullable<PendingCommit["stopping"]>): void {
    this.#afterChildren(turn.job, message, ancestors, () => this.#letOut(turn, turn.entry.out.slice(0, -1)));
  }

  /** A committed stop is published once the actor's children have stopped, or could not be stopped for now. */
  #afterChildren(job: Job, message: Message, ancestors: ReadonlySet<ActorId>, act: () => void): void {
    const stopping = this.#ops.supervision.stopChildrenOf(message, !this.actor.memory, ancestors);
    if (stopping === undefined) return act();
    this.#phase = { is: "stopping-children", done: stopping.then(() => this.#resume(job, act)) };
  }

  // ── crashes ───────────────────────────────────────────────────────────────

  #crash(job: Job, error: unknown, where: "turn" | "work"): void {
    // Not the actor's crash: or senders of such messages could fail an actor that bounds them.
    const reply = invalidMessageReply(error, job.message);
    if (reply !== undefined) return job.done(reply);
    this.#ops.fault(error, { where, actor: this.id, action: job.message.action });
    // What has not started has no state to protect: callers who make up keys must not leave failures behind.
    if (this.actor.status === "live") this.#countCrash(job.message, error);
    job.fail(faults.crashed(this.id, this.actor.seq + 1, error));
  }

  #countCrash(message: Message, error: unknown): void {
    const { id, actor } = this;
    const why = actor.countCrash(this.#ops.clock.now());
    if (why === undefined) return;
    this.#fail(faults.failed(id, why, error));
    const toParent = failedMessage(actor.extra, id, why, message, this.#ops.clock.now());
    if (toParent !== undefined) this.#ops.deliver([toParent], false);
  }

  #fail(why: EngineError): EngineError {
    this.actor.fail(why);
    this.#publishNow();
    return why;
  }

  // ── the store ─────────────────────────────────────────────────────────────

  /** Asks the store what the actor is; what waits is refused if it cannot say. `dropped`: C2, turns that were not committed. */
  load(dropped: readonly PendingCommit[] = []): Promise<void> {
    const phase: Phase = (this.#phase = { is: "loading", done: undefined });
    return (phase.done = this.#reload(dropped));
  }

  async #reload(dropped: readonly PendingCommit[], before?: () => void): Promise<void> {
    let lost: EngineError | undefined;
    try {
      const failure = this.actor.restore(await loadActor(this.#ops.store, this.actor));
      if (failure !== undefined) {
        this.#ops.fault(failure, { where: "load", actor: this.id });
        this.#fail(failure);
      }
    } catch (error) {
      this.#ops.fault(error, { where: "store", actor: this.id });
      lost = faults.fromStore(error);
    }
    // C2: the dropped turns' callers learn of it; one that was stored all the same may have stopped the actor.
    if (dropped.length > 0) await failDropped(this.id, this.#ops, dropped, (turn) => this.#storeCommitted(turn));
    const phase = this.#phase;
    if (phase.is === "loading") phase.done = undefined;
    before?.();
    if (lost === undefined) {
      if (phase.is === "loading") this.#becomeReady();
      return;
    }
    this.gone = lost;
    this.#ops.forget(this);
    this.refuseAll(lost);
  }

  /** Puts an event that has no message into the chain, made of what the store has when no turn is on its way there. Then loads anew. */
  append(make: (stored: Stored) => Entry): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    const task: Task = {
      run: () => {
        if (this.actor.memory) return reject(faults.noActor(this.id));
        if (this.#uncommitted !== undefined) return this.#retryWhenCommitted(task);
        const phase: Phase = (this.#phase = { is: "loading", done: undefined });
        phase.done = fromStore(appendToStored(this.#ops.store, this.id, make))
          .then(resolve, reject)
          .then(() => this.#reload([], () => this.#publishNow()));
      },
      abandon: reject,
    };
    this.push(task);
    return promise;
  }

  // ── what the engine asks, in turn among the messages ──────────────────────

  /** Stops the actor without asking its behaviour. `ancestors`: who is stopping already, and need not be told. */
  stop(job: Job, reason: string, ancestors: ReadonlySet<ActorId>): void {
    const task: Task = {
      run: () => {
        if (this.actor.seq === 0) job.fail(faults.noActor(this.id));
        else if (this.actor.status === "stopped") job.done(OK_NULL);
        else this.#conclude(job, this.actor, false, { stop: reason }, ancestors);
      },
      abandon: (error) => job.fail(error),
    };
    this.#pushBeforeWork(task, faults.stopped(this.id));
  }

  /** A timer fires: unless it was cancelled or put off meanwhile, its message is received like any other. */
  fire({ name, isDue, message, onEnd, dropped }: FiredTimer): void {
    const task: Task = {
      run: () => {
        const { status, extra, life, why } = this.actor;
        const wake = extra.wakes[name];
        if (status === "failed") return onEnd(undefined, why ?? faults.stopped(this.id));
        if (status !== "live" || wake === undefined || !isDue(wake)) return onEnd(OK_NULL, undefined);
        const job = new Job(message(life));
        job.wake = name;
        job.bounded = false;
        job.onEnd = onEnd;
        if (dropped === undefined) this.#receive(job);
        else this.#conclude(job, this.actor, false, { record: { dropped } }, NO_ACTORS);
      },
      abandon: (error) => onEnd(undefined, error),
    };
    this.push(task);
  }

  /** Forgets what this process knows of the actor, its failure and its crashes included, and loads it anew. */
  restart(job: Job): void {
    const task: Task = {
      run: () => {
        if (this.#uncommitted !== undefined) return this.#retryWhenCommitted(task);
        this.actor.forgive();
        if (this.actor.memory) return this.#restarted(job);
        void this.load().then(() => (this.lost === undefined ? this.#restarted(job) : job.fail(this.lost)));
      },
      abandon: (error) => job.fail(error),
    };
    this.#pushBeforeWork(task, faults.cancelled(this.id));
  }

  #restarted(job: Job): void {
    this.#publishNow();
    // Its timers have waited with it.
    this.#ops.timersChanged(this);
    job.done(OK_NULL);
  }
}
