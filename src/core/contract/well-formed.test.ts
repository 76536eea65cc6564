import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { wellFormed } from "./well-formed.ts";

const BROKEN = [
  "\ud83d",
  "\udca9",
  "a\ud83db",
  "\udca9\ud83d",
  "\\\ud83d",
  "\\ud83d",
  "\\\\ud83d",
  '"\ud83d"',
  "\ud83d\ud83d\udca9",
  "\ud83d\\ude00",
];

test("wellFormed replaces unpaired surrogates in JSON text by U+FFFD and leaves the rest", () => {
  for (const text of BROKEN) assert.equal(JSON.parse(wellFormed(JSON.stringify(text))), text.toWellFormed());
  const units = fc.string({
    unit: fc.constantFrom("\\", "u", "d", "8", "3", '"', "\ud83d", "\udca9", "💩", "\\ud83d", "\ud7ff", "\ue000"),
    maxLength: 30,
  });
  fc.assert(
    fc.property(units, (text) => assert.equal(JSON.parse(wellFormed(JSON.stringify(text))), text.toWellFormed())),
    { numRuns: 5_000 },
  );
});

test("wellFormed leaves text that only quotes an escape, and escaped pairs, as they are", () => {
  for (const text of ['{"a":"\\\\ud83d"}', '{"a":"\\ud83d\\ude00"}', '{"a":"\\ud55c"}', "{}", '{"a":"💩"}'])
    assert.equal(wellFormed(text), text);
});

test("wellFormed leaves no two members of one name", () => {
  const text = JSON.stringify({ a: [{ "\ud83d": 1, "\ud83e": 2 }], ["__proto__"]: 3 });
  assert.equal(wellFormed(text), '{"a":[{"\ufffd":2}],"__proto__":3}');
});

test("wellFormed takes time in proportion to the text, whatever backslashes it has", () => {
  const text = JSON.stringify("\\".repeat(1_000_000) + "ud83d".repeat(100) + "\ud83d");
  assert.equal(wellFormed(text).length, text.length - 5);
});
