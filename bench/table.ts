import { median } from "./load.ts";

export interface Row {
  readonly what: string;
  /** One figure a round. */
  readonly measured: readonly number[];
  readonly unit: "µs" | "ms" | "bytes";
  /** The most the median may be. */
  readonly target: number;
  readonly spec: string;
}

const figure = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 1 ? 3 : 2));

/** A line: what it is, median, least and most of what was measured, what it was to be, what the spec has. */
export const print = ({ what, measured, unit, target, spec }: Row): void => {
  const middle = median(measured);
  const range = `${figure(middle)} ${unit} (${figure(Math.min(...measured))}–${figure(Math.max(...measured))})`;
  console.log(`${what.padEnd(76)} ${range.padEnd(28)} target ${target} ${unit}, spec ${spec}${middle <= target ? "" : "  OVER"}`);
};

/** Microseconds of each of `count`, one after the other. */
export const each = async (count: number, act: (n: number) => unknown): Promise<number> => {
  const started = performance.now();
  for (let n = 0; n < count; n += 1) await act(n);
  return ((performance.now() - started) * 1_000) / count;
};

/** Bursts by turns, so that a busy moment of the machine hits all alike: for each burst a figure a round. A first round warms up. */
export const rounds = async (count: number, ...bursts: readonly (() => number | Promise<number>)[]): Promise<readonly number[][]> => {
  const figures = bursts.map((): number[] => []);
  for (let round = 0; round <= count; round += 1)
    for (const [place, burst] of bursts.entries()) {
      const value = await burst();
      if (round > 0) figures[place]?.push(value);
    }
  return figures;
};

/** What the first takes beyond the second, round by round. */
export const beyond = (whole: readonly number[], part: readonly number[]): readonly number[] =>
  whole.map((value, round) => value - (part[round] ?? Number.NaN));
