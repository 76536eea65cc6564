import type { Clock } from "./clock.ts";

/** `burst` at once, refilled with `perSecond`. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

// More keys than this at once and the least recently seen begin anew with a full bucket: memory stays bounded.
const MAX_BUCKETS = 20_000;

/** Token buckets by key. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a token for that key: 0. Or the whole seconds until there is one. */
  take(key: string, { perSecond, burst }: Rate): number {
    const now = this.#clock.now();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, at: now };
      if (this.#buckets.size >= MAX_BUCKETS) this.#forgetOldest();
      this.#buckets.set(key, bucket);
    }
    if (now > bucket.at) {
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      bucket.at = now;
    }
    if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / Math.max(perSecond, 0.001)));
    bucket.tokens -= 1;
    return 0;
  }

  #forgetOldest(): void {
    const stale = [...this.#buckets].toSorted(([, a], [, b]) => a.at - b.at).slice(0, MAX_BUCKETS / 10);
    for (const [key] of stale) this.#buckets.delete(key);
  }
}

const LOCAL: Rate = { perSecond: 20_000, burst: 200_000 };
const REMOTE: Rate = { perSecond: 200, burst: 2_000 };

/** Where nothing is said. Nobody floods a server over its own loopback by accident of being far away. */
export const defaultRate = (peer: string | undefined): Rate =>
  peer === undefined || /^(?:127\.|\[?::1\b|\[?::ffff:127\.|unix|local|stdio|\/)/.test(peer) ? LOCAL : REMOTE;
