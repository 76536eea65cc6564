import assert from "node:assert/strict";
import { test } from "node:test";
import { nextCronTime, tickOfSetBack } from "./cron.ts";

const BERLIN = "Europe/Berlin";
const ticks = (cron: string, zone: string, after: string, count: number): string[] => {
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count;)
    found.push(new Date((at = nextCronTime(cron, zone, at))).toISOString().slice(0, 16));
  return found;
};

test("cron: weekdays at nine in Berlin, before and after each clock change #actors.wakes.cron", () => {
  assert.deepEqual(ticks("0 9 * * 1-5", BERLIN, "2026-03-27T12:00:00Z", 2), ["2026-03-30T07:00", "2026-03-31T07:00"]);
  assert.deepEqual(ticks("0 9 * * 1-5", BERLIN, "2026-10-23T12:00:00Z", 2), ["2026-10-26T08:00", "2026-10-27T08:00"]);
});

test("cron: a time that the clock skips comes once, when the clock has changed #actors.wakes.cron", () => {
  assert.deepEqual(ticks("30 2 * * *", BERLIN, "2026-03-27T12:00:00Z", 3), ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]);
});

test("cron: a time that the clock skips at the end of a day comes once, too #actors.wakes.cron", () => {
  const nuuk = (cron: string, count: number): string[] => ticks(cron, "America/Nuuk", "2026-03-28T02:00:00Z", count);
  assert.deepEqual(nuuk("45 23 * * *", 2), ["2026-03-29T01:00", "2026-03-30T00:45"]);
  assert.deepEqual(nuuk("30 22,23 * * *", 3), ["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T23:30"]);
  assert.deepEqual(nuuk("45 23 28 3 *", 2), ["2026-03-29T01:00", "2027-03-29T00:45"]);
  // No tick of its own is skipped.
  assert.deepEqual(nuuk("45 23 * * 0", 1), ["2026-03-30T00:45"]);
  assert.deepEqual(nuuk("*/15 23 * * *", 1), ["2026-03-30T00:00"]);
});

test("cron: a time that comes twice counts once, but every hour is every hour #actors.wakes.cron", () => {
  assert.deepEqual(ticks("30 2 * * *", BERLIN, "2026-10-23T12:00:00Z", 3), ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]);
  assert.deepEqual(ticks("30 * * * *", BERLIN, "2026-10-25T00:00:00Z", 3), ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"]);
  assert.deepEqual(ticks("30 * * * *", BERLIN, "2026-03-29T00:00:00Z", 3), ["2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"]);
});

test("cron: lists and ranges of hours and minutes lose and double no tick where the clock changes #actors.wakes.cron", () => {
  for (const [cron, spring, autumn] of [
    ["30 2,14 * * *", ["2026-03-29T01:00", "2026-03-29T12:30"], ["2026-10-25T00:30", "2026-10-25T13:30"]],
    ["0,30 2 * * *", ["2026-03-29T01:00", "2026-03-30T00:00"], ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-26T01:00"]],
    [
      "30 1-3 * * *",
      ["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"],
      ["2026-10-24T23:30", "2026-10-25T00:30", "2026-10-25T02:30"],
    ],
  ] as const) {
    assert.deepEqual(ticks(cron, BERLIN, "2026-03-28T23:00:00Z", spring.length), spring, cron);
    assert.deepEqual(ticks(cron, BERLIN, "2026-10-24T22:00:00Z", autumn.length), autumn, cron);
  }
});

test("cron: steps go by what the clock shows, so they skip and repeat times with it #actors.wakes.cron", () => {
  assert.deepEqual(ticks("*/30 2 * * *", BERLIN, "2026-03-28T23:00:00Z", 1), ["2026-03-30T00:00"]);
  assert.deepEqual(ticks("0 */2 * * *", BERLIN, "2026-10-24T22:00:00Z", 3), ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T03:00"]);
});

test("cron: a timer whose clock was set back fires at the first tick from when it would have, and repeats none #actors.wakes.cron", () => {
  const time = (short: string): number => Date.parse(`2026-06-${short}Z`);
  for (const [cron, at, rang, due, fires] of [
    // The first tick is the one that it waits for.
    ["0 12 * * *", "01T12:00", "01T11:00", "01T09:00", "01T12:00"],
    ["0 12 * * *", "02T12:00", "01T12:00", "01T12:30", "02T12:00"],
    // It need not wait until the clock has caught up.
    ["0 12 * * *", "02T12:00", "02T10:00", "01T10:00", "01T12:00"],
    ["0 * * * *", "01T13:00", "01T12:00", "01T09:30", "01T10:00"],
    // It comes a little after its time, as timers do.
    ["0 * * * *", "01T13:00", "01T12:00", "01T10:00:00.020", "01T10:00"],
    // At twelve it has fired.
    ["0 * * * *", "01T13:00", "01T12:00:00.020", "01T11:30", "01T13:00"],
  ] as const)
    assert.equal(tickOfSetBack(cron, "UTC", time(at), time(rang), time(due)), time(fires), `${cron}, due ${due}`);
});

test("cron: what is no expression, no time zone or never comes is BAD_TURN #actors.wakes.cron", () => {
  for (const [cron, zone, message] of [
    ["", "UTC", /no cron expression/],
    ["0 9 * *", "UTC", /no cron expression: give minute, hour/],
    ["* * * * * *", "UTC", /no cron expression/],
    ["61 * * * *", "UTC", /"61 \* \* \* \*" is no cron expression \(Invalid value for minute: 61\)/],
    ["2026-01-01T00:00:00", "UTC", /no cron expression/],
    [`0 9 * * ${"1,".repeat(500)}1`, "UTC", /no cron expression/],
    ["0 0 30 2 *", "UTC", /never comes/],
    ["0 9 * * *", "Mars/Base", /"Mars\/Base" is no time zone: give an IANA name/],
    ["0 9 * * *", "", /no time zone/],
  ] as const)
    assert.throws(() => nextCronTime(cron, zone, 0), { code: "BAD_TURN", message });
});
