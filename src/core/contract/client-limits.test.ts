import assert from "node:assert/strict";
import { SimulatedClock } from "../../testing/index.ts";
import type { Caller } from "./channel.ts";
import type { JsonObject, Json } from "./json.ts";
import { InFlightMemoryBudget, isLarge, peerOf, type Rate, RateLimitedLines, TokenBuckets, rateLimitedLog } from "./client-limits.ts";
import { array, assert as check, constant, constantFrom, integer, oneof, property, record } from "fast-check";
import { describe, it, test } from "node:test";

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

test("a bucket lets nothing through that one reading the clock for each token would refuse, and refuses no more than a sixteenth earlier", () =>
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

test("a bucket of few tokens behaves exactly like one reading the clock each time", () =>
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

test("an empty bucket returns the seconds until the next token, which is then available", () => {
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

test("a full bucket reads the clock for one take in seventeen", () => {
  let looks = 0;
  const clock = { ...clockAt({ now: 0 }), now: () => (looks += 1) };
  const buckets = new TokenBuckets(clock);
  for (let n = 0; n < 1_700; n += 1) assert.equal(buckets.take("a", { perSecond: 1, burst: 10_000 }), 0);
  assert.equal(looks, 101);
});

test("a key whose rate decreases has tokens of the new rate", () => {
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

test("a clock that was set back delays no token", () => {
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

const ada = { principal: "ada", scopes: [] };
const bob = { principal: "bob", scopes: [] };
const full = (): Error => new RangeError("full");
const text = (length: number): string => JSON.stringify("x".repeat(length - 2));

/** Runs until the returned function is called. */
function held(messages: InFlightMemoryBudget, message: string | Uint8Array, caller: Caller = ada): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const during = messages.during(message, caller, () => promise);
  return async () => {
    resolve();
    await during;
  };
}

describe("messages that are being worked on", () => {
  it("have half of the room for one caller, and together all of it", async () => {
    const messages = new InFlightMemoryBudget(40_000, full);
    const ends = [held(messages, text(10_000)), held(messages, text(10_000))];
    assert.throws(() => held(messages, text(5_000)), RangeError);
    ends.push(held(messages, text(15_000), bob));
    assert.throws(() => held(messages, text(10_000), { principal: "eve", scopes: [] }), RangeError);
    for (const end of ends) await end();
    for (const caller of [ada, bob]) await held(messages, text(20_000), caller)();
  });

  it("are let go when they end at once, fail at once or fail later", async () => {
    const messages = new InFlightMemoryBudget(10_000, full);
    const broken = (): never => {
      throw new TypeError("broken");
    };
    for (let round = 0; round < 5; round += 1) {
      assert.equal(
        messages.during(text(5_000), ada, () => round),
        round,
      );
      assert.throws(() => messages.during(text(5_000), ada, broken), TypeError);
      await assert.rejects(async () => messages.during(text(5_000), ada, async () => broken()), TypeError);
    }
  });

  it("are counted per peer where the caller has no principal", async () => {
    const messages = new InFlightMemoryBudget(20_000, full);
    const here = { peer: "192.0.2.1", scopes: [] };
    const end = held(messages, text(10_000), here);
    assert.throws(() => held(messages, text(5_000), here), RangeError);
    await held(messages, text(5_000), { peer: "192.0.2.2", scopes: [] })();
    await end();
  });

  it("may be longer than all the room, one at a time", async () => {
    const messages = new InFlightMemoryBudget(1_000, full);
    const end = held(messages, text(5_000));
    assert.throws(() => held(messages, text(5_000), bob), RangeError);
    await end();
    await held(messages, text(5_000), bob)();
  });

  it("count for what they take once they are read, whatever their texts say", async () => {
    const many = JSON.stringify({ junk: Array.from({ length: 2_000 }, () => ({})) });
    const quoted = JSON.stringify({ text: `\\"${"[{,".repeat(2_000)}"` });
    for (const one of [many, Buffer.from(many)]) {
      const messages = new InFlightMemoryBudget(200_000, full);
      const end = held(messages, one);
      assert.throws(() => held(messages, text(5_000)), RangeError);
      await end();
    }
    const messages = new InFlightMemoryBudget(200_000, full);
    const ends = Array.from({ length: 10 }, () => held(messages, quoted));
    for (const end of ends) await end();
  });

  it("are those that are long", () => {
    assert.equal(isLarge(text(4_096)), false);
    assert.equal(isLarge(Buffer.from(text(4_097))), true);
  });
});

test("peerOf returns an IPv4 address, and the /64 network of an IPv6 address", () => {
  const same: readonly (readonly [address: string, peer: string])[] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:2:ffff::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["local", "local"],
    ["unix:/run/troupe.sock", "unix:/run/troupe.sock"],
  ];
  for (const [address, peer] of same) assert.equal(peerOf(address), peer, address);
  assert.notEqual(peerOf("2001:db8:1:2::1"), peerOf("2001:db8:1:3::1"));
  assert.equal(peerOf(undefined), "");
});

test("lines that clients cause are one per reason every 5 s, with the number dropped", async () => {
  const clock = new SimulatedClock();
  const lines: Json[] = [];
  const log = rateLimitedLog((_level, data) => lines.push(data), clock);
  const say = (event: string, why: string, times: number): void => {
    for (let n = 0; n < times; n += 1) log?.("notice", { event, why });
  };
  say("request-refused", "no-token", 1_000);
  say("request-refused", "unknown-token", 2);
  say("exchange-failed", "Error", 2);
  say("handler", "written by an author", 2);
  await clock.advance(4_999);
  say("request-refused", "no-token", 1);
  assert.deepEqual(lines, [
    { event: "request-refused", why: "no-token" },
    { event: "request-refused", why: "unknown-token" },
    { event: "exchange-failed", why: "Error" },
    { event: "handler", why: "written by an author" },
    { event: "handler", why: "written by an author" },
  ]);
  await clock.advance(1);
  say("request-refused", "no-token", 2);
  await clock.advance(5_000);
  say("request-refused", "unknown-token", 1);
  await clock.advance(10_000);
  say("request-refused", "unknown-token", 1);
  assert.deepEqual(lines.slice(5), [
    { event: "request-refused", why: "no-token", unsaid: 1_000 },
    { event: "request-refused", why: "unknown-token", unsaid: 1 },
    { event: "request-refused", why: "unknown-token" },
  ]);
  assert.equal(rateLimitedLog(undefined, clock), undefined);
});

test("a clock that was set back drops no line", () => {
  let now = 100_000;
  const lines: Json[] = [];
  const log = rateLimitedLog((_level, data) => lines.push(data), { now: () => now });
  log?.("notice", { event: "client-refused" });
  now = 1_000;
  log?.("notice", { event: "client-refused" });
  assert.equal(lines.length, 2);
});

test("faults are one line for each kind, whichever actors and requests they are of", () => {
  const lines = new RateLimitedLines({ now: () => 0 });
  const fault = (actor: string, more: JsonObject = {}): JsonObject => ({
    event: "fault",
    error: "TypeError",
    place: "/shop.ts:3:7",
    actor,
    ...more,
  });
  assert.notEqual(lines.take(fault("shop/a")), undefined);
  for (let n = 0; n < 1_000; n += 1)
    assert.equal(lines.take(fault(`shop/${n}`, { why: `It is of shop/${n}.`, trace_id: `${n}` })), undefined);
  assert.notEqual(lines.take(fault("shop/a", { place: "/shop.ts:9:1" })), undefined);
  // Damage is of one actor, and there is only so much of it.
  for (const actor of ["shop/a", "shop/b"]) assert.notEqual(lines.take(fault(actor, { code: "STORE_CORRUPT" })), undefined);
});

test("made-up names cannot make more kinds of lines than there is room for", () => {
  let now = 0;
  const lines = new RateLimitedLines({ now: () => now });
  const written = (): number =>
    Array.from({ length: 10_000 }, (_, n) => lines.take({ event: "request-failed", method: `made-up/${n}` })).filter(
      (line) => line !== undefined,
    ).length;
  assert.equal(written(), 257);
  now = 5_000;
  assert.equal(written(), 257);
});

test("a line that was rate-limited before adds its own count", () => {
  let now = 0;
  const lines = new RateLimitedLines({ now: () => now });
  const line = { event: "request-refused", transport: "http" };
  assert.deepEqual(lines.take(line), line);
  now = 4_999;
  assert.equal(lines.take({ ...line, unsaid: 7 }), undefined);
  now = 5_000;
  assert.deepEqual(lines.take({ ...line, unsaid: 2 }), { ...line, unsaid: 10 });
});

test("failed reloads are never rate-limited", () => {
  const lines = new RateLimitedLines(new SimulatedClock());
  const failed = { event: "reload-failed", code: "BAD_MODULE" };
  for (let n = 0; n < 3; n += 1) assert.deepEqual(lines.take(failed), failed);
});
