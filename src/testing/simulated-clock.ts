// Owns: simulated time and randomness, and waiting for them. Does not own: the server that uses them (client/test-server.ts).
import type { Clock, Entropy } from "../core/contract/index.ts";

interface Timer {
  at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock that a test advances. Timers run in the order of their times, and all that one causes settles before the next.
 *
 * @example
 * ```ts
 * import { SimulatedClock } from "troupe/testing";
 *
 * const clock = new SimulatedClock();
 * clock.after(60 * 60_000, () => console.log("An hour later."));
 * await clock.advance(60 * 60_000); // prints "An hour later."
 * ```
 */
export class SimulatedClock implements Clock {
  #now: number;
  /** How far it has been set forward in total, in milliseconds. */
  #set = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();
  readonly #settle: () => Promise<void>;

  /** `now`: default 2024-01-01. `settled`: settles when all that a timer caused has ended; by default, all that waits only for this process and its files. */
  constructor(now = 1_704_067_200_000, settled: () => Promise<void> = settle) {
    this.#now = finite(now);
    this.#settle = settled;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now - this.#set;
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** When the first timer after now fires, in milliseconds since 1970. Undefined: none is set. */
  get nextTimer(): number | undefined {
    let soonest: number | undefined;
    for (const { at } of this.#timers) if (at > this.#now && (soonest === undefined || at < soonest)) soonest = at;
    return soonest;
  }

  /** Advances time, and runs the timers that are due meanwhile. Rejects for less than 0 ms: use `setBack`. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY))
      throw new RangeError(`Time moves on by 0 or more milliseconds, not by ${ms}. To set the clock back, use setBack().`);
    const end = this.#now + ms;
    await this.#settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await this.#settle();
    }
    this.#now = end;
    await this.#settle();
  }

  /** Simulates that the clock is set back: timers still fire after the same time. */
  setBack(ms: number): void {
    finite(ms);
    this.#now -= ms;
    this.#set -= ms;
    for (const timer of this.#timers) timer.at -= ms;
  }

  /** Simulates that the clock is set forward, or the machine slept: timers still fire after the same time. */
  setForward(ms: number): void {
    this.setBack(-ms);
  }

  #next(end: number): Timer | undefined {
    let soonest: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      if (soonest === undefined || timer.at < soonest.at || (timer.at === soonest.at && timer.order < soonest.order)) soonest = timer;
    }
    return soonest;
  }
}

/** Throws `RangeError`. */
export function finite(ms: number): number {
  if (Number.isFinite(ms)) return ms;
  throw new RangeError(`A simulated time is a number of milliseconds, not ${ms}.`);
}

/**
 * Ids and random numbers that are the same in every run.
 *
 * @example
 * ```ts
 * import { SimulatedEntropy } from "troupe/testing";
 *
 * const dice = new SimulatedEntropy(7);
 * console.log(dice.under(6)); // the same number in every run
 * ```
 */
export class SimulatedEntropy implements Entropy {
  #state: number;

  constructor(seed = 1) {
    this.#state = seed >>> 0;
  }

  hex(bytes: number): string {
    let text = "";
    while (text.length < bytes * 2) text += this.#next().toString(16).padStart(8, "0");
    return text.slice(0, bytes * 2);
  }

  uuid(): string {
    const hex = this.hex(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  /** An integer from 0 to `below - 1`. */
  under(below: number): number {
    return this.#next() % below;
  }

  // xorshift with a counter: small, seeded, and good enough to spread faults.
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let word = this.#state;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  }
}

/**
 * Waits until everything that does not wait for time has ended, file operations (a store's commit) included.
 *
 * @example
 * ```ts
 * import { settle } from "troupe/testing";
 *
 * let done = false;
 * void Promise.resolve().then(() => (done = true));
 * await settle();
 * console.log(done); // true
 * ```
 */
export async function settle(rounds = 4): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (process.getActiveResourcesInfo().includes("FSReqCallback")) {
      round = 0;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}

/**
 * Waits until the condition holds. Throws after `withinMs` milliseconds, with a message that contains `what`.
 *
 * @example
 * ```ts
 * import { existsSync } from "node:fs";
 * import { until } from "troupe/testing";
 *
 * await until("the file is written", () => existsSync("report.txt"));
 * ```
 */
export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It did not come about: ${what}.`);
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
  }
}
