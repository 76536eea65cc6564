// Owns: the way of a message to its actor's cell: after earlier sends of the same sender (C5), with its caller's cancellation.
// Does not own: what a cell does with it (cell.ts), keyed calls (idempotency.ts).
import { faults, OK_NULL } from "../chain/internal.ts";
import type { CallOptions, CancelSignal, Clock, Message } from "../contract/index.ts";
import type { Cell } from "./cell.ts";
import { Cancellation, type CancellationHost, type DeferredReplies, Job } from "./job.ts";
import type { Outbox } from "./outbox.ts";
import type { CellDirectory, Registry } from "./registry.ts";

export interface DispatcherHost {
  readonly clock: Clock;
  readonly deferred: DeferredReplies;
  readonly registry: Registry;
  readonly cells: CellDirectory;
  readonly outbox: Outbox;
}

export class Dispatcher {
  readonly #outbox: Outbox;
  readonly #registry: Registry;
  readonly #cells: CellDirectory;
  readonly #cancellations: CancellationHost;

  constructor({ clock, deferred, registry, cells, outbox }: DispatcherHost) {
    this.#outbox = outbox;
    this.#registry = registry;
    this.#cells = cells;
    this.#cancellations = { clock, deferred, cell: ({ message }) => registry.get(message.to) };
  }

  /** Submits a message that was stamped just now. */
  call(message: Message, options: CallOptions | undefined): Job {
    const job = new Job(message, options);
    job.fresh = true;
    this.submit(job, options?.signal);
    return job;
  }

  /** `signal` cancels the job until its commit, as does its deadline. */
  submit(job: Job, signal: CancelSignal | undefined): void {
    if (signal?.aborted) return job.fail(faults.cancelled(job.message.to));
    if (this.#outbox.empty || !this.#isBehind(job)) this.accept(job);
    // An idle actor's turn has run by now, and a job that is over cannot be cancelled.
    if (job.phase === "over" || (signal === undefined && job.message.deadline === undefined)) return;
    const cancellation = new Cancellation(this.#cancellations, job, signal);
    job.cancellation = cancellation;
    // Its caller may have cancelled while its work was being started, before there was a listener.
    if (signal?.aborted) cancellation.cancel();
  }

  // A method of its own, since V8 allocates what a function's closures capture each time the function is entered.
  #isBehind(job: Job): boolean {
    const { message } = job;
    job.fresh = false;
    const limit = this.#registry.get(message.to)?.actor.extra.policy.mailbox;
    if (limit !== undefined && this.#outbox.waiting(message).calls >= limit) {
      job.fail(faults.mailboxFull(message.to));
      return true;
    }
    return this.#outbox.after(message, () => this.accept(job));
  }

  /** Pushes the job to its actor's cell, whatever its sender sent before. */
  accept(job: Job): void {
    if (job.phase === "over") return;
    let cell: Cell | undefined;
    try {
      cell = this.#cells.reachedBy(job.message);
    } catch (error) {
      return job.fail(faults.fromStore(error));
    }
    if (cell !== undefined) cell.push(job);
    else if (this.#cells.ignores(job.message)) job.done(OK_NULL);
    else job.fail(faults.noActor(job.message.to));
  }
}
