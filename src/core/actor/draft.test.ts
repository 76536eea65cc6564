import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeDeep } from "../contract/internal.ts";
import { type Draft, openDraft } from "./draft.ts";

/** The state that the draft of `base` ends in. */
const finished = (draft: Draft, base: object): object => draft.finish()?.after ?? base;

function assertFrozen(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  assert.ok(Object.isFrozen(value), JSON.stringify(value));
  for (const item of Object.values(value)) assertFrozen(item);
}

test("unchanged parts are shared with the base; without edits there are no changes", () => {
  const base = freezeDeep({ a: { n: 1 }, b: { n: 2 }, list: [1] });
  const draft = openDraft(base);
  Object.assign(draft.state, { a: { n: 9 } });
  const next = finished(draft, base);
  assert.ok("b" in next && "list" in next);
  assert.equal(next.b, base.b);
  assert.equal(next.list, base.list);
  assert.equal(openDraft(base).finish(), undefined);
  const flat = freezeDeep({ n: 1, text: "x" });
  const same = openDraft(flat);
  Object.assign(same.state, { n: 2 });
  Object.assign(same.state, { n: 1 });
  assert.equal(same.finish(), undefined);
});

test("keys can be added to and removed from a flat state, and objects assigned", () => {
  const base = freezeDeep({ a: 1, b: null });
  const draft = openDraft(base);
  Reflect.deleteProperty(draft.state, "a");
  Object.assign(draft.state, { c: { deep: [1] } });
  const next = finished(draft, base);
  assert.deepEqual(next, { b: null, c: { deep: [1] } });
  assertFrozen(next);
});

test("a write after the turn does not reach the committed state #actors.draft", () => {
  const flat = openDraft(freezeDeep({ n: 1 }));
  Object.assign(flat.state, { n: 2 });
  const flatNext = flat.finish()?.after;
  assert.throws(() => Object.assign(flat.state, { n: 3 }), TypeError);
  assert.deepEqual(flatNext, { n: 2 });
  assertFrozen(flatNext);

  const deep = openDraft(freezeDeep({ list: [1], rows: [{ id: 1 }] }));
  const inner: unknown = Reflect.get(deep.state, "list");
  const mine: number[] = [4];
  Object.assign(deep.state, { list: mine });
  const deepNext = deep.finish()?.after;
  assert.throws(() => mine.push(5), TypeError);
  assert.throws(() => Object.assign(deep.state, { list: [] }), TypeError);
  assert.throws(() => Array.isArray(inner) && inner.push(6), TypeError);
  assert.deepEqual(deepNext, { list: [4], rows: [{ id: 1 }] });
});

test("freezing ends at cycles and continues below values that are frozen already", () => {
  const self: { me?: unknown; other?: unknown } = {};
  self.me = self;
  self.other = Object.freeze({ back: self, open: { n: 1 } });
  assertFrozenOnce(freezeDeep(self));
  const half = Object.freeze({ inner: { n: 1 } });
  freezeDeep({ half });
  assertFrozen(half);
});

function assertFrozenOnce(value: object, seen = new Set<object>()): void {
  if (seen.has(value)) return;
  seen.add(value);
  assert.ok(Object.isFrozen(value));
  for (const item of Object.values(value)) if (typeof item === "object" && item !== null) assertFrozenOnce(item, seen);
}

test("moving items of an array drafts only those removed; moved ones can be written", () => {
  const base = freezeDeep({ list: Array.from({ length: 1_000 }, (_, at) => ({ at, tags: ["a"] })) });
  const draft = openDraft(base);
  const list: unknown = Reflect.get(draft.state, "list");
  assert.ok(Array.isArray(list));
  const third: unknown = list[3];
  const first: unknown = list.shift();
  list.unshift("new", "newer");
  assert.equal(list.splice(1, 1)[0], "newer");
  assert.equal(list[3], third, "a draft moves with its item");
  let parts = 0;
  for (let part = draft.last; part !== undefined; part = part.earlier) parts += 1;
  assert.equal(parts, 4, "the state, the list, the third and the first");
  for (const item of [first, third, list[4]]) {
    assert.ok(typeof item === "object" && item !== null);
    Reflect.set(item, "at", -1);
  }
  list[5].tags.push("b");
  const next: unknown = Reflect.get(finished(draft, base), "list");
  assert.ok(Array.isArray(next));
  assert.deepEqual(next.slice(0, 7), [
    "new",
    { at: 1, tags: ["a"] },
    { at: 2, tags: ["a"] },
    { at: -1, tags: ["a"] },
    { at: -1, tags: ["a"] },
    { at: 5, tags: ["a", "b"] },
    { at: 6, tags: ["a"] },
  ]);
  assert.equal(next[6], base.list[6]);
  assert.equal(base.list[0]?.at, 0);
  assert.throws(() => list.shift(), TypeError, "the draft is revoked");
});

test("searches in a draft find written texts and numbers, and objects by their draft", () => {
  const draft = openDraft(freezeDeep({ list: ["a", "b", 1, Number.MAX_VALUE, { n: 1 }, "b"] }));
  const list: unknown = Reflect.get(draft.state, "list");
  assert.ok(Array.isArray(list));
  const { includes, indexOf } = list;
  assert.deepEqual(
    [list.includes("b"), list.indexOf("b"), list.lastIndexOf("b"), list.indexOf("b", 2), list.includes("none")],
    [true, 1, 5, 5, false],
  );
  list[1] = "c";
  list.push(Number.NaN);
  assert.deepEqual([list.includes("c"), list.indexOf("b"), list.includes(Number.NaN), list.indexOf(Number.NaN)], [true, 5, true, -1]);
  assert.equal(list.indexOf(list[4]), 4);
  assert.equal(list.indexOf({ n: 1 }), -1);
  assert.equal(Reflect.apply(includes, ["of another"], ["of another"]), true);
  draft.finish();
  assert.throws(() => list.includes("c"), TypeError);
  assert.throws(() => Reflect.apply(indexOf, list, ["c"]), TypeError);
});

// ── keys that objects inherit ───────────────────────────────────────────────

type Rows = Record<string, Record<string, unknown> | undefined>;

const KEYS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "__defineGetter__", "isPrototypeOf"];

/** All members of the prototypes of objects, arrays and functions. */
const intrinsics = (): unknown[] =>
  [Object.prototype, Array.prototype, Function.prototype, Object, Array, Function, Array.prototype.map, Array.prototype.push].map((one) =>
    Reflect.ownKeys(one).map((key) => [key, Object.getOwnPropertyDescriptor(one, key)]),
  );

function untyped(base: object) {
  const draft = openDraft(freezeDeep(base));
  const state: Record<string, Rows> = Object(draft.state);
  return { state, finish: () => draft.finish()?.after ?? base };
}

test("a key that a draft does not have is undefined, whatever objects inherit", () => {
  for (const key of KEYS)
    for (const base of [{ in: {} }, { in: { a: {}, b: {} } }, { in: [] }, { in: [{}] }]) {
      const { state } = untyped(base);
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
      const { state, finish } = untyped({ in: {} });
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
      const { state, finish } = untyped({ in: {} });
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

test("an array's draft finds an assigned object, and its draft", () => {
  const { state } = untyped({ in: [{ n: 1 }] });
  const list: unknown = state["in"];
  assert.ok(Array.isArray(list));
  const mine = { n: 2 };
  list.push(mine);
  assert.deepEqual([list.indexOf(mine), list.indexOf(list[1]), list.includes(list[0]), list.includes({ n: 2 })], [1, 1, true, false]);
});

test("a write below any inherited member of a draft changes no prototype", () => {
  const before = intrinsics();
  for (const base of [{ in: {} }, { in: [] }, { in: [[1], [2]] }])
    // `length` is a number of the array itself, and a write to its `__proto__` is one to all numbers.
    for (const one of [...KEYS, ...Object.getOwnPropertyNames(Array.prototype).filter((name) => name !== "length")])
      for (const two of [...KEYS, "call", "name", "polluted"])
        for (const three of [...KEYS, "call", "polluted"]) {
          const { state } = untyped(base);
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

test("an array's draft has the methods of arrays, through call, apply and bind too", () => {
  const { state, finish } = untyped({ in: [3, 1, 2] });
  const list: unknown = state["in"];
  assert.ok(Array.isArray(list));
  // As authors may write it without spread syntax.
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

test("a draft converts to text like its object or array", () => {
  const { state } = untyped({ list: [1, [2, 3], { n: 1 }], part: {} });
  const text = (value: unknown): string => String(value);
  assert.deepEqual([text(state["list"]), text(state["part"])], ["1,2,3,[object Object]", "[object Object]"]);
  assert.ok(Number.isNaN(Number(state["part"])));
});

test("prototypes that an author puts into a state are refused and stay unfrozen", () => {
  for (const prototype of [Object.prototype, Array.prototype]) {
    const { state, finish } = untyped({ in: {} });
    Reflect.set(state, "a", prototype);
    Reflect.set(state, "b", { deep: [prototype] });
    finish();
    freezeDeep({ prototype });
    freezeDeep(prototype);
    assert.equal(Object.isFrozen(prototype), false);
  }
});
