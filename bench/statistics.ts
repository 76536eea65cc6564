/** The median; of an even number of values, the upper of the two middle ones. NaN if there are none. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The quantile at `part`, from 0 to 1. NaN if there are no values. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

/** Whether two measurements differ by at most 5 %. */
export const agree = (one: number, other: number): boolean => Math.abs(one - other) <= 0.05 * Math.max(one, other);

/** The ratio of the first to the second for each round. Ratios are taken within a round, since the machine's speed varies more than most differences. */
export const times = (first: readonly number[], second: readonly number[]): readonly number[] =>
  first.map((value, round) => value / (second[round] ?? Number.NaN));

/** The difference between the first and the second for each round. */
export const beyond = (whole: readonly number[], part: readonly number[]): readonly number[] =>
  whole.map((value, round) => value - (part[round] ?? Number.NaN));
