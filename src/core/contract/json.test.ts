import assert from "node:assert/strict";
import * as fc from "fast-check";
import { countValues, freezeDeep, isJsonObject, type Json, tooManyValues, VALUE_LIMITS, roundingIssue, wellFormed } from "./json.ts";
import { describe, test } from "node:test";

test("freezeDeep freezes cyclic, shared and half-frozen values, and leaves other objects alone", () => {
  const half = Object.freeze({ items: [[1]], more: { n: 1 } });
  freezeDeep(half);
  assert.ok(Object.isFrozen(half.items) && Object.isFrozen(half.items[0]) && Object.isFrozen(half.more));
  const self: Record<string, unknown> = { open: { n: 1 } };
  self["again"] = Object.freeze([self, self]);
  freezeDeep(self);
  assert.ok(Object.isFrozen(self) && Object.isFrozen(self["open"]));
  let shared: readonly unknown[] = Object.freeze([]);
  for (let level = 0; level < 100; level += 1) shared = Object.freeze([shared, shared]);
  freezeDeep(shared);
  const other = { bytes: new Uint8Array([1]), at: new Date(0) };
  freezeDeep(other);
  assert.ok(Object.isFrozen(other) && !Object.isFrozen(other.at));
  for (const simple of [null, 1, "x", undefined]) freezeDeep(simple);
});

function countedAfterParsing(value: Json): ReturnType<typeof countValues> {
  const isContainer = typeof value === "object" && value !== null;
  const inside = isContainer ? Object.values(value) : [];
  const counts = inside.map(countedAfterParsing);
  return {
    values: counts.reduce((sum, { values }) => sum + values, 1),
    empty: counts.reduce((sum, { empty }) => sum + empty, isContainer && inside.length === 0 ? 1 : 0),
    members: Math.max(isJsonObject(value) ? inside.length : 0, ...counts.map(({ members }) => members)),
  };
}

describe("counting the values of a message", () => {
  test("counting without parsing agrees with counting after parsing", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, "\t\n\r "), (json, indent) => {
        const parsed: Json = JSON.parse(json);
        const text = JSON.stringify(parsed, undefined, indent);
        assert.deepEqual(countValues(text), countedAfterParsing(parsed));
        assert.deepEqual(countValues(Buffer.from(text)), countedAfterParsing(parsed));
      }),
    );
  });

  test("members of equal names are counted each", () => {
    assert.deepEqual(countValues(`{${Array.from({ length: 50 }, () => '"":0').join(",")}}`), {
      values: 51,
      members: 50,
      empty: 0,
    });
  });

  test("any text is counted, whether or not it is JSON", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('[]{},:"\\0 \u0122\ud800')) }), (text) => {
        assert.ok(countValues(text).values <= 2 * text.length + 1);
        tooManyValues(text, { values: 2, members: 1 });
      }),
    );
  });

  test("a message may hold as many values and members as the limits say, and no more", () => {
    const limits = { values: 100, members: 10 };
    const list = (length: number) => JSON.stringify(Array.from({ length }, () => 0));
    assert.equal(tooManyValues(list(99), limits), undefined);
    assert.equal(tooManyValues(list(100), limits), "A message may hold 100 values");
    const object = (length: number) => JSON.stringify(Object.fromEntries(Array.from({ length }, (_, n) => [`k${n}`, n])));
    assert.equal(tooManyValues(object(10), limits), undefined);
    assert.equal(tooManyValues(object(11), limits), "An object may have 10 members");
    assert.equal(tooManyValues(`[${object(10)},${object(10)}]`, limits), undefined);
    assert.equal(tooManyValues(`{"a":${object(11)}}`, limits), "An object may have 10 members");
  });

  test("no text that exceeds a limit is too short to be counted", () => {
    const shortest = (length: number) => `{${Array.from({ length }, () => '"":0').join(",")}}`;
    assert.notEqual(tooManyValues(shortest(VALUE_LIMITS.members + 1), VALUE_LIMITS), undefined);
    assert.notEqual(tooManyValues(`[${"0,".repeat(VALUE_LIMITS.values - 1)}0]`, VALUE_LIMITS), undefined);
    assert.notEqual(tooManyValues(`[${"[],".repeat(VALUE_LIMITS.values - 1)}[]]`, VALUE_LIMITS), undefined);
  });
});

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

test("roundingIssue names the integer that a reader would round, and none that is text or exact", () => {
  for (const text of ['{"to":9007199254740993}', "[-12345678901234567890, 1]", '{"a":{"b":[9007199254740993.0 ]}}'])
    assert.match(roundingIssue(text) ?? "", /^-?\d{16,20} is an integer that no double holds/, text);
  for (const text of ['{"to":9007199254740992}', '{"to":"9007199254740993"}', '{"to":"a, 9007199254740993 ,"}', "[1e300]", "{}"])
    assert.equal(roundingIssue(text), undefined, text);
});
