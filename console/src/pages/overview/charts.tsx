// Owns: the charts of the overview. A file of its own in the bundle, since uPlot is.
import { type SampledFigures, samples } from "../../figures-history.ts";
import { Chart } from "../../ui/chart.tsx";

const SECONDS = 900;

/** `0.5 ms`, `2 ms`, `1.5 s`. */
const short = (ms: number): string => (ms < 1_000 ? `${round(ms)} ms` : `${round(ms / 1_000)} s`);
const round = (value: number): number => Number(value.toPrecision(value < 1 ? 1 : 2));

export function Charts() {
  const all = samples.value;
  const times = all.map(({ at }) => at / 1_000);
  const values = (valueOf: (one: SampledFigures) => number): readonly (number | null)[] =>
    all.map(({ figures }) => (figures === undefined ? null : valueOf(figures)));
  return (
    <>
      <Chart
        title="Throughput, each second"
        times={times}
        seconds={SECONDS}
        format={(value) => value.toLocaleString(undefined, { maximumFractionDigits: 1 })}
        series={[
          { label: "Turns", color: "--accent", values: values((one) => one.turnsPerSecond), fill: true },
          { label: "Requests", color: "--good", values: values((one) => one.requestsPerSecond) },
        ]}
      />
      <Chart
        title="Latency of requests, last minute"
        times={times}
        seconds={SECONDS}
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
