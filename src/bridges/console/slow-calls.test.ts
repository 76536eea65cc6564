import assert from "node:assert/strict";
import { test } from "node:test";
import { CallDurations } from "./slow-calls.ts";

test("calls are slow if one in twenty ran a second or longer within a quarter of an hour", () => {
  const calls = new CallDurations();
  for (let n = 0; n < 40; n += 1) calls.add(n, "desk 1.0", "note", n === 7 ? 2_000 : 3);
  for (let n = 0; n < 3; n += 1) calls.add(n, "report 1.0", "count", 1_500);
  for (let n = 0; n < 2; n += 1) calls.add(n, "once 1.0", "count", 9_000);
  const slow = calls.slow(1_000);
  assert.deepEqual(
    slow.map(({ client, tool, calls: many, lastAt }) => [client, tool, many, lastAt]),
    [["report 1.0", "count", 3, 2]],
  );
  assert.ok(Math.abs((slow[0]?.p95Ms ?? 0) - 1_500) < 150);
  assert.deepEqual(calls.slow(1_000_000), []);
});

test("a flood of clients with names of their own is bounded", () => {
  const calls = new CallDurations();
  for (let n = 0; n < 1_000; n += 1) for (let of = 0; of < 3; of += 1) calls.add(0, `client ${n}`, "count", 2_000);
  assert.equal(calls.slow(0).length, 200);
});
