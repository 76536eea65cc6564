/** What does not heed the signal is waited for no longer. */
export async function untilAborted<T>(signal: AbortSignal, run: () => T | PromiseLike<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  // Where `run` throws at once, nobody waits for it.
  promise.catch(() => undefined);
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([run(), promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
