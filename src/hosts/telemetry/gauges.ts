// Owns: metrics that are read when they are collected: figures of the server, and the delay of the event loop. Does not own: durations
// of requests (open-telemetry.ts).
import type { Figure, Figures } from "../../core/contract/index.ts";
import type { Meter, MetricOptions, Observable } from "./open-telemetry-api.ts";

interface Metric extends MetricOptions {
  readonly figure: Figure;
  readonly name: string;
}

const GAUGES: readonly Metric[] = [
  {
    figure: "sessions",
    name: "troupe.sessions",
    description: "Sessions over HTTP of revisions up to 2025-11-25, in memory.",
    unit: "{session}",
  },
  {
    figure: "connections",
    name: "troupe.connections",
    description: "Clients on stdio, TCP, WebSockets and HTTP+SSE.",
    unit: "{connection}",
  },
  { figure: "streams", name: "troupe.streams", description: "Standalone streams and subscriptions that are open.", unit: "{stream}" },
  { figure: "requests", name: "troupe.requests.running", description: "Requests that are being worked on.", unit: "{request}" },
  { figure: "actors", name: "troupe.actors", description: "Actors in memory; those on disk alone do not count.", unit: "{actor}" },
  {
    figure: "failed",
    name: "troupe.actors.failed",
    description: "Actors in memory that have failed, and wait to be restarted.",
    unit: "{actor}",
  },
  { figure: "outbox", name: "troupe.outbox", description: "Messages on their way between actors on disk.", unit: "{message}" },
  {
    figure: "backlog",
    name: "troupe.store.log.pages",
    description: "Pages of the store that only its write-ahead log holds; the number grows while checkpoints fail.",
    unit: "{page}",
  },
];
const COUNTERS: readonly Metric[] = [
  { figure: "faults", name: "troupe.faults", description: "Crashes and other faults, as the log has them.", unit: "{fault}" },
  {
    figure: "slowTurns",
    name: "troupe.turns.slow",
    description: "Turns that blocked the event loop for more than 100 ms.",
    unit: "{turn}",
  },
];

/** Current figures, summed over all their sources when metrics are collected. */
export class Gauges {
  readonly #sources = new Set<() => Figures>();

  constructor(meter: Meter) {
    const instruments = new Map<Figure, Observable>(GAUGES.map((one) => [one.figure, meter.createObservableGauge(one.name, one)]));
    for (const one of COUNTERS) instruments.set(one.figure, meter.createObservableCounter(one.name, one));
    meter.addBatchObservableCallback(
      (result) => {
        const all = Array.from(this.#sources, (figures) => figures());
        for (const [figure, instrument] of instruments) {
          const numbers = all.flatMap((one) => one[figure] ?? []);
          if (numbers.length > 0)
            result.observe(
              instrument,
              numbers.reduce((sum, number) => sum + number, 0),
            );
        }
      },
      [...instruments.values()],
    );
  }

  add(figures: () => Figures): () => void {
    this.#sources.add(figures);
    return () => void this.#sources.delete(figures);
  }
}

const NANOSECONDS = 1e9;

/**
 * Reports the delay of the event loop since the last collection, under the names of OpenTelemetry's convention for Node.js. Does
 * nothing without Node.js. Measuring needs a timer every 20 ms, which does not keep the process alive.
 */
export function observeEventLoop(meter: Meter): void {
  const delay = globalThis.process?.getBuiltinModule?.("node:perf_hooks").monitorEventLoopDelay({ resolution: 20 });
  if (delay === undefined) return;
  const gauge = (name: string, description: string) => meter.createObservableGauge(name, { description, unit: "s" });
  const p99 = gauge("nodejs.eventloop.delay.p99", "Event loop delay, 99th percentile.");
  const max = gauge("nodejs.eventloop.delay.max", "Event loop delay, maximum.");
  delay.enable();
  meter.addBatchObservableCallback(
    (result) => {
      // Nothing was measured since the last collection.
      if (delay.count === 0) return;
      result.observe(p99, delay.percentile(99) / NANOSECONDS);
      result.observe(max, delay.max / NANOSECONDS);
      delay.reset();
    },
    [p99, max],
  );
}
