import { type Caller, type Clock, defaultRate, type Rate, TokenBuckets } from "../../core/contract/index.ts";
import { Fault } from "./errors.ts";

/** Takes a token for that key or throws `RATE`. */
export type TakeToken = (key: string, caller: Caller) => void;

/** Token buckets by key. Without a rate of its own, local peers have a looser one than others; `false`: none. */
export function rateLimiter(rate: Rate | false | undefined, clock: Clock): TakeToken {
  if (rate === false) return () => undefined;
  const buckets = new TokenBuckets(clock);
  return (key, caller) => {
    const waitS = buckets.take(key, rate ?? defaultRate(caller.peer));
    if (waitS > 0)
      throw new Fault("RATE", `Too many requests; try again in ${waitS} s.`, {
        data: { retryAfterMs: waitS * 1_000 },
        headers: { "retry-after": String(waitS) },
      });
  };
}
