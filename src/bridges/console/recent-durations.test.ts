import assert from "node:assert/strict";
import { test } from "node:test";
import { LastMinute } from "./last-minute.ts";

test("percentiles are right within a tenth", () => {
  const minute = new LastMinute();
  for (let ms = 1; ms <= 1_000; ms += 1) minute.add(5_000, ms, ms > 990);
  const { requests, errors, latencyMs } = minute.figures(6_000);
  assert.deepEqual([requests, errors, latencyMs.count, latencyMs.max], [1_000, 10, 1_000, 1_000]);
  for (const [name, exact] of [
    ["p50", 500],
    ["p95", 950],
    ["p99", 990],
  ] as const)
    assert.ok(latencyMs[name] >= exact && latencyMs[name] <= exact * 1.1, `${name} is ${latencyMs[name]}`);
});

test("what is older than a minute does not count, and its memory is used again", () => {
  const minute = new LastMinute();
  minute.add(0, 400, true);
  minute.add(55_000, 2, false);
  assert.equal(minute.figures(55_000).requests, 2);
  assert.deepEqual([minute.figures(65_000).requests, minute.figures(65_000).latencyMs.max], [1, 2]);
  minute.add(61_000, 3, false);
  assert.deepEqual([minute.figures(65_000).requests, minute.figures(65_000).errors, minute.figures(65_000).latencyMs.max], [2, 0, 3]);
  assert.equal(minute.figures(200_000).requests, 0);
});

test("nothing, the shortest and the longest are bounded", () => {
  const minute = new LastMinute();
  assert.deepEqual(minute.figures(0).latencyMs, { p50: 0, p95: 0, p99: 0, max: 0, count: 0 });
  minute.add(0, 0, false);
  minute.add(0, 3_600_000, false);
  const { latencyMs } = minute.figures(0);
  assert.equal(latencyMs.max, 3_600_000);
  assert.ok(latencyMs.p50 <= 0.01 && latencyMs.p99 > 100_000);
});
