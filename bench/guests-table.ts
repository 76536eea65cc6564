import { median } from "./load.ts";

export const figure = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1));

/** A line: what it is, what was measured, and whether that is within the limit, where there is one. */
export const line = (what: string, said: string, { value, limit, unit }: Limited = NONE): void =>
  console.log(`${what.padEnd(84)} ${said}${limit === undefined ? "" : `  limit ${limit} ${unit} ${value <= limit ? "OK" : "OVER"}`}`);

interface Limited {
  readonly value: number;
  readonly limit?: number;
  readonly unit: string;
}

const NONE: Limited = { value: 0, unit: "" };

/** Of bursts, in microseconds a call. */
export const bursts = (what: string, measured: readonly number[], limit?: number): void => {
  const value = median(measured);
  const said = `${figure(value)} µs (${figure(Math.min(...measured))}–${figure(Math.max(...measured))})`;
  line(what, said, { value, unit: "µs", ...(limit === undefined ? {} : { limit }) });
};

/** The same, of a peer: and how many times ours that is, round by round. */
export const beside = (what: string, theirs: readonly number[], ours: readonly number[]): void => {
  const times = median(theirs.map((value, round) => value / (ours[round] ?? Number.NaN)));
  line(
    `  ${what}`,
    `${figure(median(theirs))} µs (${figure(Math.min(...theirs))}–${figure(Math.max(...theirs))}): ${times.toFixed(1)} times ours`,
  );
};

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

const PARTS = 15;

/** Of single calls in their order, in microseconds: the median, of parts of the time the least and the most of it. The limit is the median's. */
export const tails = (what: string, measured: readonly number[], limit?: number): void => {
  const sorted = measured.toSorted((a, b) => a - b);
  const value = quantile(sorted, 0.5);
  const size = Math.ceil(measured.length / PARTS);
  const parts = Array.from({ length: PARTS }, (_, part) => median(measured.slice(part * size, (part + 1) * size))).filter(Number.isFinite);
  const said = `p50 ${figure(value)} µs (${figure(Math.min(...parts))}–${figure(Math.max(...parts))}), p99 ${figure(quantile(sorted, 0.99))} µs`;
  line(what, said, { value, unit: "µs", ...(limit === undefined ? {} : { limit }) });
};

/** How long each single call took, in microseconds, by turns in bursts of `calls`. A first round warms up. */
export const singly = async (
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
