/** Crashes are counted for this long where a kind sets no window. */
const COUNTED_MS = 3_600_000;
/** More are not remembered: the count is for people, the bound is smaller. */
const REMEMBERED = 1_000;

export interface Bound {
  readonly max: number;
  readonly withinMs: number;
}

/**
 * What one more crash does to an actor. Pure.
 *
 * | bound | crashes within the window, this one included | then |
 * |---|---|---|
 * | none | any | it goes on |
 * | set | at most `max` | it goes on |
 * | set | more | it fails, until `restart` |
 */
export function afterCrash(
  times: readonly number[],
  now: number,
  bound: Bound | undefined,
): { readonly times: readonly number[]; readonly fails: boolean } {
  const since = now - (bound?.withinMs ?? COUNTED_MS);
  const within = [...times.filter((at) => at > since).slice(-REMEMBERED), now];
  return { times: within, fails: bound !== undefined && within.length > bound.max };
}
