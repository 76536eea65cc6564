import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError, TroupeError } from "../core/contract/index.ts";
import { faultFields, toLog, serverLog, thrownBy } from "./log.ts";

void test("a stalled reader costs bounded memory, and the log then reports how much was dropped", () => {
  const written: unknown[] = [];
  const stderr = { writableLength: 0, write: (text: string) => written.push(JSON.parse(text)) > 0 };
  const log = serverLog("info", true, () => 0, undefined, stderr);
  log("info", "one");
  stderr.writableLength = 64 * 1_048_576;
  log("info", "two");
  log("error", "three");
  stderr.writableLength = 0;
  log("info", "four");
  const at = "1970-01-01T00:00:00.000Z";
  assert.deepEqual(written, [
    { at, level: "info", event: "one" },
    { at, level: "warn", event: "log-unread", unsaid: 2 },
    { at, level: "info", event: "four" },
  ]);
});

void test("fields cannot override the log's own members", (context) => {
  const written: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const log = toLog(serverLog("info", true, () => 0, "a"));
  log("info", { event: "audit_log", at: 1_795_674_622_039, level: "mine", node: "mine", name: "notes" });
  context.mock.restoreAll();
  assert.deepEqual(
    written.map((line): unknown => JSON.parse(line)),
    [{ at: "1970-01-01T00:00:00.000Z", node: "a", level: "info", event: "audit_log", name: "notes" }],
  );
});

test("a fault has its causes and places, and an author's message only in detail", () => {
  const away = Object.assign(new Error("connect ECONNREFUSED secret.example"), { code: "ECONNREFUSED" });
  const thrown = new TypeError("fetch failed", { cause: away });
  const fault = new EngineError("ACTOR_FAILED", "a/b has failed.", { cause: thrown });
  const { cause, ...fields } = faultFields(fault, false);
  assert.deepEqual([fields.error, fields.code, fields.why], ["EngineError", "ACTOR_FAILED", "a/b has failed."]);
  assert.deepEqual([cause?.error, cause?.why, cause?.cause?.code], ["TypeError", undefined, "ECONNREFUSED"]);
  assert.match(cause?.place ?? "", /log\.test\.ts:\d+:\d+$/);
  assert.ok(!JSON.stringify(faultFields(fault, false)).includes("secret.example"));
  assert.equal(faultFields(fault, true).cause?.cause?.why, "connect ECONNREFUSED secret.example");
});

test("Troupe's own message of a cause is included, and circular causes end", () => {
  const mistake = new TroupeError("BAD_DEFINITION", "A state of item does not fit its schema.");
  assert.equal(faultFields(new Error("x", { cause: mistake }), false).cause?.why, "A state of item does not fit its schema.");
  const round = new Error("round");
  round.cause = round;
  assert.ok(JSON.stringify(faultFields(round, false)).length < 2_000);
});

test("the place of a fault is the first line of its stack in the author's files", () => {
  const stack = (...places: readonly string[]): string => `TypeError: No.\n${places.map((place) => `    at run (${place})`).join("\n")}`;
  const placed = (...places: readonly string[]): unknown => {
    const error = new TypeError("No.");
    error.stack = stack(...places);
    return faultFields(error, true).place;
  };
  const troupe = `file://${import.meta.dirname}/main.ts:1:1`;
  assert.equal(placed("file:///app/node_modules/zod/index.js:9:9", troupe, "file:///app/door.ts:3:7"), "file:///app/door.ts:3:7");
  assert.equal(placed(troupe, "file:///app/node_modules/zod/index.js:9:9"), troupe);
  assert.equal(placed(), undefined);
});

test("what author code threw is reported with its text, unless that may contain secrets", () => {
  const thrown = new RangeError("The drawer is full of 4711.");
  assert.equal(thrownBy(thrown, false), "RangeError: The drawer is full of 4711.");
  assert.equal(
    thrownBy(new TroupeError("CRASHED", "till/main crashed", { cause: thrown }), false),
    "RangeError: The drawer is full of 4711.",
  );
  assert.equal(thrownBy(new TroupeError("CRASHED", "till/main crashed"), false), undefined);
  assert.doesNotMatch(thrownBy(thrown, true) ?? "", /4711/);
  assert.equal(thrownBy("jam", false), "a string: jam");
});
