import type { Meter } from "./api.ts";

const NANOSECONDS = 1e9;

/**
 * How long the event loop was delayed since it was collected last, under the names of OpenTelemetry's convention for Node.js. Nothing
 * where there is no Node.js. Measuring costs a timer every 20 ms, which keeps no process alive.
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
      // Collected again before anything was measured.
      if (delay.count === 0) return;
      result.observe(p99, delay.percentile(99) / NANOSECONDS);
      result.observe(max, delay.max / NANOSECONDS);
      delay.reset();
    },
    [p99, max],
  );
}
