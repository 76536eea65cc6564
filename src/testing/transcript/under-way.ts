import { settle } from "../simulated-clock.ts";

// Long enough for all that needs no time.
const ROUNDS = 50;

export interface Patience {
  /** Of real time, for each wait. */
  readonly withinMs: number;
  /** Also while nothing seems to be under way: what a worker thread does is not seen. */
  readonly always: boolean;
}

/** How it ended: `idle`, nothing will come of itself. */
export type Came = "came" | "idle" | "late";

/** Waits for it as long as this process waits for something outside itself (a request, a timer, a file) that `before` has not. */
export async function cameAbout(wanted: Promise<unknown>, before: Resources, { withinMs, always }: Patience): Promise<Came> {
  const end = performance.now() + withinMs;
  let came = false;
  let beat: NodeJS.Timeout | undefined;
  const coming = wanted.then(() => (came = true));
  // Twice in a row: between two resources of one errand there are none.
  for (let idle = 0; idle < 2; idle = always || isBusy(before) ? 0 : idle + 1) {
    await Promise.race([coming, settle(ROUNDS)]);
    if (came) return "came";
    if (performance.now() > end) return "late";
    await Promise.race([coming, new Promise<void>((resolve) => (beat = setTimeout(resolve, 1)))]);
    // One of ours, left to the next step's `before`, would hide one of the server's.
    clearTimeout(beat);
  }
  return came ? "came" : "idle";
}

/** How many there are of each. */
export type Resources = ReadonlyMap<string, number>;

/** What keeps this process alive now. */
export function resources(): Resources {
  const counts = new Map<string, number>();
  for (const one of process.getActiveResourcesInfo()) if (one !== "Immediate") counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

function isBusy(before: Resources): boolean {
  for (const [name, count] of resources()) if (count > (before.get(name) ?? 0)) return true;
  return false;
}
