// Owns: how many crashes an actor may have before it fails: the policy `restart` of its kind. Does not own: the crash itself (turn.ts), starting a
// failed actor again (its parent's turn, or an operator).

/** The window in which crashes are counted if a kind sets none. */
const DEFAULT_WINDOW_MS = 3_600_000;
/** No more crashes are remembered. Without a bound the count is only for people to read. */
const MOST_REMEMBERED = 1_000;

interface CrashBound {
  readonly max: number;
  readonly withinMs: number;
}

/**
 * Whether an actor fails with one more crash, and the times to remember. Pure.
 *
 * | bound | crashes within the window, this one included | then |
 * |---|---|---|
 * | none | any | it continues |
 * | set | at most `max` | it continues |
 * | set | more | it fails, until `restart` |
 */
export function afterCrash(
  times: readonly number[],
  now: number,
  bound: CrashBound | undefined,
): { readonly times: readonly number[]; readonly fails: boolean } {
  const since = now - (bound?.withinMs ?? DEFAULT_WINDOW_MS);
  const within = [...times.filter((at) => at > since).slice(-MOST_REMEMBERED), now];
  return { times: within, fails: bound !== undefined && within.length > bound.max };
}
