import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { faults } from "./internal.ts";
import { afterCrash, letterReason, thrownText } from "./failures.ts";

test("without a limit crashes never fail an actor", () => {
  let times: readonly number[] = [];
  for (let at = 0; at < 5_000; at += 1) {
    const after = afterCrash(times, at, undefined);
    assert.equal(after.fails, false);
    times = after.times;
  }
  assert.ok(times.length <= 1_001, "a limited number is remembered");
});

test("an actor continues after `max` crashes within the window and fails after one more", () => {
  const bound = { max: 2, withinMs: 100 };
  const one = afterCrash([], 0, bound);
  const two = afterCrash(one.times, 50, bound);
  assert.deepEqual([one.fails, two.fails], [false, false]);
  assert.equal(afterCrash(two.times, 99, bound).fails, true);
  assert.equal(afterCrash(two.times, 100, bound).fails, false, "the first is out of the window");
});

test("an actor fails exactly when more than `max` of its crashes lie within the window #actors.crash-bound", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 40 }), fc.nat(5), fc.integer({ min: 1, max: 300 }), (gaps, max, withinMs) => {
      let now = 0;
      let times: readonly number[] = [];
      const all: number[] = [];
      for (const gap of gaps) {
        now += gap;
        all.push(now);
        const after = afterCrash(times, now, { max, withinMs });
        times = after.times;
        assert.equal(after.fails, all.filter((at) => at > now - withinMs).length > max);
      }
    }),
  );
});

test("why a message is a dead letter: what the author threw and in which turn, at most 1,000 characters of it", () => {
  const reason = (thrown: unknown, secret = false): string =>
    letterReason(faults.crashed("door/main", 7, thrown), "door/main", thrownText(thrown, secret));
  assert.equal(reason(new RangeError("The drawer is full.")), "CRASHED: door/main crashed at event 7: RangeError: The drawer is full.");
  const coded = Object.assign(new Error("It jams."), { code: "JAMMED" });
  assert.equal(reason(coded), "CRASHED: door/main crashed at event 7: Error (JAMMED): It jams.");
  assert.equal(reason("no error"), "CRASHED: door/main crashed at event 7: a string: no error");
  assert.ok(reason(new Error("x".repeat(100_000))).length < 1_100);
  assert.equal(
    letterReason(faults.noActor("door/none"), "door/none", undefined),
    "NO_ACTOR: There is no actor door/none: create it first.",
  );
});

test("what the author threw of secret arguments is named, and its text hidden", () => {
  const text = thrownText(new Error("wrong PIN 4711"), true);
  assert.match(text ?? "", /^Error, whose text is hidden/);
  assert.equal(text?.includes("4711"), false);
});
