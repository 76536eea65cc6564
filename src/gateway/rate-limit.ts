import type { Caller, Clock } from "../contract/index.ts";
import { Fault } from "./errors.ts";
import type { Rate } from "./options.ts";

const LOCAL: Rate = { perSecond: 20_000, burst: 200_000 };
const REMOTE: Rate = { perSecond: 200, burst: 2_000 };

// More keys than this at once and the least recently seen begin anew with a full bucket: memory stays bounded.
const MAX_BUCKETS = 20_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Takes a token for that key or throws `RATE`. */
export type TakeToken = (key: string, caller: Caller) => void;

// Nobody floods a server over its own loopback by accident of being far away.
function isLocal(peer: string | undefined): boolean {
  return peer === undefined || /^(?:127\.|\[?::1\b|\[?::ffff:127\.|unix|local|stdio|\/)/.test(peer);
}

/** Token buckets by key. Without a rate of its own, local peers have a looser one than others; `false`: none. */
export function rateLimiter(rate: Rate | false | undefined, clock: Clock): TakeToken {
  if (rate === false) return () => undefined;
  const buckets = new Map<string, Bucket>();
  return (key, caller) => {
    const { perSecond, burst } = rate ?? (isLocal(caller.peer) ? LOCAL : REMOTE);
    const now = clock.now();
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, at: now };
      if (buckets.size >= MAX_BUCKETS) forgetOldest(buckets);
      buckets.set(key, bucket);
    }
    if (now > bucket.at) {
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      bucket.at = now;
    }
    if (bucket.tokens < 1) {
      const waitS = Math.max(1, Math.ceil((1 - bucket.tokens) / Math.max(perSecond, 0.001)));
      throw new Fault("RATE", `Too many requests; try again in ${waitS} s.`, {
        data: { retryAfterMs: waitS * 1_000 },
        headers: { "retry-after": String(waitS) },
      });
    }
    bucket.tokens -= 1;
  };
}

function forgetOldest(buckets: Map<string, Bucket>): void {
  const stale = [...buckets].toSorted(([, a], [, b]) => a.at - b.at).slice(0, MAX_BUCKETS / 10);
  for (const [key] of stale) buckets.delete(key);
}
