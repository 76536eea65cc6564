import type { Clock } from "../../core/contract/index.ts";

const FIRST_MS = 50;
const LONGEST_MS = 1_000;

/** How long to wait before each further attempt, without end. */
export function* pauses(): Generator<number, never> {
  for (let ms = FIRST_MS; ; ms = Math.min(ms * 2, LONGEST_MS)) yield ms;
}

/** The servers of a cluster learn of a deployment one after another: some 100 ms after its registration, one may not know it yet. */
const UNKNOWN_HANDLER_MS = 2_000;

/** For how long a call that failed with `code` is sent again. A handler that a server does not know was not called. */
export const patienceAfter = (code: string, patienceMs: number): number =>
  code === "ENGINE_MISSING" ? Math.min(patienceMs, UNKNOWN_HANDLER_MS) : patienceMs;

export const passed = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
