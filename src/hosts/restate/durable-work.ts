// Owns: running work as one journalled step, and what ends it early. Does not own: the commit of its turn (commit.ts).
//
// A crash before the step is journalled runs it again, so its effects outside happen at least once.
import { type CallKey, cancelledWith, faults } from "../../core/chain/internal.ts";
import type { ActorId, ChainEvent, Context, Log, Message, Outgoing, Past, Progress, Reply, Turn, Work } from "../../core/contract/index.ts";
import type { DurableContext } from "./durable-context.ts";
import { type Failed, isGuardedTurn, type Guarded } from "./outcome.ts";
import type { Sealer } from "./sealer.ts";
import { isLonger, tooLarge, WORK_BYTES } from "./sizes.ts";

/** A call that one actor's work makes to another actor. */
export interface InnerCall {
  /** The message that started the work. */
  readonly work: Message;
  /** Key of a keyed call. */
  readonly key: CallKey | undefined;
  /** Index of the call: the same in every run of the work. */
  readonly n: number;
  readonly outgoing: Outgoing;
  readonly endsAt: number;
  readonly waiting: readonly ActorId[];
  readonly signal: AbortSignal;
}

/** What turns need of the process in which they run. */
export interface WorkHost {
  /** Runs once after `ms`. Returns its undo. */
  after(ms: number, run: () => void): () => void;
  now(): number;
  call(call: InnerCall): Promise<Reply>;
  /** The events of an actor after that seq. */
  history(id: ActorId, afterSeq: number): AsyncIterable<ChainEvent>;
  /** Progress and log of the caller of that message, at that node. */
  reporters(message: Message, node: string | undefined): { readonly progress: Progress; readonly log: Log };
  /** Registers work that was forwarded for that call. `abort` runs when its caller leaves. Returns its undo. */
  abortWithCaller(call: string, abort: () => void): () => void;
  /** A behaviour threw. For `outbox`, the message became a dead letter. */
  fault(error: unknown, where: { readonly where: "turn" | "work" | "load" | "outbox"; readonly message: Message }): void;
}

export interface WorkRun {
  readonly work: Work<unknown>;
  readonly message: Message;
  readonly key: CallKey | undefined;
  readonly node: string | undefined;
  readonly waiting: readonly ActorId[];
  readonly workMs: number;
  readonly past: Past;
  /** Throws what the commit would throw. It runs before the turn becomes text, which hides what is not JSON. */
  readonly checkPlan: (turn: Turn<unknown>) => unknown;
  readonly guarded: <T>(step: () => T) => Guarded<T>;
  /** The work itself threw: its actor has crashed, whatever it threw. */
  readonly crashed: (error: unknown) => Failed;
  readonly sealer: Sealer;
}

/** The resulting turn, as JSON. Rejects with `InvocationCancelled` if the caller left or the actor is being stopped. */
export async function runWork(context: DurableContext, host: WorkHost, job: WorkRun): Promise<Guarded<Turn<unknown>>> {
  const cancelled = new AbortController();
  const superseded = context.superseded();
  const step = context.run("work", async () => {
    const ended = await runFenced(host, job, { cancelled: cancelled.signal, superseded }).catch((error: unknown) => ({ error }));
    // Another attempt has started, or must start: discard this result.
    if (superseded.aborted) throw new Error("The work was cut off, and runs again.");
    if ("threw" in ended) return job.sealer.seal(job.crashed(ended.threw));
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

/** How work ended by itself. */
type WorkEnd = { readonly turn: Turn<unknown> } | { readonly threw: unknown };

/**
 * Once its time is over, or it has returned, every method throws `TURN_OVER` and its results are dropped. Rejects with what ended it from
 * outside: what it throws itself may be the same error, of a call that it made.
 */
async function runFenced(
  host: WorkHost,
  { work, message, key, node, waiting, workMs, past }: WorkRun,
  { cancelled, superseded }: AbortSignals,
): Promise<WorkEnd> {
  const { to, deadline } = message;
  const external = AbortSignal.any([cancelled, superseded]);
  const abort = new AbortController();
  /** Aborts its calls. Not if another attempt starts, which gets their replies. */
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
  const ended = Promise.withResolvers<never>();
  const end = (error: unknown): void => {
    // First: what the work returns after being aborted must be ignored.
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
  // The invocation of a forwarded message is not cancelled when its caller's deadline passes.
  const leftMs = deadline === undefined ? workMs : deadline - host.now();
  const undo = host.after(Math.min(workMs, Math.max(0, leftMs)), () =>
    end(leftMs < workMs ? faults.deadline(to, false, true) : faults.workTimeout(to, workMs)),
  );
  try {
    return await Promise.race([endOf(() => work(context)), ended.promise]);
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

async function endOf(run: () => Promise<Turn<unknown>>): Promise<WorkEnd> {
  try {
    return { turn: await run() };
  } catch (threw) {
    return { threw };
  }
}
