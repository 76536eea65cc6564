import type { Clock } from "../../core/contract/index.ts";

const FIRST_MS = 50;
const LONGEST_MS = 1_000;

/** How long to wait before each further attempt, without end. */
export function* pauses(): Generator<number, never> {
  for (let ms = FIRST_MS; ; ms = Math.min(ms * 2, LONGEST_MS)) yield ms;
}

/**
 * The servers of a cluster learn of a deployment one after another: some 100 ms after its registration, one may not know a handler yet. So a
 * call that was refused with `ENGINE_MISSING`, which did nothing, is sent again so often: with these pauses, for some two seconds.
 */
export const UNKNOWN_RETRIES = 5;

export const passed = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
