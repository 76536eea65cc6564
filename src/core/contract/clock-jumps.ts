/**
 * Jumps of the wall clock, found by comparing it with the monotonic one.
 *
 * A clock that is wrong for a moment must not end actors and sessions or forget keys, which cannot be undone. So such decisions use
 * `settledNow`: after a jump forward it stays behind by the size of the jump, until the new time has lasted as long.
 */
import type { Clock } from "./clock.ts";
import { memoize } from "./memoize.ts";

/** NTP corrects by less all the time, and by slewing both clocks. */
const SMALLEST_JUMP_MS = 5_000;

class ClockJumps {
  readonly listeners = new Set<(ms: number) => void>();
  readonly #clock: Clock;
  /** Wall time less monotonic time: constant as long as nobody sets the clock. */
  #offset: number | undefined;
  #heldBackMs = 0;
  #jumpedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  settledNow(): number {
    const now = this.#clock.now();
    const elapsed = this.#clock.elapsed?.();
    if (elapsed === undefined) return now;
    const jump = this.#offset === undefined ? 0 : now - elapsed - this.#offset;
    this.#offset = now - elapsed;
    if (Math.abs(jump) >= SMALLEST_JUMP_MS) {
      this.#heldBackMs = Math.max(0, this.#heldBackMs + jump);
      this.#jumpedAt = elapsed;
      for (const listener of this.listeners) listener(jump);
    } else if (elapsed - this.#jumpedAt >= this.#heldBackMs) this.#heldBackMs = 0;
    return now - this.#heldBackMs;
  }
}

const jumpsOf = memoize((clock: Clock) => new ClockJumps(clock));

/** The time for decisions that cannot be undone: `now()`, or earlier by the size of a jump forward that has not lasted as long yet. */
export const settledNow = (clock: Clock): number => jumpsOf(clock).settledNow();

/** Calls back with each jump in milliseconds, negative for one back, at most `everyMs` after it. Returns its undo. */
export function watchClock(clock: Clock, everyMs: number, onJump: (ms: number) => void): () => void {
  const jumps = jumpsOf(clock);
  jumps.listeners.add(onJump);
  const look = (): (() => void) =>
    clock.after(everyMs, () => {
      jumps.settledNow();
      undo = look();
    });
  jumps.settledNow();
  let undo = look();
  return () => {
    undo();
    jumps.listeners.delete(onJump);
  };
}
