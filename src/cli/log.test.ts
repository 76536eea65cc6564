import assert from "node:assert/strict";
import { test } from "node:test";
import { forLog, serverLog } from "./log.ts";

void test("a reader that stands still costs bounded memory, and is told afterwards how much it missed", () => {
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

void test("a line's own words are the log's, whatever is told", (context) => {
  const written: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const log = forLog(serverLog("info", true, () => 0, "a"));
  log("info", { event: "audit_log", at: 1_795_674_622_039, level: "mine", node: "mine", name: "notes" });
  context.mock.restoreAll();
  assert.deepEqual(
    written.map((line): unknown => JSON.parse(line)),
    [{ at: "1970-01-01T00:00:00.000Z", node: "a", level: "info", event: "audit_log", name: "notes" }],
  );
});
