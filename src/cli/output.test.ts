import assert from "node:assert/strict";
import { test } from "node:test";
import { replayText } from "./commands/replay.ts";
import { table, visible } from "./output.ts";

test("control characters in text from others are escaped on a terminal", () => {
  assert.equal(visible("tea\u001b[2J\u009b1m\r\u0007 for\ttwo\nplease"), "tea\\u001b[2J\\u009b1m\\u000d\\u0007 for\ttwo\nplease");
  assert.equal(visible("of \u202eeve\u202c\u2066s\u2069"), "of \\u202eeve\\u202c\\u2066s\\u2069");
  assert.equal(visible("Grüße, 日本, שלום\u200f"), "Grüße, 日本, שלום\u200f");
});

test("a table has one line per row, whatever a cell contains", () => {
  const [head, row, ...more] = table(["id", "why"], [["a\u001b[1A", "broken\nin two"]]).split("\n");
  assert.deepEqual([head, row, more], ["id          why", "a\\u001b[1A  broken\\u000ain two", []]);
});

test("a replay is reported in sentences, with singular and plural", () => {
  assert.equal(
    replayText("turn", { run: 1, differ: 0, taken: { work: 0, version: 1 } }),
    "1 turn was run again and gave what is recorded. 1 other event was not run again: 1 was written by another version of the kind.",
  );
  assert.equal(
    replayText("turn", { run: 3, differ: 0, taken: { work: 2, version: 0, erased: 1 } }),
    "3 turns were run again and all gave what is recorded. 3 other events were not run again: 2 are work, which is not repeated; 1 is erased, or follows an erased one.",
  );
  assert.equal(replayText("turn", { run: 3, differ: 1, taken: {} }), "3 turns were run again, and 1 differs from the record.");
  assert.equal(replayText("call", { run: 2, differ: 2, taken: {} }), "2 calls were run again, and 2 differ from the record.");
  assert.equal(
    replayText("call", { run: 0, differ: 0, taken: { other: 2, lost: 1 } }),
    "No call was run again. 3 events were not run again: 2 ran no guest; 1 did not record how its call ended.",
  );
});
