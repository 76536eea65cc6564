// Owns: the charts of the overview. A file of its own in the bundle, since uPlot is.
import { type SampledFigures, samples } from "../../figures-history.ts";
import { Chart } from "../../ui/chart.tsx";

/** In steps, since a chart is made again for another length. A server that has just started would have most of a long one empty. */
const STEP_SECONDS = 300;
const MOST_SECONDS = 900;

/** `0.5 ms`, `2 ms`, `1.5 s`. */
const short = (ms: number): string => (ms < 1_000 ? `${round(ms)} ms` : `${round(ms / 1_000)} s`);
const round = (value: number): number => Number(value.toPrecision(value < 1 ? 1 : 2));

export function Charts() {
  const all = samples.value;
  const times = all.map(({ at }) => at / 1_000);
  const known = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const seconds = Math.min(MOST_SECONDS, Math.max(1, Math.ceil(known / STEP_SECONDS)) * STEP_SECONDS);
  const values = (valueOf: (one: SampledFigures) => number): readonly (number | null)[] =>
    all.map(({ figures }) => (figures === undefined ? null : valueOf(figures)));
  return (
    <>
      <Chart
        title="Throughput, each second"
        times={times}
        seconds={seconds}
        format={(value) => value.toLocaleString(undefined, { maximumFractionDigits: 1 })}
        series={[
          { label: "Turns", color: "--accent", values: values((one) => one.turnsPerSecond), fill: true },
          { label: "Requests", color: "--good", values: values((one) => one.requestsPerSecond) },
        ]}
      />
      <Chart
        title="Latency of requests, last minute"
        times={times}
        seconds={seconds}
        format={short}
        series={[
          { label: "p50", color: "--accent", values: values((one) => one.latencyMs.p50), fill: true },
          { label: "p95", color: "--warning", values: values((one) => one.latencyMs.p95) },
          { label: "p99", color: "--bad", values: values((one) => one.latencyMs.p99) },
        ]}
      />
    </>
  );
}
