import type { Clock } from "../../core/contract/index.ts";

/** Waits until that has settled, and no longer than `ms`. Rejects where it does in time. */
export async function within(clock: Clock, ms: number, settled: Promise<unknown>): Promise<void> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
  const undo = clock.after(ms, giveUp);
  try {
    await Promise.race([settled, late]);
  } finally {
    undo();
  }
}
