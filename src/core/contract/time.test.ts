import assert from "node:assert/strict";
import { SimulatedClock } from "../../testing/index.ts";
import { settledNow, watchClock } from "./internal.ts";
import { systemEntropy } from "./time.ts";
import { test } from "node:test";

test("the system's entropy returns the requested number of bytes, never the same", () => {
  const seen = new Set<string>();
  // Sizes that end before, at and past the end of what is made at once.
  for (let round = 0; round < 400; round += 1)
    for (const bytes of [16, 8, 255, 32, 256, 16, 257, 1_000]) {
      const hex = systemEntropy.hex(bytes);
      assert.match(hex, /^[0-9a-f]+$/u);
      assert.equal(hex.length, 2 * bytes);
      seen.add(hex);
    }
  assert.equal(seen.size, 400 * 8);
  assert.deepEqual([systemEntropy.hex(0), systemEntropy.hex(2).length], ["", 4]);
});

test("random bytes are never handed out twice", () => {
  const drawn = Array.from({ length: 4_096 }, () => systemEntropy.hex(16));
  const halves = drawn.flatMap((hex) => [hex.slice(0, 16), hex.slice(16)]);
  assert.equal(new Set(halves).size, halves.length);
});

const HOUR = 3_600_000;

test("settled time follows a clock that is never set", async () => {
  const clock = new SimulatedClock();
  assert.equal(settledNow(clock), clock.now());
  await clock.advance(25 * HOUR);
  assert.equal(settledNow(clock), clock.now());
  clock.setForward(4_000);
  assert.equal(settledNow(clock), clock.now(), "a small correction is no jump");
});

test("settled time stays behind a jump forward until it has lasted as long as it is large", async () => {
  const clock = new SimulatedClock();
  const before = settledNow(clock);
  clock.setForward(25 * HOUR);
  assert.equal(settledNow(clock), before);
  await clock.advance(24 * HOUR);
  assert.equal(settledNow(clock), before + 24 * HOUR);
  await clock.advance(HOUR);
  assert.equal(settledNow(clock), clock.now());
});

test("a clock that is set right again at once leaves settled time as it was", async () => {
  const clock = new SimulatedClock();
  const before = settledNow(clock);
  clock.setForward(25 * HOUR);
  settledNow(clock);
  await clock.advance(4_000);
  clock.setBack(25 * HOUR);
  assert.equal(settledNow(clock), before + 4_000);
});

test("a clock that was behind and is set right does not end what was used meanwhile", async () => {
  const clock = new SimulatedClock();
  settledNow(clock);
  clock.setBack(30 * 24 * HOUR);
  const used = settledNow(clock);
  await clock.advance(HOUR);
  clock.setForward(30 * 24 * HOUR);
  assert.equal(settledNow(clock), used + HOUR);
});

test("settled time without a monotonic clock is the wall clock", () => {
  let now = 1;
  const clock = { now: () => now, after: () => () => undefined };
  assert.equal(settledNow(clock), 1);
  now = 1_000_000;
  assert.equal(settledNow(clock), 1_000_000);
});

test("each jump is reported once, soon after it, until the watch ends", async () => {
  const clock = new SimulatedClock();
  const jumps: number[] = [];
  const stop = watchClock(clock, 10_000, (ms) => jumps.push(ms));
  clock.setForward(HOUR);
  await clock.advance(10_000);
  clock.setBack(2 * HOUR);
  await clock.advance(20_000);
  assert.deepEqual(jumps, [HOUR, -2 * HOUR]);
  stop();
  clock.setForward(HOUR);
  await clock.advance(60_000);
  assert.equal(jumps.length, 2);
  assert.equal(clock.pending, 0);
});
