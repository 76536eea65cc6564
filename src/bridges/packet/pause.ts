import type { Clock } from "../../core/contract/index.ts";

/** `over` comes after so many milliseconds, unless it is undone. */
export function pause(clock: Clock, ms: number): { readonly over: Promise<void>; readonly undo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { over: promise, undo: clock.after(ms, resolve) };
}
