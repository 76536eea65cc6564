import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, constant, constantFrom, integer, oneof, property, record } from "fast-check";
import { type Rate, TokenBuckets } from "./token-buckets.ts";

/** One bucket, as it is defined: looked at for each token. */
class Exact {
  tokens: number;
  #at = 0;
  readonly #rate: Rate;

  constructor(rate: Rate) {
    this.tokens = rate.burst;
    this.#rate = rate;
  }

  take(now: number): boolean {
    const { perSecond, burst } = this.#rate;
    this.tokens = Math.min(burst, this.tokens + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}

const clockAt = (at: { now: number }) => ({ now: () => at.now, after: () => () => undefined });
// What is a power of two sums up without an error.
const waits = array(
  oneof(
    constant(0),
    integer({ min: 1, max: 64 }).map((n) => n * 31.25),
    constant(1e7),
  ),
  { minLength: 30, maxLength: 200 },
);
const rateUpTo = (burst: number) => record({ perSecond: constantFrom(0.5, 2, 16, 256), burst: integer({ min: 1, max: burst }) });

test("nobody is let through whom a bucket looked at for each token would hold back, and it holds back no more than a sixteenth earlier", () =>
  check(
    property(rateUpTo(2_000), waits, (rate, gaps) => {
      const at = { now: 0 };
      const [buckets, exact] = [new TokenBuckets(clockAt(at)), new Exact(rate)];
      for (const gap of gaps) {
        at.now += gap;
        for (let n = 0; n < 40; n += 1) {
          if (buckets.take("a", rate) === 0) assert.equal(exact.take(at.now), true);
          else {
            // Its own refusal takes nothing.
            const left = exact.take(at.now) ? exact.tokens + 1 : exact.tokens;
            exact.tokens = left;
            assert.ok(left < 1 + Math.min(16, rate.burst / 16), `${left} of ${rate.burst} were left`);
          }
        }
      }
    }),
  ));

test("a bucket of few tokens is that bucket", () =>
  check(
    property(rateUpTo(15), waits, (rate, gaps) => {
      const at = { now: 0 };
      const [buckets, exact] = [new TokenBuckets(clockAt(at)), new Exact(rate)];
      for (const gap of gaps) {
        at.now += gap;
        assert.equal(buckets.take("a", rate) === 0, exact.take(at.now));
      }
    }),
  ));

test("one that is empty says in how many seconds there is a token, which is then there", () => {
  const at = { now: 0 };
  const buckets = new TokenBuckets(clockAt(at));
  const rate = { perSecond: 0.25, burst: 3 };
  assert.deepEqual(
    [1, 2, 3, 4].map(() => buckets.take("a", rate)),
    [0, 0, 0, 4],
  );
  assert.equal(buckets.take("b", rate), 0, "each key has its own");
  at.now = 3_000;
  assert.equal(buckets.take("a", rate), 1);
  at.now = 4_000;
  assert.deepEqual([buckets.take("a", rate), buckets.take("a", rate)], [0, 4]);
});

test("where there are many tokens the clock is looked at for one in seventeen", () => {
  let looks = 0;
  const clock = { ...clockAt({ now: 0 }), now: () => (looks += 1) };
  const buckets = new TokenBuckets(clock);
  for (let n = 0; n < 1_700; n += 1) assert.equal(buckets.take("a", { perSecond: 1, burst: 10_000 }), 0);
  assert.equal(looks, 101);
});

test("a key whose rate becomes a smaller one has tokens of that", () => {
  const at = { now: 0 };
  const buckets = new TokenBuckets(clockAt(at));
  for (let n = 0; n < 17; n += 1) assert.equal(buckets.take("a", { perSecond: 100, burst: 1_000 }), 0);
  const small = { perSecond: 1, burst: 10 };
  at.now = 1_000;
  assert.ok(buckets.take("a", small) > 0);
  at.now = 60_000;
  const taken = Array.from({ length: 12 }, () => buckets.take("a", small));
  assert.deepEqual(taken, [...Array.from({ length: 10 }, () => 0), 1, 1]);
});

test("a clock that was set back holds nobody back", () => {
  const at = { now: 3_600_000 };
  const buckets = new TokenBuckets(clockAt(at));
  const rate = { perSecond: 1, burst: 2 };
  assert.deepEqual(
    [1, 2, 3].map(() => buckets.take("a", rate)),
    [0, 0, 1],
  );
  at.now = 0;
  assert.equal(buckets.take("a", rate), 1);
  at.now = 1_000;
  assert.equal(buckets.take("a", rate), 0);
});
