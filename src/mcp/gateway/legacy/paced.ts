import type { Clock } from "../../../core/contract/index.ts";

/** Runs something at once, and after that no more often than so: what is wanted meanwhile is one run when the time has come. */
export class Paced {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #run: () => void;
  #wanted = false;
  #undo: (() => void) | undefined;

  constructor(clock: Clock, everyMs: number, run: () => void) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#run = run;
  }

  want(): void {
    this.#wanted = true;
    if (this.#undo === undefined) this.#go();
  }

  stop(): void {
    this.#undo?.();
    this.#undo = undefined;
  }

  #go(): void {
    this.#undo = undefined;
    if (!this.#wanted) return;
    this.#wanted = false;
    this.#undo = this.#clock.after(this.#everyMs, () => this.#go());
    this.#run();
  }
}
