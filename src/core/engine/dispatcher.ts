// Owns: the way of messages to the cells of their actors: after earlier sends of the same sender (C5), with the caller's cancellation;
// and of the engine's own requests: stop, restart, expire.
// Does not own: what a cell does with them (cell.ts, lifecycle.ts), keyed calls (idempotency.ts).
import { byOperator, faults, OK_NULL, ownId } from "../chain/internal.ts";
import type { ActorId, CallOptions, CancelSignal, Clock, EngineError, Entropy, Message } from "../contract/index.ts";
import type { Cell } from "./cell.ts";
import { CallCancellation, CallTimer, type DeferredReplies, Job } from "./job.ts";
import { restart, stop } from "./lifecycle.ts";
import type { OnFault } from "./fault-reports.ts";
import type { Outbox } from "./outbox.ts";
import type { CellDirectory, CellTable } from "./cells.ts";
import { type Ancestors, NO_ACTORS } from "./children.ts";

export interface DispatcherHost {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly deferred: DeferredReplies;
  readonly table: CellTable;
  readonly cells: CellDirectory;
  readonly outbox: Outbox;
  readonly fault: OnFault;
}

/** Where a call is among those to its actor, while it is not known yet whether it is made. */
export interface Place {
  readonly to: ActorId;
  /** How many calls its actor lets wait. */
  readonly limit: number;
  isKnown: boolean;
  job: Job | undefined;
}

export class Dispatcher {
  readonly #host: DispatcherHost;
  /** Calls in the order they were made, of actors with a call whose key is being looked up: what was called after it must not overtake it. */
  readonly #places = new Map<ActorId, Place[]>();
  #closed: EngineError | undefined;

  constructor(host: DispatcherHost) {
    this.#host = host;
  }

  /** The engine has closed: a message that was waiting for the store meanwhile is refused with `error`. */
  close(error: EngineError): void {
    this.#closed = error;
  }

  /** Submits a message that was stamped just now. */
  call(message: Message, options: CallOptions | undefined): Job {
    const job = new Job(message, options);
    job.fresh = true;
    this.submit(job, options?.signal);
    return job;
  }

  /** Reserves the place of a call until `submit` or `leave`. */
  reserve({ id: to, actor }: Cell): Place {
    const place: Place = { to, limit: actor.extra.policy.mailbox, isKnown: false, job: undefined };
    const queue = this.#places.get(to);
    if (queue === undefined) this.#places.set(to, [place]);
    else queue.push(place);
    return place;
  }

  /** The call is not made. Without effect once it was submitted. */
  leave(place: Place): void {
    if (!place.isKnown) this.#fill(place, undefined);
  }

  /** `signal` cancels the job until its commit, as does its deadline. */
  submit(job: Job, signal: CancelSignal | undefined, place?: Place): void {
    const onHandled = job.options?.onHandled;
    if (onHandled !== undefined) job.timer = new CallTimer(job.message.to, this.#host.clock, onHandled);
    if (signal?.aborted) return job.fail(faults.cancelled(job.message.to));
    if (place?.isKnown === false) this.#fill(place, job);
    else if (this.#places.size === 0 || !this.#isOvertaking(job)) this.#enter(job);
    // An idle actor's turn has run by now, and a job that is over cannot be cancelled.
    if (job.phase === "over" || (signal === undefined && job.message.deadline === undefined)) return;
    const cancellation = new CallCancellation(this.#host, job, signal);
    job.cancellation = cancellation;
    // Its caller may have cancelled while its work was being started, before there was a listener.
    if (signal?.aborted) cancellation.cancel();
  }

  #isOvertaking(job: Job): boolean {
    const { to } = job.message;
    const queue = this.#places.get(to);
    const last = queue?.at(-1);
    // A read is never queued.
    if (queue === undefined || last === undefined || this.#host.cells.isRead(job.message)) return false;
    job.fresh = false;
    // The first does not wait for a turn.
    if (queue.length > last.limit) job.fail(faults.mailboxFull(to));
    else queue.push({ to, limit: last.limit, isKnown: true, job });
    return true;
  }

  #fill(place: Place, job: Job | undefined): void {
    place.job = job;
    place.isKnown = true;
    const queue = this.#places.get(place.to) ?? [];
    // Not before its key was looked up: it may have been applied, and would be refused as if it had not.
    if (queue.indexOf(place) > place.limit) job?.fail(faults.mailboxFull(place.to));
    // A turn that runs now may call this actor again: that comes last.
    while (queue[0]?.isKnown === true) {
      const next = queue.shift()?.job;
      if (next !== undefined && next.phase !== "over") this.#enter(next);
    }
    if (queue.length === 0 && this.#places.get(place.to) === queue) this.#places.delete(place.to);
  }

  #enter(job: Job): void {
    if (this.#host.outbox.empty || !this.#isBehind(job)) this.accept(job);
  }

  // A method of its own, since V8 allocates what a function's closures capture each time the function is entered.
  #isBehind(job: Job): boolean {
    const { message } = job;
    job.fresh = false;
    const limit = this.#host.table.get(message.to)?.actor.extra.policy.mailbox;
    if (limit !== undefined && this.#host.outbox.waiting(message).calls >= limit) {
      job.fail(faults.mailboxFull(message.to));
      return true;
    }
    return this.#host.outbox.after(message, () => this.accept(job));
  }

  /** Pushes the job to its actor's cell, whatever its sender sent before. */
  accept(job: Job): void {
    if (job.phase === "over") return;
    if (this.#closed !== undefined) return job.fail(this.#closed);
    let cell: Cell | undefined;
    try {
      cell = this.#host.cells.reachedBy(job.message);
    } catch (error) {
      return job.fail(faults.fromStore(error));
    }
    if (cell !== undefined) cell.push(job);
    else if (this.#host.cells.ignores(job.message)) job.done(OK_NULL);
    else job.fail(faults.noActor(job.message.to));
  }

  // ── requests of the engine ──────────────────────────────────────────────────

  async stop(id: ActorId, reason: string, ancestors: Ancestors, principal?: string): Promise<void> {
    const cell = this.#host.cells.existing(id);
    // Not `loaded()`, which takes longer: who stops an actor from a watcher stops it before the messages of that same commit arrive.
    await cell.loading;
    if (cell.lost) throw cell.lost;
    const job = this.#own(id, "stop", { reason }, principal);
    stop(cell, job, reason, ancestors);
    await job.promise();
  }

  /** Stops the actor unless it is in use; calls `ended` with whether to try again. */
  expire(cell: Cell, ended: (again: boolean) => void): void {
    if (!cell.quiet) return ended(true);
    const job = this.#own(cell.id, "stop", { reason: "expired" });
    job.onEnd = (_, error) => ended(error !== undefined);
    stop(cell, job, "expired", NO_ACTORS);
  }

  async restart(id: ActorId): Promise<void> {
    const cell = this.#host.cells.existing(id);
    const job = this.#own(id, "restart", null);
    await cell.loading;
    if (cell.actor.status === "not-started" && cell.quiet && cell.lost === undefined) throw faults.noActor(id);
    restart(cell, job);
    await job.promise();
  }

  /** Only its cell knows that an actor has failed, so without a cell there is nothing to do. */
  restartChild(child: ActorId, parent: ActorId): void {
    const cell = this.#host.table.get(child);
    if (cell?.actor.status !== "failed" || cell.actor.extra.parent !== parent) return;
    const job = this.#own(child, "restart", null);
    job.onEnd = (_, error) => error && this.#host.fault(error, { where: "outbox", actor: child, action: "restart" });
    restart(cell, job);
  }

  #own(to: ActorId, action: string, args: Message["args"], principal?: string): Job {
    const { clock, entropy } = this.#host;
    return new Job({ id: ownId(entropy.hex(16)), to, action, args, at: clock.now(), seed: entropy.hex(16), ...byOperator(principal) });
  }
}
