// Owns: the order of one actor's turns, from a message to its reply (C1, C2, C3).
// Does not own: the actor's state (actor-state.ts), the turns on their way to the store (uncommitted.ts), how an actor starts, stops
// and fails (lifecycle.ts), how others learn of a turn (announce.ts), delivery, timers.
import { type Base, faults, messagesOf, OK_NULL, type Plan, planTurn, received } from "../chain/internal.ts";
import {
  type ActorId,
  type ActorMailbox,
  EngineError,
  type Entry,
  type Json,
  type Message,
  type Reply,
  type Snapshot,
  type Turn,
  type Work,
} from "../contract/index.ts";
import type { CommitWithCallback } from "../contract/internal.ts";
import type { ActorState } from "./actor-state.ts";
import { announce, announceStored, type EventOps, publishNow, replyWithoutEvent } from "./announce.ts";
import type { Indexes } from "./index-maintenance.ts";
import { failTask, Job, type Task } from "./job.ts";
import {
  crashed,
  ifParentLives,
  isSentByParent,
  type LifecycleOps,
  loadState,
  refused,
  start,
  startIfParentLives,
  stopInMemory,
  stopInStore,
} from "./lifecycle.ts";
import { Mailbox } from "./mailbox.ts";
import type { SlowTurn } from "./fault-reports.ts";
import { type Ancestors, NO_ACTORS, stopChildrenMessage } from "./children.ts";
import { failDropped, PendingCommit, UncommittedTurns } from "./uncommitted.ts";
import { type WorkOps, WorkRun } from "./work.ts";

/** Why the next message waits while no turn runs. */
type Phase =
  | { readonly is: "ready" }
  /** A commit was lost, or the actor has not been loaded: it has to be read from the store. `done` is set while it is. */
  | { readonly is: "loading"; done: Promise<void> | undefined }
  | { readonly is: "working"; readonly run: WorkRun }
  /** More than `atMost` turns are uncommitted. */
  | { readonly is: "awaiting-commits"; readonly atMost: number }
  /** The first message waits until it is known whether its parent lives, or until the children of the last life have stopped. */
  | { readonly is: "starting"; readonly done: Promise<void> }
  /** The actor has stopped, and its children are being stopped. */
  | { readonly is: "stopping-children"; readonly done: Promise<void> };

const READY: Phase = { is: "ready" };
/** More turns would only wait in the store's queue instead. */
const MAX_UNCOMMITTED = 512;
const UNTIL_ALL_COMMITTED: Phase = { is: "awaiting-commits", atMost: 0 };
const UNTIL_HALF_COMMITTED: Phase = { is: "awaiting-commits", atMost: MAX_UNCOMMITTED / 2 - 1 };
/** A slower turn is reported: it delays all actors, since they share one event loop. */
const SLOW_MS = 100;
const NO_MESSAGES: readonly Message[] = [];
/** A stored expiry is early by at most this part of `expireMs`: each message that leaves no event would otherwise write a row. */
const EXPIRY_SLACK = 0.01;

/** What a cell and its parts need of the engine. */
export interface CellOps extends EventOps, LifecycleOps, WorkOps {
  /** Hands an entry to the store; its `CommitCallbacks` learn the outcome later. */
  readonly commit: CommitWithCallback | undefined;
  /** Undefined: there are no indexes. */
  readonly indexes: Pick<Indexes, "changesOf" | "maintainsAll" | "appliedInMemory" | "appended" | "committed"> | undefined;
  /** Stores when an actor was last used, if its turns leave no events. Undefined: there is no store, or it does not. */
  readonly touch: ((id: ActorId, at: number) => void) | undefined;
  /** How long a keyed reply is remembered. */
  readonly keyMs: number;
  /** The engine waits for all cells to become idle. */
  readonly draining: boolean;
  /** A failed write may have been stored: messages and timers that only the store knows are read from it, in order. */
  readonly rereadStore: () => void;
  /** The actor's timers or its expiry have changed. */
  timersChanged(cell: Cell): void;
  /** A memory actor has started. */
  started(cell: Cell): void;
  /** A memory actor has stopped: once for each start. */
  stopped(cell: Cell): void;
  /** Nothing runs or waits in a cell that is not live, or in any cell while draining. */
  idle(cell: Cell): void;
  /** Another cell will represent the actor. */
  forget(cell: Cell): void;
  slow(turn: SlowTurn): void;
}

export class Cell {
  readonly id: ActorId;
  readonly actor: ActorState;
  readonly ops: CellOps;
  /** Since the last eviction check (passivation.ts). */
  used = true;
  /** Its place in passivation.ts. */
  idlePlace = 0;
  idleIndex = 0;
  /** Removed from the table of cells: another cell may represent the actor. An error: the actor could not be loaded. */
  discarded: EngineError | true | undefined;
  #phase: Phase = READY;
  /** A turn is on the stack. */
  #running = false;
  #mailbox: Mailbox<Task> | undefined;
  #uncommitted: UncommittedTurns | undefined;

  constructor(ops: CellOps, actor: ActorState) {
    this.id = actor.id;
    this.actor = actor;
    this.ops = ops;
  }

  // ── what other parts may read ─────────────────────────────────────────────

  /** Why the actor could not be loaded. The next lookup makes a new cell, which tries again. */
  get lost(): EngineError | undefined {
    return this.discarded === true ? undefined : this.discarded;
  }

  /** Settles when the actor has been loaded; undefined: it is not being loaded. */
  get loading(): Promise<void> | undefined {
    return this.#phase.is === "loading" ? this.#phase.done : undefined;
  }

  /** Throws if the actor could not be loaded. */
  async loaded(): Promise<void> {
    await this.loading;
    if (this.lost) throw this.lost;
  }

  get waiting(): number {
    return this.#mailbox?.length ?? 0;
  }

  /** What the engine itself does with the actor, such as a stop, is among the `queued`, but no message. */
  mailbox(most: number): ActorMailbox {
    const phase = this.#phase;
    return {
      phase: phase.is,
      queued: this.waiting,
      waiting: this.#mailbox?.first(most).flatMap((task) => (task instanceof Job ? [task.message] : [])) ?? [],
      ...(phase.is === "working" ? { working: phase.run.job.message } : undefined),
    };
  }

  /** Nothing runs, waits or is uncommitted. */
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

  /** The turns that the store has not answered for; undefined: there are none. */
  get uncommitted(): Pick<UncommittedTurns, "replyTo" | "whenEmpty"> | undefined {
    return this.#uncommitted;
  }

  /** Settles when the store has answered all requests of this cell. */
  async settled(): Promise<void> {
    for (;;) {
      const phase = this.#phase;
      const waited = ("done" in phase ? phase.done : undefined) ?? this.#uncommitted?.whenEmpty();
      if (waited === undefined) return;
      await waited;
    }
  }

  /** Notifies the engine that the actor's timers or its expiry have changed. */
  timersChanged(): void {
    this.ops.timersChanged(this);
  }

  // ── C1: one message at a time ─────────────────────────────────────────────

  get #free(): boolean {
    return this.#phase === READY && !this.#running;
  }

  /** Runs the task at once, inside this call, unless another one runs or waits. */
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

  /** Pushes a task before all others, and ends the work it would wait for, but not work that listeners start meanwhile. */
  pushBeforeWork(task: Task, why: EngineError): void {
    const phase = this.#phase;
    this.push(task, true);
    if (phase.is === "working" && phase === this.#phase) this.abortWork(why);
  }

  /** Fails all tasks that wait. */
  refuseAll(error: EngineError): void {
    for (const task of this.#mailbox?.drain() ?? []) failTask(task, error);
  }

  #pump(): void {
    while (this.#free) {
      const task = this.#mailbox?.shift();
      if (task === undefined) {
        this.#mailbox = undefined;
        if ((this.actor.status !== "live" || this.ops.draining) && this.quiet) this.ops.idle(this);
        return;
      }
      this.#enter(task);
    }
  }

  // C1: a message that a listener sends to this actor meanwhile waits, since the actor is running.
  #enter(task: Task, act?: () => void): void {
    this.#running = true;
    try {
      if (act) act();
      else if (task instanceof Job) this.receive(task);
      else task.run();
    } catch (error) {
      this.ops.fault(error, { where: "turn", actor: this.id });
      failTask(task, faults.crashed(this.id, this.actor.seq + 1, error));
    } finally {
      this.#running = false;
    }
  }

  #becomeReady(): void {
    this.#phase = READY;
    if (!this.#running) this.#pump();
  }

  /** Suspends the actor until the caller resumes it; what is pushed meanwhile waits. */
  suspend(is: "starting" | "stopping-children", done: Promise<void>): void {
    this.#phase = { is, done };
  }

  /** Ends a phase by continuing the task that caused it, before any other task. */
  resume(task: Task, act: () => void): void {
    this.#phase = READY;
    this.#enter(task, act);
    this.#pump();
  }

  /** True if turns are uncommitted: the task then runs again, before all others, once they are not. */
  retryWhenCommitted(task: Task): boolean {
    if (this.#uncommitted === undefined) return false;
    this.#phase = UNTIL_ALL_COMMITTED;
    if (task instanceof Job) task.fresh = false;
    (this.#mailbox ??= new Mailbox()).addUrgent(task);
    return true;
  }

  /** The caller cancels, or its deadline has passed. Has no effect from the commit on. */
  cancel(job: Job, error: EngineError): void {
    if (job.phase === "waiting") {
      this.#mailbox?.remove(job);
      job.fail(error);
    } else if (this.#phase.is === "working" && this.#phase.run.job === job) this.abortWork(error);
  }

  // ── a message ─────────────────────────────────────────────────────────────

  receive(job: Job): void {
    if (job.phase === "over") return;
    const { actor } = this;
    const refusal = actor.refusal(job.message, this.ops.clock);
    if (refusal) return actor.ignores(job.message) ? job.done(OK_NULL) : job.fail(refusal);
    if (actor.status === "live") this.turn(job, actor, false);
    else if (isSentByParent(this, job)) startIfParentLives(this, job);
    else start(this, job);
  }

  /** `born`: the first turn of a life, from the state that `initial` made. */
  turn(job: Job, base: Base, born: boolean): void {
    const { actor, id } = this;
    const { clock } = this.ops;
    job.timer?.begun();
    // Not the message's own time, which may be long past if it waited in the outbox.
    const from = (actor.lastAt = job.fresh ? job.message.at : clock.now());
    this.#runTurn(job, base, born);
    const ms = clock.now() - from;
    if (ms >= SLOW_MS) this.ops.slow({ actor: id, action: job.message.action, ms });
  }

  #runTurn(job: Job, base: Base, born: boolean): void {
    const { kind, seq } = this.actor;
    let effect: Turn<unknown> | Work<unknown>;
    try {
      effect = received(kind.behaviour, base.state, base, job.message, seq + 1);
    } catch (error) {
      return crashed(this, job, error, "turn");
    }
    if (typeof effect === "function") this.#startWork(job, base, born, effect);
    else this.conclude(job, base, born, effect, NO_ACTORS);
  }

  /** C3: everything that can throw comes before the commit. */
  conclude(job: Job, base: Base, born: boolean, turn: Turn<unknown>, ancestors: Ancestors): void {
    const { id, actor } = this;
    const { extra } = actor;
    let plan: Plan | undefined;
    try {
      plan = planTurn(base, job, turn, {
        id,
        seq: actor.seq + 1,
        born,
        keyMs: this.ops.keyMs,
        answersElsewhere: actor.memory && job.consumed !== undefined,
        parentKnows: extra.parent !== undefined && ancestors.has(extra.parent),
        whole: born || actor.memory,
      });
      if (plan !== undefined) this.#commit(job, plan, ancestors);
    } catch (error) {
      if (error instanceof EngineError) refused(this, job, error);
      else crashed(this, job, error, "turn");
      return;
    }
    if (plan !== undefined) return;
    if (!born) this.#postponeExpiry();
    const reply = turn.reply === "later" ? OK_NULL : (turn.reply ?? OK_NULL);
    // C2: a reply that is based on uncommitted state is sent, or dropped, with it.
    if (this.#uncommitted === undefined) replyWithoutEvent(this, job, reply, turn.emit);
    else this.#replyWhenCommitted(this.#uncommitted, job, reply, turn.emit);
  }

  /** What is only in memory is lost when the actor is dropped from it, and then it would expire although it is used. */
  #postponeExpiry(): void {
    const { actor } = this;
    const { expireMs } = actor.extra.policy;
    if (expireMs === undefined || actor.memory || actor.lastAt - actor.lastMessageAt < expireMs * EXPIRY_SLACK) return;
    actor.lastMessageAt = actor.lastAt;
    this.ops.touch?.(this.id, actor.lastAt);
  }

  #replyWhenCommitted(uncommitted: UncommittedTurns, job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
    uncommitted.waitForLast({ committed: () => replyWithoutEvent(this, job, reply, emit), dropped: (error) => job.fail(error) });
  }

  // ── C2: commit, then publish the change, then reply ───────────────────────

  #commit(job: Job, plan: Plan, ancestors: Ancestors): void {
    const inMemory = plan.born ? plan.extra.policy.persistence === "memory" : this.actor.memory;
    const indexed = this.ops.indexes?.changesOf(this.actor, plan);
    if (!inMemory) return this.#handToStore(job, plan, ancestors, indexed);
    const event = this.actor.applyInMemory(plan);
    if (plan.born) this.ops.started(this);
    if (indexed !== undefined && indexed.length > 0) this.ops.indexes?.appliedInMemory(this.actor, indexed);
    const sent = plan.sends.length === 0 ? NO_MESSAGES : messagesOf(plan, this.ops.clock.now(), undefined);
    if (plan.stop === undefined) return announce(this, job, plan, event, sent);
    this.ops.stopped(this);
    stopInMemory(this, job, plan, event, sent, ancestors);
  }

  /** The next turn may run before the store has answered. */
  #handToStore(job: Job, plan: Plan, ancestors: Ancestors, indexed: Entry["indexed"]): void {
    const { actor, id } = this;
    const { commit, clock, indexes } = this.ops;
    if (commit === undefined) throw faults.engineMissing(actor.kind.name, "store");
    const now = clock.now();
    const turn = actor.entryFor(plan, job.consumed, now, indexes?.maintainsAll(actor.kind.name) === true ? indexed : undefined);
    const stopping = plan.stop === undefined ? undefined : { message: stopChildrenMessage(plan, now, turn.event.id), ancestors };
    const entry = stopping === undefined ? turn : { ...turn, out: [...turn.out, stopping.message] };
    const uncommitted = (this.#uncommitted ??= new UncommittedTurns(actor.snapshot()));
    actor.apply(plan, entry);
    job.phase = "commit";
    const pending = new PendingCommit(this, job, plan, entry, stopping, indexed);
    uncommitted.add(pending);
    commit(id, entry, pending);
    // No other life may start on a stop that may still be dropped.
    if (stopping !== undefined) this.#phase = UNTIL_ALL_COMMITTED;
    else if (uncommitted.length >= MAX_UNCOMMITTED) this.#phase = UNTIL_HALF_COMMITTED;
  }

  /** The store has answered for one more turn. Turns are committed in their order; a lost one and all after it are dropped. */
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
    const { job, entry, stopping, indexed } = turn;
    job.dequeued = job.consumed !== undefined;
    if (indexed !== undefined && indexed.length > 0) this.ops.indexes?.committed(this.id, entry.row.owner, indexed);
    if (stopping === undefined) announceStored(this, turn, entry.out);
    else stopInStore(this, turn, stopping);
  }

  // ── work ──────────────────────────────────────────────────────────────────

  #startWork(job: Job, base: Base, born: boolean, work: Work<unknown>): void {
    // C2: work starts only when all before it is durable. Receiving the message again has no side effect.
    if (this.retryWhenCommitted(job)) return;
    const finish = (act: () => void): void => {
      job.phase = "waiting";
      this.resume(job, act);
    };
    const run = new WorkRun(this.id, this.ops, job, base.extra.policy.workMs, {
      turned: (turn) =>
        finish(() => {
          if (born) ifParentLives(this, job, () => this.conclude(job, base, true, turn, NO_ACTORS));
          else this.conclude(job, base, false, turn, NO_ACTORS);
        }),
      threw: (error) => finish(() => crashed(this, job, error, "work")),
      timedOut: (error) => finish(() => job.fail(error)),
    });
    this.#phase = { is: "working", run };
    job.phase = "work";
    run.start(work);
  }

  /** Ends the work, if any: its result will be ignored, and the next message may run. */
  abortWork(error: EngineError): void {
    const phase = this.#phase;
    if (phase.is !== "working" || !phase.run.end(error)) return;
    phase.run.job.fail(error);
    this.#becomeReady();
  }

  // ── the store ─────────────────────────────────────────────────────────────

  /**
   * Reads the actor from the store; if that fails, all that waits is refused. `dropped`: turns that were not committed (C2).
   * `appending`: an event that is being added to the chain; it is published before the next message runs.
   */
  load(dropped: readonly PendingCommit[] = [], appending?: Promise<void>): Promise<void> {
    const phase: Phase = (this.#phase = { is: "loading", done: undefined });
    return (phase.done = appending === undefined ? this.#load(dropped, false) : appending.then(() => this.#load(dropped, true)));
  }

  async #load(dropped: readonly PendingCommit[], appended: boolean): Promise<void> {
    const { actor } = this;
    const before = { state: actor.state, status: actor.status };
    const lost = await loadState(this);
    // C2: the callers of dropped turns get errors. A turn that was stored all the same may have stopped the actor.
    if (dropped.length > 0) await failDropped(this.id, this.ops, dropped, (turn) => this.#storeCommitted(turn));
    const phase = this.#phase;
    if (phase.is === "loading") phase.done = undefined;
    if (appended) {
      publishNow(this);
      if (lost === undefined) this.ops.indexes?.appended(actor, before);
    }
    if (lost === undefined) {
      if (phase.is === "loading") this.#becomeReady();
      return;
    }
    this.discarded = lost;
    this.ops.forget(this);
    this.refuseAll(lost);
  }
}
