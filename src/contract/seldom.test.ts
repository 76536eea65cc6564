import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "./json.ts";
import { SimulatedClock } from "../testing/index.ts";
import { seldom } from "./seldom.ts";

test("what strangers make a door say is one line in 5 s for each reason, with the number of the others", async () => {
  const clock = new SimulatedClock();
  const lines: Json[] = [];
  const log = seldom((_level, data) => lines.push(data), clock);
  const say = (event: string, why: string, times: number): void => {
    for (let n = 0; n < times; n += 1) log?.("notice", { event, why });
  };
  say("request-refused", "no-token", 1_000);
  say("request-refused", "unknown-token", 2);
  say("exchange-failed", "Error", 2);
  await clock.advance(4_999);
  say("request-refused", "no-token", 1);
  assert.deepEqual(lines, [
    { event: "request-refused", why: "no-token" },
    { event: "request-refused", why: "unknown-token" },
    { event: "exchange-failed", why: "Error" },
    { event: "exchange-failed", why: "Error" },
  ]);
  await clock.advance(1);
  say("request-refused", "no-token", 2);
  await clock.advance(5_000);
  say("request-refused", "unknown-token", 1);
  await clock.advance(10_000);
  say("request-refused", "unknown-token", 1);
  assert.deepEqual(lines.slice(4), [
    { event: "request-refused", why: "no-token", unsaid: 1_000 },
    { event: "request-refused", why: "unknown-token", unsaid: 1 },
    { event: "request-refused", why: "unknown-token" },
  ]);
  assert.equal(seldom(undefined, clock), undefined);
});

test("a clock that was set back keeps no line back", () => {
  let now = 100_000;
  const lines: Json[] = [];
  const log = seldom((_level, data) => lines.push(data), { now: () => now, after: () => () => undefined });
  log?.("notice", { event: "client-refused" });
  now = 1_000;
  log?.("notice", { event: "client-refused" });
  assert.equal(lines.length, 2);
});
