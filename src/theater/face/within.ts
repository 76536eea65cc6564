import { abortSignalOf, type CancelSignal, type Clock, EngineError, untilAborted } from "../../contract/index.ts";
import { StageError } from "../stage.ts";

export interface Bounds {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: CancelSignal | undefined;
}

/** What `run` gives, unless its caller leaves first (`CANCELLED`) or time is up (`Timeout`): what does not heed its signal is waited for no longer. */
export async function within<T>(what: string, { clock, ms, signal }: Bounds, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const undo = clock.after(ms, () => late.abort());
  const both = signal === undefined ? late.signal : AbortSignal.any([late.signal, abortSignalOf(signal)]);
  try {
    return await untilAborted(both, () => run(both));
  } catch (error) {
    if (signal?.aborted === true) throw new EngineError("CANCELLED", `${what} was cancelled.`, { applied: "unknown", cause: error });
    if (!late.signal.aborted) throw error;
    throw new StageError("Timeout", `${what} took longer than ${ms} ms, and may still take effect`, { cause: error });
  } finally {
    undo();
  }
}
