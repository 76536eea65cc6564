import type { Row } from "./row.ts";
import { line, summarize } from "./row.ts";
import { agree } from "./statistics.ts";
import { isTimeLeft } from "./time-left.ts";

export type { Row } from "./row.ts";

/** A row of the one table that all benches share: of whoever runs this bench, or of this terminal. */
export const print = (row: Row): void => {
  if (process.send === undefined) console.log(line(row.what, summarize(row)));
  else process.send({ row: row.what, summary: summarize(row) });
};

/** What is to be said beside the figures: what could not be measured here, and why. */
export const note = (text: string): void => {
  if (process.send === undefined) console.log(`  ${text}`);
  else process.send({ note: text });
};

/** Microseconds of each of `count`, one after the other. */
export const each = async (count: number, act: (n: number) => unknown): Promise<number> => {
  const started = performance.now();
  for (let n = 0; n < count; n += 1) await act(n);
  return ((performance.now() - started) * 1_000) / count;
};

/** A warm-up that finds no two bursts alike ends all the same. */
const MOST_WARM = 5;
/** Of each there are so many figures at least, also where a quick run has no time left. */
const LEAST_ROUNDS = 3;

/** Bursts by turns, so that a busy moment of the machine hits all alike: for each burst a figure a round, once two of it in a row agreed. */
export const rounds = async (count: number, ...bursts: readonly (() => number | Promise<number>)[]): Promise<readonly number[][]> => {
  for (const burst of bursts) await warmed(burst);
  const figures = bursts.map((): number[] => []);
  for (let round = 0; round < count && (round < LEAST_ROUNDS || isTimeLeft()); round += 1)
    for (const [place, burst] of bursts.entries()) figures[place]?.push(await burst());
  return figures;
};

const warmed = async (burst: () => number | Promise<number>): Promise<void> => {
  let last = await burst();
  for (let n = 1; n < MOST_WARM; n += 1) {
    const value = await burst();
    if (agree(last, value)) return;
    last = value;
  }
};
