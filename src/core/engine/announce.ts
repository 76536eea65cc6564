// Owns: how others learn of a turn, and in which order: watchers by changes, then callers by receipts, replies and progress.
// Does not own: that the turn is committed first (cell.ts), what identifies an event (lazy-heads.ts).
import { OK_NULL, type Plan } from "../chain/internal.ts";
import type { ActorId, CallOptions, Json, Message, Remembered, Reply, Snapshot, Watchers } from "../contract/index.ts";
import { hasOwn, notify } from "../contract/internal.ts";
import type { ActorState } from "./actor-state.ts";
import type { Cell } from "./cell.ts";
import type { OnFault } from "./fault-reports.ts";
import type { DeferredReplies, Job } from "./job.ts";
import { LazyChange, LazyReceipt, MemoryEvent } from "./lazy-heads.ts";
import type { CommitWaiter, PendingCommit } from "./uncommitted.ts";

const NO_WAITERS: readonly CommitWaiter[] = [];

/** What announcing a turn needs of the engine. */
export interface EventOps {
  readonly watchers: Watchers;
  readonly deferred: DeferredReplies;
  /** Messages that left with a commit; `stored`: the store has them too. */
  deliver(messages: readonly Message[], stored: boolean): void;
  /** A turn of `parent` requests this: restarts its child if that has failed. */
  restart(child: ActorId, parent: ActorId): void;
  /** Replies of a memory actor (C4). */
  remember(id: ActorId, replies: readonly Remembered[]): void;
  readonly fault: OnFault;
  /** A caller's `onReceipt` threw. One function for all calls, so that none has to allocate its own. */
  readonly receiptFault: (error: unknown, receipt: { readonly actor: ActorId }) => void;
}

/** What identifies an event. */
type EventSummary = Pick<Snapshot, "seq" | "head" | "status">;

/** C2, C8: a turn is committed. Its change is published, then its callers get their replies, then its messages are delivered. */
export function announce(cell: Cell, job: Job, plan: Plan, event: EventSummary, sent: readonly Message[]): void {
  const { actor, ops } = cell;
  job.answered = plan.answered;
  publish(ops, actor, event, plan.emit);
  if (plan.report !== undefined || plan.restart !== undefined) reportAndRestart(ops, job, plan);
  // Before the answers, since a turn that stops its actor answers its own caller, too.
  if (plan.reply === "later" && job.onEnd === undefined) {
    job.timer?.ended();
    ops.deferred.add(plan.message.id, job);
  }
  if (plan.answers.length > 0) replyDeferred(ops, actor, plan.answers, event);
  if (plan.reply !== "later") {
    receipt(ops, actor, job, event);
    job.done(plan.reply);
  } else if (job.onEnd !== undefined) job.done(OK_NULL);
  if (sent.length > 0) ops.deliver(sent, !actor.memory);
  if (plan.timed) cell.timersChanged();
  if (actor.memory && plan.remembered.length > 0) ops.remember(cell.id, plan.remembered);
}

/** The same for a turn that the store has committed. */
export function announceStored(cell: Cell, turn: PendingCommit, sent: readonly Message[]): void {
  const { job, plan, entry } = turn;
  announce(cell, job, plan, { seq: plan.seq, head: entry.event.id, status: entry.row.status }, sent);
  // Read here, since listeners may just have added waiters.
  for (const waiter of turn.waiters ?? NO_WAITERS) waiter.committed();
}

function publish({ watchers }: EventOps, { id, kind }: ActorState, event: EventSummary, emit: readonly Json[] | undefined): void {
  if (!watchers.hears(id, kind.topic)) return;
  watchers.tell(new LazyChange(id, event.seq, event.status, event, emit?.length === 0 ? undefined : emit), kind.topic);
}

/** Publishes the durable state without a turn. */
export function publishNow(cell: Cell, emit?: readonly Json[]): void {
  const now = cell.snapshot();
  if (now) publish(cell.ops, cell.actor, now, emit);
}

/** The reply of a turn that left no event. What it emits is published all the same, unless it is refused. */
export function replyWithoutEvent(cell: Cell, job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
  if (emit !== undefined && emit.length > 0 && hasOwn(reply, "ok")) publishNow(cell, emit);
  job.done(reply);
}

/** Sends a caller's receipt, which precedes its reply. */
function receipt(ops: EventOps, actor: ActorState, job: Job, event: EventSummary): void {
  const listener = job.options?.onReceipt;
  if (listener !== undefined && job.phase !== "over") sendReceipt(ops, actor, listener, event);
}

function sendReceipt(ops: EventOps, { id }: ActorState, listener: NonNullable<CallOptions["onReceipt"]>, event: EventSummary): void {
  const { seq } = event;
  notify(listener, event instanceof MemoryEvent ? new LazyReceipt(id, seq, event) : { actor: id, seq, head: event.head }, ops.receiptFault);
}

/** Replies to callers whose reply was deferred until now. */
function replyDeferred(ops: EventOps, actor: ActorState, answers: Plan["answers"], event: EventSummary): void {
  for (const [of, reply] of answers) ops.deferred.reply(of, reply, (waiting) => receipt(ops, actor, waiting, event));
}

// Few turns do this. It is a function of its own, so that `announce` stays small enough for V8 to optimise.
function reportAndRestart(ops: EventOps, job: Job, { id, report = {}, restart = [], message: { action } }: Plan): void {
  for (const [of, step] of Object.entries(report))
    ops.deferred.progress(of, step, job, (error) => ops.fault(error, { where: "progress", actor: id, action }));
  // Before the turn's messages are delivered: those are for the restarted child.
  for (const child of restart) ops.restart(child, id);
}
