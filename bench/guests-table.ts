import { median, quantile, times } from "./statistics.ts";
import { print } from "./table.ts";

/** Prints bursts, in microseconds per call. */
export const bursts = (what: string, measured: readonly number[], target?: number): void => print({ what, measured, unit: "µs", target });

/** Prints the bursts of a peer, and their ratios to ours by round. */
export const compare = (what: string, theirs: readonly number[], ours: readonly number[]): void => {
  bursts(what, theirs);
  print({ what: `${what}, beside ours`, measured: times(theirs, ours), unit: "×" });
};

const PARTS = 15;

/** Prints single calls in microseconds: the medians (with the limit) and 99th percentiles of successive parts of the run. */
export const tails = (what: string, measured: readonly number[], target?: number): void => {
  const size = Math.ceil(measured.length / PARTS);
  const parts = Array.from({ length: PARTS }, (_, part) => measured.slice(part * size, (part + 1) * size)).filter(
    ({ length }) => length > 0,
  );
  print({ what: `${what}, p50`, measured: parts.map(median), unit: "µs", target });
  print({ what: `${what}, p99`, measured: parts.map((part) => quantile(part, 0.99)), unit: "µs" });
};

/** Times single calls in microseconds, in alternating bursts of `calls`. The first round warms up. */
export const timeCalls = async (
  rounds: number,
  calls: number,
  ...acts: readonly ((n: number) => Promise<unknown>)[]
): Promise<readonly number[][]> => {
  const measured = acts.map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [place, act] of acts.entries())
      for (let n = 0; n < calls; n += 1) {
        const started = performance.now();
        await act(n);
        if (round > 0) measured[place]?.push((performance.now() - started) * 1_000);
      }
  return measured;
};
