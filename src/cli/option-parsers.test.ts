import assert from "node:assert/strict";
import { test } from "node:test";
import { nonNegative, parseJson, parseUtcTime } from "./option-parsers.ts";

test("days and times are in UTC, and days that the calendar lacks are invalid", () => {
  assert.equal(parseUtcTime("2028-02-29"), Date.UTC(2028, 1, 29));
  assert.equal(parseUtcTime("2026-03-01T10:30Z"), Date.UTC(2026, 2, 1, 10, 30));
  assert.equal(parseUtcTime("2026-02-28T24:00Z"), Date.UTC(2026, 2, 1));
  for (const none of ["2026-02-29", "2026-02-30", "2026-02-31T00:00Z", "2026-13-01", "2026-02-32", "2026-02-28T25:00Z", "today", ""])
    assert.equal(parseUtcTime(none), undefined, none);
});

test("an empty text is no number, so an unset variable turns no limit off", () => {
  assert.deepEqual(["0", "2.5", "200"].map(nonNegative), [0, 2.5, 200]);
  for (const none of ["", " ", "\t", "-1", "x", "Infinity"]) assert.throws(() => nonNegative(none), /a number of 0 or more/, none);
});

test("JSON of the command line is refused if reading it would round an integer", () => {
  for (const text of ['{"n":9007199254740993}', "[1,-12345678901234567890.0]"])
    assert.throws(() => parseJson(text, "--patch", "{}"), {
      message: /^--patch cannot be taken: -?\d+ is an integer that no double holds/,
    });
  // As a state is printed.
  for (const value of [9_007_199_254_740_991, 2 ** 60, 1e22, 0.1]) assert.equal(parseJson(JSON.stringify(value), "--patch", "{}"), value);
});
