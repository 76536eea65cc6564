import type { Clock } from "../contract/index.ts";

/** What a promise brings, or the signal's reason where that comes first. */
export function race<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = (): void => reject(asError(signal.reason));
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** `over` comes after so many milliseconds, unless it is undone. */
export function pause(clock: Clock, ms: number): { readonly over: Promise<void>; readonly undo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { over: promise, undo: clock.after(ms, resolve) };
}
