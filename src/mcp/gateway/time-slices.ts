// Owns: work spread over time: a slice in each round of the event loop, or one run in an interval. Does not own: the work.
import type { Clock } from "../../core/contract/index.ts";
import { soon } from "../../core/platform/index.ts";

/** One unit of work; it handles its own errors. */
export interface Job {
  run(): void;
}

/**
 * Runs many jobs of one kind, a slice in each round of the event loop, so that other work waits for one slice and never for all. First
 * come, first served. A job must not be added again before it has run.
 */
export class CooperativeScheduler {
  readonly #size: number;
  #jobs: Job[] = [];
  #next = 0;
  #added: Job[] = [];
  #scheduled = false;

  constructor(size: number) {
    this.#size = size;
  }

  add(job: Job): void {
    this.#added.push(job);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    soon(this.#slice);
  }

  readonly #slice = (): void => {
    this.#scheduled = false;
    // Two lists that swap: a single one that is pushed to and read would grow for as long as jobs are added.
    if (this.#next === this.#jobs.length) {
      this.#jobs = this.#added;
      this.#added = [];
      this.#next = 0;
    }
    const end = Math.min(this.#jobs.length, this.#next + this.#size);
    // Scheduled before the jobs run, so that one that throws does not stop the others.
    if (end < this.#jobs.length || this.#added.length > 0) this.#schedule();
    while (this.#next < end) {
      const job = this.#jobs[this.#next];
      this.#next += 1;
      job?.run();
    }
    if (this.#next < this.#jobs.length) return;
    this.#jobs = [];
    this.#next = 0;
  };
}

/** Runs something at once, and then at most once in `everyMs`: requests in between become one run at the end of the interval. */
export class Throttle {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #run: () => void;
  #requested = false;
  #undo: (() => void) | undefined;

  constructor(clock: Clock, everyMs: number, run: () => void) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#run = run;
  }

  request(): void {
    this.#requested = true;
    if (this.#undo === undefined) this.#go();
  }

  stop(): void {
    this.#undo?.();
    this.#undo = undefined;
  }

  #go(): void {
    this.#undo = undefined;
    if (!this.#requested) return;
    this.#requested = false;
    this.#undo = this.#clock.after(this.#everyMs, () => this.#go());
    this.#run();
  }
}
