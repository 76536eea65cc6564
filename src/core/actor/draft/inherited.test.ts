import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeDeep } from "../../contract/internal.ts";
import { openDraft } from "./index.ts";

type Rows = Record<string, Record<string, unknown> | undefined>;

const KEYS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "__defineGetter__", "isPrototypeOf"];

/** Every member of what all objects and functions inherit from. */
const intrinsics = (): unknown[] =>
  [Object.prototype, Array.prototype, Function.prototype, Object, Array, Function, Array.prototype.map, Array.prototype.push].map((one) =>
    Reflect.ownKeys(one).map((key) => [key, Object.getOwnPropertyDescriptor(one, key)]),
  );

function drafted(base: object) {
  const draft = openDraft(freezeDeep(base));
  const state: Record<string, Rows> = Object(draft.state);
  return { state, finish: () => draft.finish()?.after ?? base };
}

test("a key that a draft does not hold reads as absent, whatever objects inherit", () => {
  for (const key of KEYS)
    for (const base of [{ in: {} }, { in: { a: {}, b: {} } }, { in: [] }, { in: [{}] }]) {
      const { state } = drafted(base);
      const rows = state["in"] ?? {};
      assert.equal(rows[key], undefined, key);
      assert.equal(state[key], undefined, key);
      assert.equal(key in rows, false, key);
      assert.equal(Object.hasOwn(rows, key), false, key);
      assert.equal(delete rows[key], true);
      assert.deepEqual(Object.entries(rows), Object.entries(base.in));
    }
});

test("a key of two levels written into a draft is data and reaches no prototype", () => {
  const before = intrinsics();
  for (const one of KEYS)
    for (const two of [...KEYS, "plain"]) {
      const { state, finish } = drafted({ in: {} });
      const rows = state["in"] ?? {};
      rows[one] ??= {};
      Object.assign(rows[one], JSON.parse(JSON.stringify({ [two]: 1 })));
      rows[one][two] = { n: 2 };
      assert.deepEqual(Object.keys(rows), [one]);
      assert.equal(one in rows, true);
      const text = `{"in":{${JSON.stringify(one)}:{${JSON.stringify(two)}:{"n":2}}}}`;
      assert.equal(JSON.stringify(state), text);
      assert.equal(JSON.stringify(finish()), text);
    }
  assert.deepEqual(intrinsics(), before);
});

test("an object put into a draft in the same turn takes any key as data, also below it", () => {
  const before = intrinsics();
  for (const one of KEYS)
    for (const two of KEYS) {
      const { state, finish } = drafted({ in: {} });
      const rows = state["in"] ?? {};
      const mine: Record<string, unknown> = { n: 1 };
      rows["new"] = mine;
      const row = rows["new"];
      assert.equal(row[one], undefined);
      row[one] ??= {};
      Object.assign(Object(row[one]), Object.fromEntries([[two, [1]]]));
      mine["n"] = 2;
      assert.equal(rows["new"]["n"], 2);
      const text = `{"in":{"new":{"n":2,${JSON.stringify(one)}:{${JSON.stringify(two)}:[1]}}}}`;
      assert.equal(JSON.stringify(state), text);
      assert.equal(JSON.stringify(finish()), text);
      assert.throws(() => Object.assign(row, { n: 3 }), TypeError);
    }
  assert.deepEqual(intrinsics(), before);
});

test("a list's draft finds the author's own object that was put there, and its draft", () => {
  const { state } = drafted({ in: [{ n: 1 }] });
  const list: unknown = state["in"];
  assert.ok(Array.isArray(list));
  const mine = { n: 2 };
  list.push(mine);
  assert.deepEqual([list.indexOf(mine), list.indexOf(list[1]), list.includes(list[0]), list.includes({ n: 2 })], [1, 1, true, false]);
});

test("a write below any inherited member of a draft changes no prototype", () => {
  const before = intrinsics();
  for (const base of [{ in: {} }, { in: [] }, { in: [[1], [2]] }])
    for (const one of [...KEYS, ...Object.getOwnPropertyNames(Array.prototype)])
      for (const two of [...KEYS, "call", "name", "polluted"])
        for (const three of [...KEYS, "call", "polluted"]) {
          const { state } = drafted(base);
          const rows = state["in"] ?? {};
          for (const write of [
            () => Object.assign(Object(rows[one]), { [two]: 1 }),
            () => Object.assign(Object(rows[one]?.[two]), { [three]: 1 }),
          ])
            try {
              write();
            } catch (error) {
              assert.ok(error instanceof Error);
            }
        }
  assert.deepEqual(intrinsics(), before);
});

test("a draft of a list has the methods of a list, also through call, apply and bind", () => {
  const { state, finish } = drafted({ in: [3, 1, 2] });
  const list: unknown = state["in"];
  assert.ok(Array.isArray(list));
  // As an author writes it who knows no spread.
  const { push, unshift } = list;
  push.apply(list, [5, 4]);
  push.call(list, 6);
  unshift.bind(list)(0);
  assert.deepEqual(
    list.map((item: number) => item).toSorted((one, other) => one - other),
    [0, 1, 2, 3, 4, 5, 6],
  );
  assert.deepEqual(list.filter((item: number) => item > 3).concat([9]), [5, 4, 6, 9]);
  assert.deepEqual(
    ["map", "includes", "splice", "length", "0"].map((name) => name in list),
    [true, true, true, true, true],
  );
  assert.deepEqual(finish(), { in: [0, 3, 1, 2, 5, 4, 6] });
});

test("the text of a draft is that of the object or list", () => {
  const { state } = drafted({ list: [1, [2, 3], { n: 1 }], part: {} });
  const text = (value: unknown): string => String(value);
  assert.deepEqual([text(state["list"]), text(state["part"])], ["1,2,3,[object Object]", "[object Object]"]);
  assert.ok(Number.isNaN(Number(state["part"])));
});

test("prototypes that an author puts into a state are refused and stay unfrozen", () => {
  for (const prototype of [Object.prototype, Array.prototype]) {
    const { state, finish } = drafted({ in: {} });
    Reflect.set(state, "a", prototype);
    Reflect.set(state, "b", { deep: [prototype] });
    finish();
    freezeDeep({ prototype });
    freezeDeep(prototype);
    assert.equal(Object.isFrozen(prototype), false);
  }
});
