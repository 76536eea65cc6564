import { type Bag, type CallOptions, type Clock, EngineError, type Json, type OfferRef, type Reply } from "../../core/contract/index.ts";

/** A question of the server in the course of a call: what it is answered by. */
interface Question {
  readonly request: Bag;
  answer(result: Json): void;
}

export interface RunningOptions {
  readonly ref: OfferRef;
  readonly args: Json;
  readonly principal: string | undefined;
  readonly clock: Clock;
  readonly callMs: number;
  readonly askMs: number;
  /** The server is told that nobody waits any more, and why. */
  readonly cancel: (reason: string) => void;
  /** Nothing is to come of it any more. */
  readonly ended: () => void;
}

/**
 * A call that runs in the server, from its client's first asking to its reply. Where the server asks the client something,
 * the call stands still there, and goes on once the same call comes with the answer: the handler runs once.
 */
export class RunningCall {
  readonly #own: RunningOptions;
  readonly #questions = new Map<string, Question>();
  #options: CallOptions;
  #round: PromiseWithResolvers<Reply> | undefined;
  #outcome: { readonly reply: Reply } | { readonly error: unknown } | undefined;
  #undo: (() => void) | undefined;
  #asking = false;
  #over = false;

  constructor(own: RunningOptions, options: CallOptions) {
    this.#own = own;
    this.#options = options;
    options.signal?.addEventListener("abort", this.#aborted, { once: true });
  }

  get options(): CallOptions {
    return this.#options;
  }

  /** Whether this is that call again. */
  get about(): Pick<RunningOptions, "ref" | "args" | "principal"> {
    return this.#own;
  }

  /** The reply, or what the client has to be asked. Answers to what was asked go to the server first. */
  next(options: CallOptions): Promise<Reply> {
    if (this.#round !== undefined) return this.#round.promise;
    const round = Promise.withResolvers<Reply>();
    this.#round = round;
    this.#undo?.();
    if (this.#options !== options) this.#takeOver(options);
    if (this.#over) return round.promise;
    this.#undo = this.#own.clock.after(this.#own.callMs, () => this.#late());
    if (this.#outcome !== undefined) this.#tell(this.#outcome);
    else if (this.#questions.size > 0) this.#ask();
    return round.promise;
  }

  question(key: string, question: Question): void {
    this.#questions.set(key, question);
    this.#ask();
  }

  /** The server does not wait for that answer any more. */
  withdraw(key: string): void {
    this.#questions.delete(key);
  }

  finish(outcome: { readonly reply: Reply } | { readonly error: unknown }): void {
    if (this.#over || this.#outcome !== undefined) return;
    this.#outcome = outcome;
    if (this.#round !== undefined) this.#tell(outcome);
  }

  #takeOver(options: CallOptions): void {
    this.#options.signal?.removeEventListener("abort", this.#aborted);
    this.#options = options;
    if (options.signal?.aborted === true) return this.#aborted();
    options.signal?.addEventListener("abort", this.#aborted, { once: true });
    for (const [key, question] of this.#questions) {
      const { answers } = options;
      if (answers === undefined || !Object.hasOwn(answers, key)) continue;
      this.#questions.delete(key);
      question.answer(answers[key] ?? null);
    }
  }

  // What is asked at once goes to the client at once.
  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    queueMicrotask(() => {
      this.#asking = false;
      const round = this.#round;
      if (round === undefined || this.#questions.size === 0) return;
      this.#round = undefined;
      this.#undo?.();
      this.#undo = this.#own.clock.after(this.#own.askMs, () => this.#drop("Its client did not answer in time."));
      round.resolve({ needs: Object.fromEntries([...this.#questions].map(([key, { request }]) => [key, request])) });
    });
  }

  readonly #aborted = (): void => {
    this.#drop("The client has left.");
  };

  #late(): void {
    const { ref, callMs } = this.#own;
    const error = new EngineError("WORK_TIMEOUT", `${ref} took longer than ${callMs} ms and was cancelled.`, { applied: "unknown" });
    this.#own.cancel("It took too long.");
    this.#tell({ error });
  }

  #drop(reason: string): void {
    if (this.#over) return;
    this.#own.cancel(reason);
    this.#tell({ error: new EngineError("CANCELLED", `${this.#own.ref} was cancelled.`, { applied: "unknown" }) });
  }

  #tell(outcome: { readonly reply: Reply } | { readonly error: unknown }): void {
    if (this.#over) return;
    this.#over = true;
    this.#undo?.();
    this.#options.signal?.removeEventListener("abort", this.#aborted);
    this.#questions.clear();
    this.#own.ended();
    if ("reply" in outcome) this.#round?.resolve(outcome.reply);
    else this.#round?.reject(outcome.error);
  }
}
