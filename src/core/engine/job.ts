// Owns: one message on its way through the engine, with its caller: its outcome, its cancellation and a deferred reply.
// Does not own: when its turn runs (cell.ts).
import { type CallKey, faults } from "../chain/internal.ts";
import {
  EngineError,
  type CallOptions,
  type CancelSignal,
  type Clock,
  type Message,
  type Reply,
  type SetWake,
  type Step,
} from "../contract/index.ts";
import { MultiMap, safeCall } from "../contract/internal.ts";

/** Where a message is. From `commit` on it can no longer be cancelled. */
export type JobPhase = "waiting" | "work" | "commit" | "deferred" | "over";

/** Called once when a delivery or a timer's message ends: with a reply, or an error. */
export type OnEnd = (reply: Reply | undefined, error: EngineError | undefined) => void;

/** One message. It may be over before anybody asks for its promise: an idle actor's turn runs inside `call()`. */
export class Job {
  readonly message: Message;
  readonly options: CallOptions | undefined;
  phase: JobPhase = "waiting";
  /** It was stamped just now, and has not waited: the time of its message is the time. */
  fresh = false;
  key: CallKey | undefined;
  /** The id of the outbox message that it delivers (C5). */
  consumed: string | undefined;
  /** That left the outbox with the commit of this turn. */
  dequeued = false;
  /** The turn replies to the asker (`replyAs`), or a later turn will. */
  answered = false;
  /** The name of the timer that sent it, which its turn takes off the actor's row. */
  wake: string | undefined;
  /** It counts against the mailbox's limit. What turns have sent, and timers, wait elsewhere. */
  bounded = true;
  onEnd: OnEnd | undefined;
  cancellation: { clear(): void; recheck?(): void } | undefined;
  #outcome: Reply | EngineError | undefined;
  #resolve: ((reply: Reply) => void) | undefined;
  #reject: ((error: EngineError) => void) | undefined;

  constructor(message: Message, options?: CallOptions) {
    this.message = message;
    this.options = options;
  }

  done(reply: Reply): void {
    if (this.phase === "over") return;
    this.phase = "over";
    this.cancellation?.clear();
    this.cancellation = undefined;
    if (this.#resolve) this.#resolve(reply);
    else this.#outcome = reply;
    this.onEnd?.(reply, undefined);
  }

  fail(error: EngineError): void {
    if (this.phase === "over") return;
    this.phase = "over";
    this.cancellation?.clear();
    this.cancellation = undefined;
    if (this.#reject) this.#reject(error);
    else this.#outcome = error;
    this.onEnd?.(undefined, error);
  }

  promise(): Promise<Reply> {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#settled();
    return outcome instanceof EngineError ? Promise.reject(outcome) : Promise.resolve(outcome);
  }

  /** The reply itself if the job is over, else its promise. Throws the error if that is the outcome. */
  now(): Reply | Promise<Reply> {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#settled();
    if (outcome instanceof EngineError) throw outcome;
    return outcome;
  }

  #settled(): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
}

/** A timer of an actor that fires. */
export interface FiredTimer {
  readonly name: string;
  /** False if it was put off meanwhile. */
  readonly isDue: (wake: SetWake) => boolean;
  readonly message: (life: string) => Message;
  readonly onEnd: OnEnd;
  /** It has failed too often: why it is removed instead of fired. */
  readonly dropped: string | undefined;
}

/** What an actor does in its turn among the messages without being sent one: stop, restart, fire a timer. */
interface Control {
  readonly run: () => void;
  /** Instead of running. */
  readonly abandon: (error: EngineError) => void;
}

/** What waits in a mailbox. */
export type Task = Job | Control;

export function failTask(task: Task, error: EngineError): void {
  if (task instanceof Job) task.fail(error);
  else task.abandon(error);
}

/** Callers that wait for each other are cancelled one inside the other, and such a chain may be longer than any stack. */
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
  /** It came during the commit, when nothing can be taken back any more. */
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
    // A dead object that is old would keep the job alive until the next full collection.
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

/** Callers whose turn returned `reply: "later"`. The reply's place is stored and outlives the process; these promises do not. */
export class DeferredReplies {
  readonly #waiting = new MultiMap<string, Job>();

  /** `messageId` is the message whose reply is deferred; a repeated keyed call waits for its first. */
  add(messageId: string, job: Job): void {
    this.#waiting.put(messageId, job);
    job.phase = "deferred";
    job.cancellation?.recheck?.();
  }

  /** One caller stops waiting; the reply stays due. */
  remove(messageId: string, job: Job): void {
    this.#waiting.take(messageId, job);
  }

  /** Replies to each caller, after its receipt. */
  reply(messageId: string, reply: Reply, receipt: (job: Job) => void): void {
    for (const job of this.#take(messageId)) {
      receipt(job);
      job.done(reply);
    }
  }

  /** Sends progress to the callers. `turn` is the job whose turn reports, and may itself become deferred by it. */
  progress(messageId: string, { done, total, text }: Step, turn: Job, fault: (error: unknown) => void): void {
    const waiting = messageId === turn.message.id ? [turn] : this.#waiting.get(messageId);
    for (const { options } of waiting ?? []) safeCall(() => options?.onProgress?.(done, total, text), fault);
  }

  failAll(error: EngineError): void {
    for (const messageId of this.#waiting.keys()) for (const job of this.#take(messageId)) job.fail(error);
  }

  #take(messageId: string): Iterable<Job> {
    const jobs = this.#waiting.get(messageId);
    this.#waiting.delete(messageId);
    return jobs ?? [];
  }
}
