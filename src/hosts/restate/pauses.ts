import type { Clock } from "../../core/contract/index.ts";

const FIRST_MS = 50;
const LONGEST_MS = 1_000;

/** How long to wait before each further attempt, without end. */
export function* pauses(): Generator<number, never> {
  for (let ms = FIRST_MS; ; ms = Math.min(ms * 2, LONGEST_MS)) yield ms;
}

export const passed = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
