import type { Clock, Log } from "../../core/contract/index.ts";
import { nameOf } from "./name-of.ts";

/** Runs the listeners of a gap at once, then no more often than each `gapMs`: a resync costs more than a message. */
export class Gaps {
  readonly #clock: Clock;
  readonly #gapMs: number;
  readonly #log: Log;
  readonly #listeners = new Set<{ readonly run: () => void }>();
  #undo: (() => void) | undefined;
  #again = false;
  #stopped = false;

  constructor(clock: Clock, gapMs: number, log: Log) {
    this.#clock = clock;
    this.#gapMs = gapMs;
    this.#log = log;
  }

  on(run: () => void): () => void {
    const entry = { run };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  found(): void {
    if (this.#stopped) return;
    if (this.#undo !== undefined) {
      this.#again = true;
      return;
    }
    this.#undo = this.#clock.after(this.#gapMs, () => {
      this.#undo = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.found();
    });
    queueMicrotask(() => this.#run());
  }

  stop(): void {
    this.#stopped = true;
    this.#undo?.();
    this.#listeners.clear();
  }

  #run(): void {
    for (const { run } of this.#listeners) {
      try {
        run();
      } catch (error) {
        this.#log("error", { event: "peer-listener-failed", topic: "gap", name: nameOf(error) });
      }
    }
  }
}
