// Owns: what a caller's abort signal or deadline ends: a message that waits, work that runs, a wait for a deferred reply; not a commit.
// Does not own: aborting the work itself (work.ts), the requests of clients (mcp/gateway/active-requests.ts).
import { faults } from "../chain/internal.ts";
import type { CancelSignal, Clock, EngineError } from "../contract/index.ts";
import type { DeferredReplies, Job } from "./job.ts";

/** Callers that wait for each other are cancelled recursively, and such a chain may be deeper than the stack. */
const MAX_NESTED = 64;
let nested = 0;

function unlessTooDeep(cancel: () => void): void {
  if (nested >= MAX_NESTED) return queueMicrotask(cancel);
  nested += 1;
  try {
    cancel();
  } finally {
    nested -= 1;
  }
}

export interface CancellationHost {
  readonly clock: Clock;
  readonly deferred: DeferredReplies;
  /** The cell that the job is in. */
  cell(job: Job): { cancel(job: Job, error: EngineError): void } | undefined;
}

type ErrorFor = (applied: boolean, begun: boolean) => Error;

/** A caller's abort signal and deadline. They take effect until the commit, and again while the reply is deferred. */
export class Cancellation {
  readonly #host: CancellationHost;
  #job: Job | undefined;
  readonly #signal: CancelSignal | undefined;
  /** The caller cancels. */
  readonly cancel: () => void;
  readonly #stopClock: (() => void) | undefined;
  /** It came during the commit, when the turn cannot be undone any more. */
  #missed: ErrorFor | undefined;

  /** For a job that is not over. */
  constructor(host: CancellationHost, job: Job, signal: CancelSignal | undefined) {
    const { to, deadline } = job.message;
    this.#host = host;
    this.#job = job;
    this.#signal = signal;
    this.cancel = () => unlessTooDeep(() => this.#end((applied) => faults.cancelled(to, applied)));
    signal?.addEventListener("abort", this.cancel, { once: true });
    if (deadline !== undefined) {
      const expire = (): void => this.#end((applied, begun) => faults.deadline(to, applied, begun));
      this.#stopClock = host.clock.after(Math.max(0, deadline - host.clock.now()), expire);
    }
  }

  clear(): void {
    this.#signal?.removeEventListener("abort", this.cancel);
    this.#stopClock?.();
    // Otherwise a dead object in old space would retain the job until the next full garbage collection.
    this.#job = undefined;
  }

  /** The reply is deferred: a caller who cancelled during the commit does not wait for it. */
  recheck(): void {
    if (this.#missed !== undefined) this.#end(this.#missed);
  }

  #end(error: ErrorFor): void {
    const { deferred } = this.#host;
    const job = this.#job;
    if (job === undefined) return;
    if (job.phase === "commit") this.#missed = error;
    else if (job.phase === "deferred") {
      deferred.remove(job.message.id, job);
      job.fail(faults.fromStore(error(true, true)));
    } else this.#host.cell(job)?.cancel(job, faults.fromStore(error(false, job.phase === "work")));
  }
}
