// Owns: which client's calls of which tool ran long in the last quarter of an hour. Does not own: what is made of it (doctor.ts).

import { Bounded } from "./bounded.ts";
import { RecentDurations } from "./recent-durations.ts";

const SLOTS = 5;
const SLOT_MS = 180_000;
/** Pairs of a client and a tool. */
const MOST = 200;
const SLOW_MS = 1_000;
/** Fewer are no rule. */
const LEAST_CALLS = 3;

interface SlowCalls {
  readonly client: string;
  readonly tool: string;
  readonly calls: number;
  readonly p95Ms: number;
  /** When the last slow one ended. */
  readonly lastAt: number;
}

interface Seen {
  readonly client: string;
  readonly tool: string;
  readonly durations: RecentDurations;
  lastAt: number;
}

export class CallDurations {
  readonly #seen = new Bounded<string, Seen>(MOST);

  /** `ms`: how long it ran, where that is known. */
  add(now: number, client: string, tool: string, ms: number): void {
    const key = `${client}\n${tool}`;
    let seen = this.#seen.get(key);
    if (seen === undefined) {
      seen = { client, tool, durations: new RecentDurations(SLOTS, SLOT_MS), lastAt: 0 };
      this.#seen.set(key, seen);
    }
    seen.durations.add(now, ms, false);
    if (ms >= SLOW_MS) seen.lastAt = now;
  }

  /** Those of which one in twenty, or more, runs a second or longer. The slowest first. */
  slow(now: number): readonly SlowCalls[] {
    return Array.from(this.#seen.entries.values(), ({ client, tool, durations, lastAt }): SlowCalls => {
      const { p95, count } = durations.figures(now).latencyMs;
      return { client, tool, calls: count, p95Ms: p95, lastAt };
    })
      .filter(({ calls, p95Ms }) => calls >= LEAST_CALLS && p95Ms >= SLOW_MS)
      .toSorted((one, other) => other.p95Ms - one.p95Ms);
  }
}
