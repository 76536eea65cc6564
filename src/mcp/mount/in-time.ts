import { type Clock, EngineError } from "../../core/contract/index.ts";

export interface Limit {
  readonly clock: Clock;
  readonly ms: number;
  /** Runs where that is over first. */
  readonly late?: () => void;
}

/** What a server does in time. Rejects with `WORK_TIMEOUT`: the server `did not` that. */
export async function inTime<T>({ clock, ms, late }: Limit, didNot: string, done: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const undo = clock.after(ms, () => {
    late?.();
    reject(new EngineError("WORK_TIMEOUT", `The server behind this ${didNot} within ${ms} ms.`));
  });
  try {
    return await Promise.race([done, promise]);
  } finally {
    undo();
  }
}
