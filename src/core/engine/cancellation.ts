// Owns: what a caller's abort signal or deadline ends: a message that waits, work that runs, a wait for a deferred reply, and what was
// forwarded for it; not a commit.
// Does not own: aborting the work itself (work.ts), the requests of clients (mcp/gateway/active-requests.ts).
import { faults } from "../chain/internal.ts";
import type { ActorId, CancelSignal, Clock, EngineError } from "../contract/index.ts";
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

export interface CallCancellationHost {
  readonly clock: Clock;
  readonly deferred: DeferredReplies;
  /** The cell that the job is in. */
  cell(job: Job): { cancel(job: Job, error: EngineError): void } | undefined;
}

/** The error of a message that is ended. */
export type ErrorFor = (to: ActorId, applied: boolean, begun: boolean) => EngineError;

/** A caller's abort signal and deadline. They take effect until the commit, and again while the reply is deferred. */
export class CallCancellation {
  readonly #host: CallCancellationHost;
  #job: Job | undefined;
  readonly #signal: CancelSignal | undefined;
  /** The caller cancels. */
  readonly cancel: () => void;
  readonly #stopClock: (() => void) | undefined;
  /** It came during the commit, when the turn cannot be undone any more. */
  #missed: ErrorFor | undefined;

  /** For a job that is not over. */
  constructor(host: CallCancellationHost, job: Job, signal: CancelSignal | undefined) {
    const { deadline } = job.message;
    this.#host = host;
    this.#job = job;
    this.#signal = signal;
    this.cancel = () => unlessTooDeep(() => this.#end(faults.cancelled));
    signal?.addEventListener("abort", this.cancel, { once: true });
    if (deadline !== undefined) {
      const expire = (): void => this.#end(faults.deadline);
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
    const job = this.#job;
    if (job === undefined) return;
    if (job.phase === "commit") this.#missed = error;
    else if (job.phase === "deferred") this.#host.deferred.leave(job.message.id, job, error);
    else {
      const cell = this.#host.cell(job);
      // It waits for an earlier call whose key is looked up, or for a message, and its actor has not been looked up.
      if (cell === undefined && job.phase === "waiting") job.fail(error(job.message.to, false, false));
      else cell?.cancel(job, error(job.message.to, false, job.phase === "work"));
    }
  }
}

/** The oldest are forgotten: they only end work that has no caller any more. */
const MAX_LEFT = 100_000;

/**
 * Calls that actors forwarded to others, by the id of the first message. One message at a time is on its way for each, so a caller that
 * leaves ends that one: it is refused, and the refusal goes back the way of every reply.
 */
export class ForwardedCalls {
  readonly #host: Pick<CallCancellationHost, "cell">;
  /** Messages that are being delivered. */
  readonly #running = new Map<string, Job>();
  /** No message could be ended when the caller left, since its turn was being committed: the next one is refused. */
  readonly #left = new Map<string, ErrorFor>();

  constructor(host: Pick<CallCancellationHost, "cell">) {
    this.#host = host;
  }

  /** A message is being delivered. Returns its error if its caller has left: it must not run. */
  begin(call: string, job: Job): EngineError | undefined {
    const error = this.#left.get(call);
    this.#left.delete(call);
    if (error !== undefined) return error(job.message.to, false, false);
    this.#running.set(call, job);
    return undefined;
  }

  /** It is not being delivered any more. */
  end(call: string, job: Job): void {
    if (this.#running.get(call) === job) this.#running.delete(call);
  }

  /** The last caller has left. */
  cancel(call: string, error: ErrorFor): void {
    const job = this.#running.get(call);
    if (job?.phase === "waiting" || job?.phase === "work") {
      job.abandoned = true;
      this.#host.cell(job)?.cancel(job, error(job.message.to, false, job.phase === "work"));
      if (this.#running.get(call) !== job) return;
    }
    const [oldest] = this.#left.keys();
    if (oldest !== undefined && this.#left.size >= MAX_LEFT) this.#left.delete(oldest);
    this.#left.set(call, error);
  }

  /** The call has its reply, so nothing is on its way for it. */
  replied(call: string): void {
    this.#left.delete(call);
  }
}
