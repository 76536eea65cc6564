import { type CancelSignal, type Clock, EngineError, untilAborted } from "../../../core/contract/index.ts";
import { StageError } from "../stage.ts";

export interface Bounds {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: CancelSignal | undefined;
}

/** Runs with a time limit and the caller's signal. Throws `Timeout` or `CANCELLED`, even if `run` does not heed its own signal. */
export async function within<T>(what: string, { clock, ms, signal }: Bounds, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // One controller for both: AbortSignal.any costs as much as the rest of a call.
  const over = new AbortController();
  const leave = (): void => over.abort();
  const undo = clock.after(ms, leave);
  if (signal?.aborted === true) leave();
  else signal?.addEventListener("abort", leave, { once: true });
  try {
    return await untilAborted(over.signal, () => run(over.signal));
  } catch (error) {
    if (signal?.aborted === true) throw new EngineError("CANCELLED", `${what} was cancelled.`, { applied: "unknown", cause: error });
    if (!over.signal.aborted) throw error;
    throw new StageError("Timeout", `${what} took longer than ${ms} ms, and may still take effect`, { cause: error });
  } finally {
    undo();
    signal?.removeEventListener("abort", leave);
  }
}
