import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { withUniqueItems } from "./unique-items.ts";

const SCHEMA = { type: "object", properties: { list: { type: "array", uniqueItems: true } } };
const compiled = (list: object = {}) =>
  withUniqueItems(new Ajv2020({ strict: false })).compile({ ...SCHEMA, properties: { list: { ...SCHEMA.properties.list, ...list } } });

test("items are the same as Ajv says they are, and told as it tells them", () => {
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

test("no item is compared with all the others", () => {
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
