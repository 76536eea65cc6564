import type { Clock } from "../../core/contract/index.ts";

/** Rejects after `ms`, so that a store that never answers holds up nothing. `run` may throw at once, too. */
export function within<T>(clock: Clock, ms: number, run: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const undo = clock.after(ms, () => reject(new RangeError(`There was no answer within ${ms} ms.`)));
  const answer = async (): Promise<void> => {
    try {
      resolve(await run());
    } catch (error) {
      reject(error);
    } finally {
      undo();
    }
  };
  void answer();
  return promise;
}
