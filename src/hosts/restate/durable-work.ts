/**
 * Work on something durable: all of it in one journalled step. A crash before the step
 * is kept runs it again, so what it does outside happens at least once.
 */
import { type CallKey, cancelledWith, faults } from "../../core/chain/internal.ts";
import type { ActorId, ChainEvent, Context, Log, Message, Outgoing, Past, Progress, Reply, Turn, Work } from "../../core/contract/index.ts";
import type { DurableContext } from "./durable-context.ts";
import { isGuardedTurn, type Guarded } from "./outcome.ts";
import type { Sealer } from "./sealer.ts";
import { isLonger, tooLarge, WORK_BYTES } from "./sizes.ts";

/** A call of an actor by another's work. */
export interface InnerCall {
  /** The message the work began with. */
  readonly work: Message;
  /** Of a keyed call. */
  readonly key: CallKey | undefined;
  /** The nth call of that work: the same in every run of it. */
  readonly n: number;
  readonly outgoing: Outgoing;
  readonly endsAt: number;
  readonly waiting: readonly ActorId[];
  readonly signal: AbortSignal;
}

/** What turns need of the process they run in. */
export interface WorkHost {
  /** Runs once after `ms`; returns its undo. */
  after(ms: number, run: () => void): () => void;
  now(): number;
  call(call: InnerCall): Promise<Reply>;
  /** The events of an actor after that number. */
  history(id: ActorId, afterSeq: number): AsyncIterable<ChainEvent>;
  /** Ways to the caller of that message, at that node. */
  reporters(message: Message, node: string | undefined): { readonly progress: Progress; readonly log: Log };
  /** Work begins that was forwarded for that call. `abort` runs when its caller leaves. Returns its undo. */
  abortWithCaller(call: string, abort: () => void): () => void;
  /** A behaviour threw; or, `outbox`, the message is a dead letter from now on. */
  fault(error: unknown, where: { readonly where: "turn" | "work" | "load" | "outbox"; readonly message: Message }): void;
}

export interface WorkRun {
  readonly work: Work<unknown>;
  readonly message: Message;
  readonly key: CallKey | undefined;
  readonly node: string | undefined;
  readonly waiting: readonly ActorId[];
  readonly workMs: number;
  readonly past: Past | undefined;
  /** Throws what the commit would: it must be known before the turn becomes text, which hides what is no JSON. */
  readonly checkPlan: (turn: Turn<unknown>) => unknown;
  readonly guarded: <T>(step: () => T) => Guarded<T>;
  readonly sealer: Sealer;
}

/** The turn the work ended in, as JSON. Rejects with `Withdrawn` where its caller has left or the actor is stopped. */
export async function runWork(context: DurableContext, host: WorkHost, job: WorkRun): Promise<Guarded<Turn<unknown>>> {
  const cancelled = new AbortController();
  const superseded = context.superseded();
  const step = context.run("work", async () => {
    const ended = await runFenced(host, job, { cancelled: cancelled.signal, superseded }).then(
      (turn) => ({ turn }),
      (error: unknown) => ({ error }),
    );
    // Another attempt has taken over, or must: what this one found counts for nothing.
    if (superseded.aborted) throw new Error("The work was cut off, and runs again.");
    return job.sealer.seal(
      job.guarded(() => {
        if ("error" in ended) throw ended.error;
        job.checkPlan(ended.turn);
        const text = JSON.stringify(ended.turn);
        if (isLonger(text, WORK_BYTES)) throw tooLarge(job.message.to, "What the work ends in", WORK_BYTES);
        const plain: unknown = JSON.parse(text);
        return plain;
      }),
    );
  });
  try {
    const value = job.sealer.open(await step);
    if (!isGuardedTurn(value)) throw new TypeError("The journal holds something else where this work's turn should be.");
    return value;
  } catch (error) {
    cancelled.abort(error);
    throw error;
  }
}

/** What ends work from outside. */
interface AbortSignals {
  readonly cancelled: AbortSignal;
  readonly superseded: AbortSignal;
}

/** Past its time, or once it has returned, every method throws `TURN_OVER` and what it returns is dropped. */
async function runFenced(
  host: WorkHost,
  { work, message, key, node, waiting, workMs, past }: WorkRun,
  { cancelled, superseded }: AbortSignals,
): Promise<Turn<unknown>> {
  const { to, deadline } = message;
  const external = AbortSignal.any([cancelled, superseded]);
  const abort = new AbortController();
  /** Of its calls. Not where another attempt takes over: that gets their replies. */
  const callsAbort = new AbortController();
  const { progress, log } = host.reporters(message, node);
  let over = false;
  const fence = (): void => {
    if (over) throw faults.turnOver(to);
  };
  const endsAt = host.now() + workMs;
  let calls = 0;
  const context: Context = {
    signal: abort.signal,
    past,
    async call(outgoing) {
      fence();
      const reply = await host.call({
        work: message,
        key,
        n: calls++,
        outgoing,
        endsAt,
        waiting: [...waiting, to],
        signal: callsAbort.signal,
      });
      fence();
      return reply;
    },
    progress(...args) {
      fence();
      progress(...args);
    },
    log(...args) {
      fence();
      log(...args);
    },
  };
  let undo: (() => void) | undefined;
  const ended = Promise.withResolvers<never>();
  const end = (error: unknown): void => {
    // First: what the work returns on being aborted comes too late.
    ended.reject(error);
    over = true;
    abort.abort(error);
    if (!superseded.aborted) callsAbort.abort(error);
  };
  const cut = (): void => end(faults.cancelled(to));
  if (external.aborted) cut();
  external.addEventListener("abort", cut, { once: true });
  const forwardedFor = cancelledWith(message);
  const unregister = forwardedFor === undefined ? undefined : host.abortWithCaller(forwardedFor, () => end(faults.callerLeft(to)));
  // The invocation of a forwarded message is not withdrawn when its caller's deadline passes.
  const leftMs = deadline === undefined ? workMs : deadline - host.now();
  undo = host.after(Math.min(workMs, Math.max(0, leftMs)), () =>
    end(leftMs < workMs ? faults.deadline(to, false, true) : faults.workTimeout(to, workMs)),
  );
  try {
    return await Promise.race([work(context), ended.promise]);
  } finally {
    over = true;
    undo();
    unregister?.();
    external.removeEventListener("abort", cut);
    ended.promise.catch(() => undefined);
    if (!abort.signal.aborted) {
      abort.abort(faults.turnOver(to));
      callsAbort.abort(faults.turnOver(to));
    }
  }
}
