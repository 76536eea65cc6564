// Owns: one message on its way through the engine, with its caller: its outcome, a deferred reply, what the caller's abort signal or
// deadline ends, and how long it waited and ran.
// Does not own: when its turn runs (cell.ts), aborting work (work.ts), the requests of clients (mcp/gateway/active-requests.ts).
import { type CallKey, faults } from "../chain/internal.ts";
import {
  type ActorId,
  type CallOptions,
  type CancelSignal,
  type Clock,
  EngineError,
  type Handled,
  type Message,
  type Reply,
  type Step,
} from "../contract/index.ts";
import { MultiMap, safeCall } from "../contract/internal.ts";
import type { OnFault } from "./fault-reports.ts";

/** Where a message is. From `commit` on it can no longer be cancelled. */
export type JobPhase = "waiting" | "work" | "commit" | "deferred" | "over";

/** Called once when a delivery or a timer's message ends: with a reply, or an error. */
export type OnEnd = (reply: Reply | undefined, error: EngineError | undefined) => void;

/** One message. It may be over before its promise is requested: an idle actor's turn runs inside `call()`. */
export class Job {
  readonly message: Message;
  readonly options: CallOptions | undefined;
  phase: JobPhase = "waiting";
  /** It was stamped just now and has not waited: its message's time is the current time. */
  fresh = false;
  key: CallKey | undefined;
  /** The id of the outbox message that it delivers (C5). */
  consumed: string | undefined;
  /** The commit of its turn removed that message from the outbox. */
  dequeued = false;
  /** The turn replies to the asker (`replyAs`), or a later turn will. */
  answered = false;
  /** The name of the timer that sent it; its turn removes that timer from the actor's row. */
  wake: string | undefined;
  /** It counts against the mailbox's limit. Messages that turns have sent, and timers, do not: they have limits of their own. */
  bounded = true;
  /** It was forwarded for a caller that has left: it is not delivered again. */
  abandoned = false;
  onEnd: OnEnd | undefined;
  /** Its caller wants to know how long it takes. */
  timer: CallTimer | undefined;
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
    this.#end();
    if (this.#resolve) this.#resolve(reply);
    else this.#outcome = reply;
    this.onEnd?.(reply, undefined);
  }

  fail(error: EngineError): void {
    if (this.phase === "over") return;
    this.#end();
    if (this.#reject) this.#reject(error);
    else this.#outcome = error;
    this.onEnd?.(undefined, error);
  }

  #end(): void {
    this.phase = "over";
    this.cancellation?.clear();
    this.cancellation = undefined;
    this.timer?.ended();
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

/** What an actor does between two messages without having received one: stop, restart, fire a timer. */
interface Control {
  readonly run: () => void;
  /** Called instead of `run` if it cannot run any more. */
  readonly abandon: (error: EngineError) => void;
}

/** An item of a mailbox. */
export type Task = Job | Control;

export function failTask(task: Task, error: EngineError): void {
  if (task instanceof Job) task.fail(error);
  else task.abandon(error);
}

/** Callers whose turn returned `reply: "later"`. The pending reply is stored and outlives the process; these promises do not. */
export class DeferredReplies {
  readonly #forwarded: ForwardedCalls;
  readonly #waiting = new MultiMap<string, Job>();
  #closed: EngineError | undefined;

  constructor(forwarded: ForwardedCalls) {
    this.#forwarded = forwarded;
  }

  /** `messageId` is the message whose reply is deferred; a repeated keyed call waits for its first. */
  add(messageId: string, job: Job): void {
    if (this.#closed !== undefined) return job.fail(this.#closed);
    this.#waiting.put(messageId, job);
    job.phase = "deferred";
    job.cancellation?.recheck?.();
  }

  /** One caller stops waiting. The reply is still pending, but what was forwarded for the last caller is cancelled. */
  leave(messageId: string, job: Job, error: ErrorFor): void {
    this.#waiting.take(messageId, job);
    job.fail(error(job.message.to, true, true));
    if (!this.#waiting.has(messageId)) this.#forwarded.cancel(messageId, error);
  }

  /** Replies to each caller, after its receipt. */
  reply(messageId: string, reply: Reply, receipt: (job: Job) => void): void {
    this.#forwarded.replied(messageId);
    for (const job of this.#take(messageId)) {
      receipt(job);
      job.done(reply);
    }
  }

  /** Sends progress to the callers. `turn` is the job whose turn reports it; its own reply may be deferred by that turn. */
  progress(messageId: string, { done, total, text }: Step, turn: Job, fault: (error: unknown) => void): void {
    const waiting = messageId === turn.message.id ? [turn] : this.#waiting.get(messageId);
    for (const { options } of waiting ?? []) safeCall(() => options?.onProgress?.(done, total, text), fault);
  }

  /** What a call to another actor reports on behalf of the callers that wait for this message. Undefined: none do. */
  listeners(messageId: string | undefined, fault: OnFault): CallOptions | undefined {
    if (messageId === undefined) return undefined;
    const each = (notify: (options: CallOptions) => unknown): void => {
      for (const { options, message } of this.#waiting.get(messageId) ?? [])
        if (options !== undefined)
          safeCall(
            () => notify(options),
            (error) => fault(error, { where: "progress", actor: message.to, action: message.action }),
          );
    };
    return {
      onProgress: (...step) => each(({ onProgress }) => onProgress?.(...step)),
      onLog: (...line) => each(({ onLog }) => onLog?.(...line)),
    };
  }

  /** Fails the callers that wait, and those that come later. */
  close(error: EngineError): void {
    this.#closed = error;
    for (const messageId of this.#waiting.keys()) for (const job of this.#take(messageId)) job.fail(error);
  }

  #take(messageId: string): Iterable<Job> {
    const jobs = this.#waiting.get(messageId);
    this.#waiting.delete(messageId);
    return jobs ?? [];
  }
}

const elapsed = (clock: Clock): number => clock.elapsed?.() ?? clock.now();

/** How long a call waited in the mailbox of its actor and how long it ran, for a caller that listens. */
export class CallTimer {
  readonly #actor: ActorId;
  readonly #clock: Clock;
  readonly #listener: (handled: Handled) => void;
  readonly #sentAt: number;
  #begunAt: number | undefined;
  #isOver = false;

  constructor(actor: ActorId, clock: Clock, listener: (handled: Handled) => void) {
    this.#actor = actor;
    this.#clock = clock;
    this.#listener = listener;
    this.#sentAt = elapsed(clock);
  }

  /** Its turn begins. Work that has to wait for commits begins again after them. */
  begun(): void {
    this.#begunAt = elapsed(this.#clock);
  }

  /** It is committed, refused, or waits for the reply of a later turn. */
  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const now = elapsed(this.#clock);
    const begunAt = this.#begunAt ?? now;
    // The listener only observes: a call does not fail for it.
    safeCall(
      () => this.#listener({ actor: this.#actor, waitedMs: begunAt - this.#sentAt, ranMs: now - begunAt }),
      () => undefined,
    );
  }
}

// ── cancellation ────────────────────────────────────────────────────────────

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

/** The cells that jobs are in, by their actors. */
interface JobTable {
  get(id: ActorId): { cancel(job: Job, error: EngineError): void } | undefined;
}

interface CancellationHost {
  readonly clock: Clock;
  readonly deferred: DeferredReplies;
  readonly table: JobTable;
}

/** The error of a message that is ended. */
type ErrorFor = (to: ActorId, applied: boolean, begun: boolean) => EngineError;

/** A caller's abort signal and deadline. They take effect until the commit, and again while the reply is deferred. */
export class CallCancellation {
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
      const cell = this.#host.table.get(job.message.to);
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
  readonly #table: JobTable;
  /** Messages that are being delivered. */
  readonly #running = new Map<string, Job>();
  /** No message could be ended when the caller left, since its turn was being committed: the next one is refused. */
  readonly #left = new Map<string, ErrorFor>();

  constructor(table: JobTable) {
    this.#table = table;
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
      this.#table.get(job.message.to)?.cancel(job, error(job.message.to, false, job.phase === "work"));
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
