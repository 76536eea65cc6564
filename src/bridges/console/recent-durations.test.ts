import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentDurations } from "./recent-durations.ts";

test("percentiles are right within a tenth", () => {
  const minute = new RecentDurations();
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
  const minute = new RecentDurations();
  minute.add(0, 400, true);
  minute.add(55_000, 2, false);
  assert.equal(minute.figures(55_000).requests, 2);
  assert.deepEqual([minute.figures(65_000).requests, minute.figures(65_000).latencyMs.max], [1, 2]);
  minute.add(61_000, 3, false);
  assert.deepEqual([minute.figures(65_000).requests, minute.figures(65_000).errors, minute.figures(65_000).latencyMs.max], [2, 0, 3]);
  assert.equal(minute.figures(200_000).requests, 0);
});

test("nothing, the shortest and the longest are bounded", () => {
  const minute = new RecentDurations();
  assert.deepEqual(minute.figures(0).latencyMs, { p50: 0, p95: 0, p99: 0, max: 0, count: 0 });
  minute.add(0, 0, false);
  minute.add(0, 3_600_000, false);
  const { latencyMs } = minute.figures(0);
  assert.equal(latencyMs.max, 3_600_000);
  assert.ok(latencyMs.p50 <= 0.01 && latencyMs.p99 > 100_000);
});

test("slots of another length, and of all time, count what fits them", () => {
  const quarter = new RecentDurations(5, 180_000);
  quarter.add(0, 5, false);
  quarter.add(700_000, 7, false);
  assert.equal(quarter.figures(800_000).requests, 2);
  assert.equal(quarter.figures(1_000_000).requests, 1);
  const all = RecentDurations.ofAllTime();
  all.add(0, 5, false);
  all.add(1e12, 7, true);
  assert.deepEqual([all.figures(2e12).requests, all.figures(2e12).errors], [2, 1]);
  assert.equal(RecentDurations.together([all, all]).figures(2e12).requests, 4);
});
