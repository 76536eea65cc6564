import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "./index.ts";

test("a simulated clock advances by a non-negative number of milliseconds", async () => {
  const clock = new SimulatedClock(1_000);
  let rings = 0;
  clock.after(10, () => (rings += 1));
  for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY]) await assert.rejects(clock.advance(ms), /not by .*use setBack\(\)/);
  assert.deepEqual([clock.now(), rings], [1_000, 0]);
  await clock.advance(10);
  assert.deepEqual([clock.now(), rings], [1_010, 1]);
  clock.setBack(5);
  assert.equal(clock.now(), 1_005);
});

test("a simulated clock refuses a time that is not a number", () => {
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => new SimulatedClock(ms), /is a number of milliseconds, not/);
    const clock = new SimulatedClock(1_000);
    assert.throws(() => clock.setBack(ms), /is a number of milliseconds, not/);
    assert.throws(() => clock.setForward(ms), /is a number of milliseconds, not/);
    assert.equal(clock.now(), 1_000);
  }
});
