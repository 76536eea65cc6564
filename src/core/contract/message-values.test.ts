import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { isBag, type Json } from "./json.ts";
import { countValues, tooManyValues, VALUE_LIMITS } from "./message-values.ts";

function countedAfterParsing(value: Json): { values: number; members: number; empty: number } {
  const isContainer = typeof value === "object" && value !== null;
  const inside = isContainer ? Object.values(value) : [];
  const counts = inside.map(countedAfterParsing);
  return {
    values: counts.reduce((sum, { values }) => sum + values, 1),
    empty: counts.reduce((sum, { empty }) => sum + empty, isContainer && inside.length === 0 ? 1 : 0),
    members: Math.max(isBag(value) ? inside.length : 0, ...counts.map(({ members }) => members)),
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
    assert.deepEqual(countValues(`{${Array.from({ length: 50 }, () => '"":0').join(",")}}`), { values: 51, members: 50, empty: 0 });
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
