import type { Clock, Entropy } from "../../../core/contract/index.ts";
import type { RemoteLimits } from "./options.ts";

/** Settles after that time or when aborted, whichever comes first. */
export function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      undo();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const undo = clock.after(ms, done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Exponential backoff before the next attempt. Bounded, and half of it random, so that clients do not all return at once. */
export function retryDelay(limits: RemoteLimits, entropy: Entropy, failed: number): number {
  const maxMs = Math.min(limits.retryMaxMs, limits.retryMs * 2 ** Math.min(failed - 1, 30));
  const random = Number.parseInt(entropy.hex(4), 16) / 0x1_0000_0000;
  return Math.ceil(maxMs / 2 + (maxMs / 2) * random);
}
