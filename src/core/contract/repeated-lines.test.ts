import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bag, Json } from "./json.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { RepeatedLines, withoutRepeats } from "./repeated-lines.ts";

test("what strangers make a door say is one line in 5 s for each reason, with the number of the others", async () => {
  const clock = new SimulatedClock();
  const lines: Json[] = [];
  const log = withoutRepeats((_level, data) => lines.push(data), clock);
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
  assert.equal(withoutRepeats(undefined, clock), undefined);
});

test("a clock that was set back keeps no line back", () => {
  let now = 100_000;
  const lines: Json[] = [];
  const log = withoutRepeats((_level, data) => lines.push(data), { now: () => now });
  log?.("notice", { event: "client-refused" });
  now = 1_000;
  log?.("notice", { event: "client-refused" });
  assert.equal(lines.length, 2);
});

test("faults are one line for each kind, whichever actors and requests they are of", () => {
  const lines = new RepeatedLines({ now: () => 0 });
  const fault = (actor: string, more: Bag = {}): Bag => ({ event: "fault", error: "TypeError", place: "/shop.ts:3:7", actor, ...more });
  assert.notEqual(lines.take(fault("shop/a")), undefined);
  for (let n = 0; n < 1_000; n += 1)
    assert.equal(lines.take(fault(`shop/${n}`, { why: `It is of shop/${n}.`, trace_id: `${n}` })), undefined);
  assert.notEqual(lines.take(fault("shop/a", { place: "/shop.ts:9:1" })), undefined);
  // Damage is of one actor, and there is only so much of it.
  for (const actor of ["shop/a", "shop/b"]) assert.notEqual(lines.take(fault(actor, { code: "STORE_CORRUPT" })), undefined);
});

test("made-up names cannot make more kinds of lines than there is room for", () => {
  let now = 0;
  const lines = new RepeatedLines({ now: () => now });
  const written = (): number =>
    Array.from({ length: 10_000 }, (_, n) => lines.take({ event: "request-failed", method: `made-up/${n}` })).filter(
      (line) => line !== undefined,
    ).length;
  assert.equal(written(), 257);
  now = 5_000;
  assert.equal(written(), 257);
});

test("a line that was limited before brings its count along", () => {
  let now = 0;
  const lines = new RepeatedLines({ now: () => now });
  const line = { event: "request-refused", door: "http" };
  assert.deepEqual(lines.take(line), line);
  now = 4_999;
  assert.equal(lines.take({ ...line, unsaid: 7 }), undefined);
  now = 5_000;
  assert.deepEqual(lines.take({ ...line, unsaid: 2 }), { ...line, unsaid: 10 });
});

test("failed reloads of a developer's saves are all written", () => {
  const lines = new RepeatedLines(new SimulatedClock());
  const failed = { event: "reload-failed", code: "BAD_MODULE" };
  for (let n = 0; n < 3; n += 1) assert.deepEqual(lines.take(failed), failed);
});
