import type { CallKey } from "../chain/internal.ts";
import { EngineError, type CallOptions, type Message, type Reply, type SetWake } from "../contract/index.ts";

/** Where a message is: `commit` is where cancelling ends. */
export type Phase = "waiting" | "work" | "commit" | "later" | "over";

/** Told once how a delivery or a wake ended: a reply, or an error. */
export type Ended = (reply: Reply | undefined, error: EngineError | undefined) => void;

/**
 * One message on its way through a cell. It may settle before anybody asked for the
 * promise: an idle actor's turn runs inside `call()`.
 */
export class Job {
  readonly message: Message;
  readonly options: CallOptions | undefined;
  phase: Phase = "waiting";
  /** It was stamped just now, and has not waited: the time of its message is the time. */
  fresh = false;
  key: CallKey | undefined;
  /** The outbox message it is (C5). */
  consumed: string | undefined;
  /** It left the outbox with the commit of its turn. */
  kept = false;
  /** Whoever asked with `replyAs` is told by the turn, or by a later one. */
  answered = false;
  /** The wake it is, and the actor's business to take it off the row. */
  wake: string | undefined;
  /** What a turn has sent, and wakes, wait elsewhere and not in the mailbox: they are not bounded there. */
  bounded = true;
  ended: Ended | undefined;
  /** Lifted when it is over. */
  guard: { lift(): void; recheck?(): void } | undefined;
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
    this.guard?.lift();
    this.guard = undefined;
    if (this.#resolve) this.#resolve(reply);
    else this.#outcome = reply;
    this.ended?.(reply, undefined);
  }

  fail(error: EngineError): void {
    if (this.phase === "over") return;
    this.phase = "over";
    this.guard?.lift();
    this.guard = undefined;
    if (this.#reject) this.#reject(error);
    else this.#outcome = error;
    this.ended?.(undefined, error);
  }

  promise(): Promise<Reply> {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#settled();
    return outcome instanceof EngineError ? Promise.reject(outcome) : Promise.resolve(outcome);
  }

  /** The reply where it is there already. Throws the error where that is. */
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

/** A wake that comes. */
export interface Ring {
  readonly name: string;
  /** Whether it still does: it may have been put off meanwhile. */
  readonly isDue: (wake: SetWake) => boolean;
  readonly message: (life: string) => Message;
  readonly ended: Ended;
  /** It has failed too often: why it is taken off instead. */
  readonly dropped: string | undefined;
}

/** Something to do with a cell in its turn among the messages: stop it, take a wake off. */
interface Control {
  readonly run: () => void;
  /** Instead of running. */
  readonly abandon: (error: EngineError) => void;
}

export type Task = Job | Control;
