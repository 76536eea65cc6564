import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { toJson } from "./to-json.ts";

test("JSON is copied unchanged, and the copy shares nothing writable", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
      const copy = toJson(value, "it");
      assert.equal(JSON.stringify(copy), JSON.stringify(value));
    }),
  );
  const list = [1, { a: 2 }];
  const copy = toJson(list, "it");
  list.push(3);
  assert.deepEqual(copy, [1, { a: 2 }]);
});

test("a deeply frozen value is returned, not copied", () => {
  const frozen = Object.freeze({ a: Object.freeze([1, "x"]) });
  assert.equal(toJson(frozen, "it"), frozen);
  const half = Object.freeze({ a: [1] });
  assert.notEqual(toJson(half, "it"), half);
});

test("an undefined property is left out, an undefined value is null, __proto__ is a key", () => {
  assert.deepEqual(toJson({ a: undefined, b: 1 }, "it"), { b: 1 });
  assert.equal(toJson(undefined, "it"), null);
  const parsed: unknown = JSON.parse('{"__proto__": {"polluted": true}}');
  const copy = toJson(parsed, "it");
  assert.equal(JSON.stringify(copy), '{"__proto__":{"polluted":true}}');
  assert.equal(Reflect.get({}, "polluted"), undefined);
});

test("a value that is not JSON is refused with its path and advice", () => {
  const self: unknown[] = [];
  self.push(self);
  const cases: readonly [unknown, RegExp][] = [
    [{ a: [1, Number.NaN] }, /^reply is not JSON: \/a\/1 is NaN \(use null\)\.$/],
    [Number.POSITIVE_INFINITY, /it is Infinity/],
    [{ when: new Date(0) }, /\/when is a Date/],
    [{ a: 1n }, /\/a is a bigint/],
    [[undefined], /\/0 is undefined \(use null\)/],
    [{ a: () => 1 }, /\/a is a function/],
    [{ a: "\ud800" }, /\/a holds half a character/],
    [{ "\ud800": 1 }, /a name that holds half a character/],
    [new Map(), /it is a Map/],
    [self, /deeper than 1000 levels, or holds itself/],
  ];
  for (const [value, pattern] of cases) assert.throws(() => toJson(value, "reply"), { code: "BAD_TURN", message: pattern });
});

test("a value that shares the same lists too often is refused before all are copied", () => {
  let shared: unknown = [];
  for (let n = 0; n < 40; n += 1) shared = [shared, shared];
  assert.throws(() => toJson(shared, "it"), { code: "BAD_TURN", message: /it holds more than 1000000 lists and objects/ });
});
