/**
 * Work on something durable: all of it in one journalled step. A crash before the step
 * is kept runs it again, so what it does outside happens at least once.
 */
import { faults } from "../chain/internal.ts";
import type { Context, Message, Outgoing, Reply, Turn, Work } from "../contract/index.ts";
import type { DurableContext } from "./durable-context.ts";
import { isGuardedTurn, type Guarded } from "./outcome.ts";

/** What turns need of the process they run in. */
export interface WorkHost {
  /** Runs once after `ms`; returns its undo. */
  after(ms: number, run: () => void): () => void;
  now(): number;
  /** The nth call of the work that `message` began: the same in every run of it. */
  call(message: Message, n: number, outgoing: Outgoing, endsAt: number, signal: AbortSignal): Promise<Reply>;
  /** A behaviour threw. */
  fault(error: unknown, message: Message): void;
}

export interface Job {
  readonly work: Work<unknown>;
  readonly message: Message;
  readonly workMs: number;
  /** Throws what the commit would: it must be known before the turn becomes text, which hides what is no JSON. */
  readonly planned: (turn: Turn<unknown>) => unknown;
  readonly guarded: <T>(step: () => T) => Guarded<T>;
}

/** The turn the work ended in, as JSON. */
export async function runWork(context: DurableContext, host: WorkHost, job: Job): Promise<Guarded<Turn<unknown>>> {
  const value = await context.run("work", async () => {
    const ended = await fenced(host, job).then(
      (turn) => ({ turn }),
      (error: unknown) => ({ error }),
    );
    return job.guarded(() => {
      if ("error" in ended) throw ended.error;
      // `emit` may be anything, and reaches no one.
      const { emit: _, ...turn } = ended.turn;
      job.planned(turn);
      const text = JSON.stringify(turn);
      const plain: unknown = JSON.parse(text);
      return plain;
    });
  });
  if (!isGuardedTurn(value)) throw new TypeError("The journal holds something else where this work's turn should be.");
  return value;
}

/** Past its time, or once it has returned, every method throws `TURN_OVER` and what it returns is dropped. */
async function fenced(host: WorkHost, { work, message, workMs }: Job): Promise<Turn<unknown>> {
  const { to } = message;
  const abort = new AbortController();
  let over = false;
  const fence = (): void => {
    if (over) throw faults.turnOver(to);
  };
  const endsAt = host.now() + workMs;
  let calls = 0;
  const context: Context = {
    signal: abort.signal,
    async call(outgoing) {
      fence();
      const reply = await host.call(message, calls++, outgoing, endsAt, abort.signal);
      fence();
      return reply;
    },
    // Nobody waits on this side of the server: progress and log lines reach no one.
    progress: fence,
    log: fence,
  };
  let undo: (() => void) | undefined;
  const timeout = new Promise<never>((_, reject) => {
    undo = host.after(workMs, () => {
      const error = faults.workTimeout(to, workMs);
      // First: what the work returns on being aborted comes too late.
      reject(error);
      abort.abort(error);
    });
  });
  try {
    return await Promise.race([work(context), timeout]);
  } finally {
    over = true;
    undo?.();
    if (!abort.signal.aborted) abort.abort(faults.turnOver(to));
  }
}
