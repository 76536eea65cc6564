import type { Clock, Entropy } from "../../../core/contract/index.ts";
import type { RemoteLimits } from "./options.ts";

/** Settles after that time or when aborted, whichever comes first. */
export function passed(clock: Clock, ms: number, givenUp: AbortSignal): Promise<void> {
  if (givenUp.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      undo();
      givenUp.removeEventListener("abort", done);
      resolve();
    };
    const undo = clock.after(ms, done);
    givenUp.addEventListener("abort", done, { once: true });
  });
}

/** Exponential backoff before the next attempt. Bounded, and half of it random, so that clients do not all return at once. */
export function pauseBefore(limits: RemoteLimits, entropy: Entropy, failed: number): number {
  const most = Math.min(limits.retryMaxMs, limits.retryMs * 2 ** Math.min(failed - 1, 30));
  const drawn = Number.parseInt(entropy.hex(4), 16) / 0x1_0000_0000;
  return Math.ceil(most / 2 + (most / 2) * drawn);
}
