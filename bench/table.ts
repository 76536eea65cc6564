import type { Row } from "./row.ts";
import { line, summarize } from "./row.ts";
import { agree } from "./statistics.ts";
import { isTimeLeft } from "./time-left.ts";

export type { Row } from "./row.ts";

/** Prints a row, or sends it to the parent process (run.ts). */
export const print = (row: Row): void => {
  if (process.send === undefined) console.log(line(row.what, summarize(row)));
  else process.send({ row: row.what, summary: summarize(row) });
};

/** Prints a remark on the figures, such as what could not be measured, or sends it to the parent process. */
export const note = (text: string): void => {
  if (process.send === undefined) console.log(`  ${text}`);
  else process.send({ note: text });
};

/** Calls `act` `count` times in sequence. Returns the mean time in microseconds. */
export const each = async (count: number, act: (n: number) => unknown): Promise<number> => {
  const started = performance.now();
  for (let n = 0; n < count; n += 1) await act(n);
  return ((performance.now() - started) * 1_000) / count;
};

/** The maximal number of bursts of a warm-up, if no two in a row agree. */
const MAX_WARM_UP = 5;
/** The minimal number of rounds, even if a quick run has no time left. */
const MIN_ROUNDS = 3;

/** Runs the bursts in alternation, so that a busy moment of the machine affects all of them. Warms up each burst until two in a row agree. Returns the figures of each burst by round. */
export const rounds = async (count: number, ...bursts: readonly (() => number | Promise<number>)[]): Promise<readonly number[][]> => {
  for (const burst of bursts) await warmUp(burst);
  const figures = bursts.map((): number[] => []);
  for (let round = 0; round < count && (round < MIN_ROUNDS || isTimeLeft()); round += 1)
    for (const [place, burst] of bursts.entries()) figures[place]?.push(await burst());
  return figures;
};

const warmUp = async (burst: () => number | Promise<number>): Promise<void> => {
  let last = await burst();
  for (let n = 1; n < MAX_WARM_UP; n += 1) {
    const value = await burst();
    if (agree(last, value)) return;
    last = value;
  }
};
