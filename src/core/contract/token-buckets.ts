import type { Clock } from "./clock.ts";
import { remembering } from "./remembering.ts";

/** `burst` at once, refilled with `perSecond`. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

// More keys than this at once and those longest not drawn from begin anew with a full bucket: memory stays bounded.
const MAX_BUCKETS = 20_000;

// To look at the clock and to count by it costs a short call more than the rest of this: where there are many tokens, some are
// drawn ahead. When it fills again it lacks as many, so that nobody is let through whom a bucket looked at each time would hold back.
const DRAWN = 16;

interface Bucket {
  tokens: number;
  /** When they were as many. */
  at: number;
  /** How many were drawn ahead then, and how many of those are left. */
  drawn: number;
  left: number;
}

/** Token buckets by key. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a token for that key: 0. Or the whole seconds until there is one. */
  take(key: string, rate: Rate): number {
    const bucket = this.#buckets.get(key) ?? this.#begin(key, rate.burst);
    if (bucket.left === 0) return this.#draw(bucket, rate);
    bucket.left -= 1;
    return 0;
  }

  /** Undoes a `take` of what turned out to be free. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens += 1;
  }

  #draw(bucket: Bucket, { perSecond, burst }: Rate): number {
    const now = this.#clock.now();
    // A clock that was set back says nothing of how long it was.
    if (now < bucket.at) bucket.at = now;
    if (now > bucket.at) {
      bucket.tokens = Math.min(burst - bucket.drawn, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      bucket.at = now;
      // Those are taken, and counted: from now on it fills to the brim.
      bucket.drawn = 0;
    }
    if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / Math.max(perSecond, 0.001)));
    bucket.drawn = bucket.left = Math.min(DRAWN, Math.floor(bucket.tokens / DRAWN));
    bucket.tokens -= 1 + bucket.drawn;
    return 0;
  }

  #begin(key: string, burst: number): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) this.#forgetOldest();
    const bucket = { tokens: burst, at: this.#clock.now(), drawn: 0, left: 0 };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #forgetOldest(): void {
    const stale = [...this.#buckets].toSorted(([, a], [, b]) => a.at - b.at).slice(0, MAX_BUCKETS / 10);
    for (const [key] of stale) this.#buckets.delete(key);
  }
}

const LOCAL: Rate = { perSecond: 20_000, burst: 200_000 };
const REMOTE: Rate = { perSecond: 200, burst: 2_000 };

export const isLocal = remembering((peer) => /^(?:127\.|\[?::1\b|\[?::ffff:127\.|unix|local|stdio|\/)/.test(peer));

/** Where nothing is said. Nobody floods a server over its own loopback by accident of being far away. */
export const defaultRate = (peer: string | undefined): Rate => (peer === undefined || isLocal(peer) ? LOCAL : REMOTE);
