import assert from "node:assert/strict";
import { test } from "node:test";
import { table, visible } from "./output.ts";

test("what others wrote is shown on a terminal, not obeyed", () => {
  assert.equal(visible("tea\u001b[2J\u009b1m\r\u0007 for\ttwo\nplease"), "tea\\u001b[2J\\u009b1m\\u000d\\u0007 for\ttwo\nplease");
  assert.equal(visible("Grüße, 日本"), "Grüße, 日本");
});

test("a table has a row for each, whatever is in a cell", () => {
  const [head, row, ...more] = table(["id", "why"], [["a\u001b[1A", "broken\nin two"]]).split("\n");
  assert.deepEqual([head, row, more], ["id          why", "a\\u001b[1A  broken\\u000ain two", []]);
});
