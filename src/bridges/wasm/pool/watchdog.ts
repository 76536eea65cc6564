import type { Clock } from "../../../core/contract/index.ts";

/** Between two looks, in milliseconds: a call may compute for so much longer than it should. */
const SHORTEST_MS = 5;
const LONGEST_MS = 250;

interface Watched {
  /** Some guest may be computing in it. */
  readonly busy: boolean;
  sample(): void;
}

/** Looks at workers as long as a guest may be computing in one, four times in the time that a call may take. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #workers: () => Iterable<Watched>;
  #stop: (() => void) | undefined;
  #everyMs = LONGEST_MS;

  constructor(clock: Clock, workers: () => Iterable<Watched>) {
    this.#clock = clock;
    this.#workers = workers;
  }

  /** A call begins to compute, and may for so long. */
  watch(callMs: number): void {
    const everyMs = Math.max(SHORTEST_MS, Math.min(LONGEST_MS, callMs / 4));
    if (this.#stop !== undefined && everyMs >= this.#everyMs) return;
    this.stop();
    this.#everyMs = everyMs;
    this.#wait();
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #wait(): void {
    this.#stop = this.#clock.after(this.#everyMs, () => {
      this.#stop = undefined;
      let busy = false;
      for (const worker of this.#workers()) {
        if (!worker.busy) continue;
        busy = true;
        worker.sample();
      }
      if (busy) this.#wait();
    });
  }
}
