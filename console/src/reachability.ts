// Owns: whether the server answers, and trying again until it does. Does not own: requests (api.ts), the banner (connection-banner.tsx).
import { signal } from "@preact/signals";
import { BASE } from "./base-path.ts";

const RETRY_MS = [500, 1_000, 2_000, 3_000, 5_000] as const;

/** Since when it does not answer. */
export const awaySince = signal<number | undefined>(undefined);

/** How many outages have ended: after each, what was loaded before is loaded again. */
export const outages = signal(0);

/** A request had no answer at all. */
export function noteNoAnswer(): void {
  if (awaySince.value !== undefined) return;
  awaySince.value = Date.now();
  retryLater(0);
}

/** Tries now. */
export async function retry(): Promise<void> {
  try {
    // Any answer will do, also a refusal.
    await fetch(`${BASE}/api`, { cache: "no-store" });
  } catch {
    return;
  }
  if (awaySince.value === undefined) return;
  awaySince.value = undefined;
  outages.value += 1;
}

function retryLater(attempt: number): void {
  setTimeout(
    () => {
      void retry().then(() => {
        if (awaySince.value !== undefined) retryLater(attempt + 1);
      });
    },
    RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)],
  );
}
