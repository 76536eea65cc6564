/** The middle of them; of an even number the upper of the two. NaN of none. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The value that `part` (0 to 1) of all lie below. NaN of none. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

/** Whether two measurements of the same differ by at most 5 %. */
export const agree = (one: number, other: number): boolean => Math.abs(one - other) <= 0.05 * Math.max(one, other);

/** Round by round, how many times the second the first is. Only such pairs count: the machine moves by more than most differences. */
export const times = (first: readonly number[], second: readonly number[]): readonly number[] =>
  first.map((value, round) => value / (second[round] ?? Number.NaN));

/** What the first takes beyond the second, round by round. */
export const beyond = (whole: readonly number[], part: readonly number[]): readonly number[] =>
  whole.map((value, round) => value - (part[round] ?? Number.NaN));
