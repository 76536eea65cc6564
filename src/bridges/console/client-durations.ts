// Owns: how long the requests of one client took, and its calls waited and ran. Does not own: its other figures (clients.ts).

import type { Handled } from "../../core/contract/index.ts";
import { RecentDurations, type RecentFigures } from "./recent-durations.ts";
import type { ClientLatency } from "./shapes.ts";

/** Durations of the last minute or, while there are none, of all time. */
class Durations {
  readonly minute = new RecentDurations();
  readonly allTime = RecentDurations.ofAllTime();

  add(now: number, ms: number, isError: boolean): void {
    this.minute.add(now, ms, isError);
    this.allTime.add(now, ms, isError);
  }

  static latency(all: readonly Durations[], now: number): RecentFigures["latencyMs"] {
    const { latencyMs } = RecentDurations.together(all.map(({ minute }) => minute)).figures(now);
    return latencyMs.count > 0 ? latencyMs : RecentDurations.together(all.map(({ allTime }) => allTime)).figures(now).latencyMs;
  }
}

export interface ClientFigures extends ClientLatency {
  /** In the last minute. */
  readonly requests: number;
  readonly errors: number;
}

export class ClientDurations {
  readonly #all = new Durations();
  readonly #waited = new Durations();
  readonly #ran = new Durations();

  add(now: number, ms: number, isError: boolean, handled: Handled | undefined): void {
    this.#all.add(now, ms, isError);
    if (handled === undefined) return;
    this.#waited.add(now, handled.waitedMs, isError);
    this.#ran.add(now, handled.ranMs, isError);
  }

  /** Those of several clients, as one. */
  static figures(clients: readonly ClientDurations[], now: number): ClientFigures {
    const { requests, errors } = RecentDurations.together(clients.map((one) => one.#all.minute)).figures(now);
    const latency = (of: (one: ClientDurations) => Durations): RecentFigures["latencyMs"] => Durations.latency(clients.map(of), now);
    const [all, waited, ran] = [latency((one) => one.#all), latency((one) => one.#waited), latency((one) => one.#ran)];
    return {
      requests,
      errors,
      p50Ms: all.p50,
      p99Ms: all.p99,
      ...(ran.count > 0 && { waitedP99Ms: waited.p99, ranP99Ms: ran.p99 }),
    };
  }
}
