import assert from "node:assert/strict";
import { test } from "node:test";
import { table, visible } from "./output.ts";

test("what others wrote is shown on a terminal, not obeyed", () => {
  assert.equal(visible("tea\u001b[2J\u009b1m\r\u0007 for\ttwo\nplease"), "tea\\u001b[2J\\u009b1m\\u000d\\u0007 for\ttwo\nplease");
  assert.equal(visible("of \u202eeve\u202c\u2066s\u2069"), "of \\u202eeve\\u202c\\u2066s\\u2069");
  assert.equal(visible("Grüße, 日本, שלום\u200f"), "Grüße, 日本, שלום\u200f");
});

test("a table has a row for each, whatever is in a cell", () => {
  const [head, row, ...more] = table(["id", "why"], [["a\u001b[1A", "broken\nin two"]]).split("\n");
  assert.deepEqual([head, row, more], ["id          why", "a\\u001b[1A  broken\\u000ain two", []]);
});
