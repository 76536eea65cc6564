// Owns: how others learn of a turn: watchers by changes, callers by receipts, deferred replies and progress.
// Does not own: when they may (cell.ts).
import type { Plan } from "../chain/internal.ts";
import type { CallOptions, Json, Snapshot } from "../contract/index.ts";
import { notify } from "../contract/internal.ts";
import type { ActorState } from "./actor-state.ts";
import type { Job } from "./job.ts";
import { LazyChange, LazyReceipt, MemoryEvent } from "./lazy-event.ts";
import type { CellOps } from "./ops.ts";

/** What names an event to others. */
export type EventSummary = Pick<Snapshot, "seq" | "head" | "status">;

export function publish({ watchers }: CellOps, { id, kind }: ActorState, event: EventSummary, emit: readonly Json[] | undefined): void {
  if (!watchers.hears(id, kind.topic)) return;
  watchers.tell(new LazyChange(id, event.seq, event.status, event, emit?.length === 0 ? undefined : emit), kind.topic);
}

/** Sends a caller's receipt, which precedes its reply. */
export function receipt(ops: CellOps, actor: ActorState, job: Job, event: EventSummary): void {
  const listener = job.options?.onReceipt;
  if (listener !== undefined && job.phase !== "over") sendReceipt(ops, actor, listener, event);
}

function sendReceipt(ops: CellOps, { id }: ActorState, listener: NonNullable<CallOptions["onReceipt"]>, event: EventSummary): void {
  const { seq } = event;
  notify(listener, event instanceof MemoryEvent ? new LazyReceipt(id, seq, event) : { actor: id, seq, head: event.head }, ops.receiptFault);
}

/** Replies to callers whose reply was deferred until now. */
export function replyDeferred(ops: CellOps, actor: ActorState, answers: Plan["answers"], event: EventSummary): void {
  for (const [of, reply] of answers) ops.deferred.reply(of, reply, (waiting) => receipt(ops, actor, waiting, event));
}

/** What few turns do, apart from the others: each branch more on the way of all turns is one that V8 has to look through. */
export function reportAndRestart(ops: CellOps, job: Job, { id, report = {}, restart = [], message: { action } }: Plan): void {
  for (const [of, step] of Object.entries(report))
    ops.deferred.progress(of, step, job, (error) => ops.fault(error, { where: "progress", actor: id, action }));
  // Before what the turn sends them: that is for the restarted child.
  for (const child of restart) ops.restart(child, id);
}
