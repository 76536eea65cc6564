import { type CancelSignal, type Clock, EngineError, untilAborted } from "../../../core/contract/index.ts";
import { StageError } from "../stage.ts";

export interface TimeLimit {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: CancelSignal | undefined;
}

/** Runs with a time limit and the caller's signal. Throws `Timeout` or `CANCELLED`, even if `run` does not heed its own signal. */
export async function withTimeLimit<T>(what: string, { clock, ms, signal }: TimeLimit, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // One controller for both: AbortSignal.any costs as much as the rest of a call.
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const undo = clock.after(ms, abort);
  if (signal?.aborted === true) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  try {
    return await untilAborted(controller.signal, () => run(controller.signal));
  } catch (error) {
    if (signal?.aborted === true) throw new EngineError("CANCELLED", `${what} was cancelled.`, { applied: "unknown", cause: error });
    if (!controller.signal.aborted) throw error;
    throw new StageError("Timeout", `${what} took longer than ${ms} ms, and may still take effect`, { cause: error });
  } finally {
    undo();
    signal?.removeEventListener("abort", abort);
  }
}
