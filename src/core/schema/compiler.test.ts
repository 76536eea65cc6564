import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Ajv2020 } from "ajv/dist/2020.js";
import { compilerFor } from "./index.ts";
import { withKeywords } from "./compiler.ts";

const SCHEMA = { type: "object", properties: { list: { type: "array", uniqueItems: true } } };
const compiled = (list: object = {}) =>
  withKeywords(new Ajv2020({ strict: false })).compile({ ...SCHEMA, properties: { list: { ...SCHEMA.properties.list, ...list } } });

test("uniqueItems agrees with Ajv, in its errors too", () => {
  const own = compiled();
  const theirs = new Ajv2020({ strict: false }).compile(SCHEMA);
  for (const list of [
    [],
    [1],
    [1, 2, 1],
    [1, "1", true, null, [], {}],
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    [{ a: 1 }, { a: 2 }],
    [{}, { a: null }],
    [
      [1, 2],
      [2, 1],
      [1, 2],
    ],
    [0, -0],
    ["[1]", [1]],
  ]) {
    assert.equal(own({ list }), theirs({ list }), JSON.stringify(list));
    assert.equal(own.errors?.[0]?.instancePath, theirs.errors?.[0]?.instancePath);
    assert.equal(own.errors?.[0]?.keyword, theirs.errors?.[0]?.keyword);
  }
  assert.equal(own({ list: ["a", "b", "c", "b"] }), false);
  assert.equal(own.errors?.[0]?.message, "must NOT have duplicate items (items ## 1 and 3 are identical)");
  assert.equal(compiled({ uniqueItems: false })({ list: [1, 1] }), true);
});

test("uniqueItems reads each item at most twice", () => {
  let looks = 0;
  const list = Array.from({ length: 200 }, (_, at) => ({
    get at() {
      looks += 1;
      return at;
    },
  }));
  assert.equal(compiled()({ list }), true);
  assert.ok(looks <= 2 * list.length, `${looks} looks at ${list.length} items`);
});

const multipleOf = (factor: number): ((value: number) => boolean) => compilerFor({}).compile({ type: "number", multipleOf: factor });

test("multipleOf accepts every decimal multiple and nothing between two of them", () => {
  const isPrice = multipleOf(0.01);
  for (let cents = 0; cents < 10_000; cents += 1) assert.equal(isPrice(Number(`${cents}e-2`)), true, `${cents} cents`);
  const parts = fc.record({
    digits: fc.integer({ min: 1, max: 10_000 }),
    times: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    exponent: fc.integer({ min: -290, max: 290 }),
  });
  fc.assert(
    fc.property(parts, ({ digits, times, exponent }) => {
      const isMultiple = multipleOf(Number(`${digits}e${exponent}`));
      assert.equal(isMultiple(Number(`${digits * times}e${exponent}`)), true);
      // A tenth of the least digit more.
      assert.equal(isMultiple(Number(`${digits * times}1e${exponent - 1}`)), false);
    }),
  );
});

test("multipleOf refuses other values, however small or large", () => {
  for (const [factor, value] of [
    [0.01, 19.995],
    [0.01, 1e-300],
    [0.3, 1],
    [1e-7, 1.5e-7],
    [1e20, 1e19],
    [3, 1e22],
    [7, 0.7],
    [1e-300, 1.5e-300],
    [0.01, Number.MIN_VALUE],
    [0, 1],
  ] as const)
    assert.equal(multipleOf(factor)(value), false, `${value} of ${factor}`);
  for (const [factor, value] of [
    [0.01, -0],
    [1e20, 0],
    [1e-7, 3e-7],
    [0.1, 1e308],
    [5e-324, 1e308],
    [1e20, 3e25],
    [0.3, 0.9],
    [1.1, 3.3],
    [-0.01, 0.05],
  ] as const)
    assert.equal(multipleOf(factor)(value), true, `${value} of ${factor}`);
  const check = compilerFor({}).compile({ properties: { price: { multipleOf: 0.01 } } });
  assert.equal(check({ price: 0.005 }), false);
  assert.deepEqual(
    check.errors?.map(({ keyword, instancePath, message }) => [keyword, instancePath, message]),
    [["multipleOf", "/price", "must be multiple of 0.01"]],
  );
});
