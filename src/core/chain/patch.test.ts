import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { EngineError, type Json } from "../contract/index.ts";
import { seal } from "./event.ts";
import { apply, diff, readBody, readHeader, sha256, stateFrom } from "./index.ts";
import { check, freezeNew } from "./json-check.ts";

const json = (value: unknown): Json => JSON.parse(JSON.stringify(value));
const words = fc.string({ unit: "grapheme" }).filter((value) => value.isWellFormed());
const { value: arbitrary } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.constantFrom(null, true, false, 0, 1, "a", "", -1.5), words),
    fc.array(tie("value"), { maxLength: 6 }),
    fc
      .array(
        fc.tuple(
          fc.oneof(fc.constantFrom("a", "b", "c", "0", "7", "01", "constructor", "__proto__", "hasOwnProperty", "4294967295"), words),
          tie("value"),
        ),
        { maxLength: 6 },
      )
      .map((entries) => Object.fromEntries(entries)),
  ),
}));

/** `before` with a few edits, sharing the rest, like the result of a draft. */
function edited(before: Json, edits: readonly { readonly path: readonly number[]; readonly how: number; readonly value: Json }[]): Json {
  let after = before;
  for (const { path, how, value } of edits) after = editAt(after, path, how, value);
  return after;
}
function editAt(node: Json, path: readonly number[], how: number, value: Json): Json {
  const [step, ...rest] = path;
  if (Array.isArray(node)) {
    const copy: Json[] = [...node];
    const at = (step ?? 0) % (copy.length + 1);
    if (rest.length > 0 && copy[at] !== undefined) copy[at] = editAt(copy[at], rest, how, value);
    else if (how === 0) copy.splice(at, 1);
    else if (how === 1) copy.splice(at, 0, value);
    else if (how === 2) copy.push(...copy.splice(0, 1), value);
    else copy[at] = value;
    return copy;
  }
  if (typeof node === "object" && node !== null) {
    const entries = Object.entries(node);
    const at = (step ?? 0) % (entries.length + 1);
    const entry = entries[at];
    if (rest.length > 0 && entry) entry[1] = editAt(entry[1], rest, how, value);
    else if (how === 0) entries.splice(at, 1);
    else if (how === 1) entries.splice(at, 0, [`k${entries.length}`, value]);
    else if (how === 2) entries.push(...entries.splice(at, 1));
    else if (entry) entry[1] = value;
    return Object.fromEntries(entries);
  }
  return value;
}
const edits = fc.array(fc.record({ path: fc.array(fc.nat(8), { minLength: 1, maxLength: 4 }), how: fc.nat(3), value: arbitrary }), {
  maxLength: 4,
});

function holds(before: Json, after: Json): void {
  const wasText = JSON.stringify(before);
  const patch = diff(before, after);
  if (patch === undefined) return assert.equal(JSON.stringify(after), wasText);
  assert.notEqual(JSON.stringify(after), wasText);
  assert.equal(JSON.stringify(apply(before, patch)), JSON.stringify(after));
  assert.equal(JSON.stringify(apply(json(before), json(patch))), JSON.stringify(after));
  assert.equal(JSON.stringify(before), wasText);
}

test("applying a diff gives the new value, order of keys included, through text too", () => {
  fc.assert(
    fc.property(arbitrary, arbitrary, (before, after) => holds(json(before), json(after))),
    { numRuns: 2_000 },
  );
});

test("applying a diff of an edited copy gives the copy", () => {
  fc.assert(
    fc.property(arbitrary, edits, (before, list) => holds(json(before), edited(json(before), list))),
    { numRuns: 2_000 },
  );
});

test("the diff of equal values is undefined, whether they are the same object or not", () => {
  fc.assert(fc.property(arbitrary, (value) => assert.equal(diff(json(value), json(value)), undefined)));
});

test("applying a patch shares what did not change and never writes to the old state", () => {
  const before = json({ a: { deep: [1, 2, 3] }, b: { n: 1 } });
  freezeNew(undefined, before);
  const after = apply(before, { b: { n: [2] } });
  assert.deepEqual(after, { a: { deep: [1, 2, 3] }, b: { n: 2 } });
  assert.equal(Reflect.get(Object(after), "a"), Reflect.get(Object(before), "a"));
});

test("patches are short: a changed field, a push, a shift, a moved key", () => {
  assert.deepEqual(diff({ hp: 3, name: "x" }, { hp: 2, name: "x" }), { hp: [2] });
  assert.deepEqual(diff({ hp: 3, name: "x" }, { hp: 3 }), { name: 0 });
  assert.deepEqual(diff([1, 2, 3], [1, 2, 3, 4]), [0, [3, 0, [4]]]);
  assert.deepEqual(diff(["a", "b", "c", "d"], ["b", "c", "d", "e"]), [0, [0, 1, []], [4, 0, ["e"]]]);
  assert.deepEqual(diff([{ hp: 1 }, { hp: 2 }], [{ hp: 1 }, { hp: 5 }]), [0, [1, { hp: [5] }]]);
  assert.deepEqual(diff([1, 2, 3, 4], [1, 9, 8, 4]), [0, [1, 2, [9, 8]]]);
  assert.deepEqual(diff({ a: 1, b: 2 }, { b: 2, a: 1 }), { a: [1, null] });
  assert.deepEqual(diff({ 5: 1, x: 1 }, { 3: 1, 5: 1, x: 1 }), { 3: [1] });
  const line = { text: "unchanged".repeat(50) };
  assert.ok(JSON.stringify(diff([line, line, { n: 1 }], [line, line, { n: 2 }])).length < 30);
});

const wrong: readonly [string, unknown, string][] = [
  ["NaN", { a: { b: [1, Number.NaN] } }, "state.a.b[1]"],
  ["Infinity", { a: Infinity }, "state.a"],
  ["undefined in a list", { a: [undefined] }, "state.a[0]"],
  ["a hole in a list", { a: Object.assign([], { length: 1 }) }, "state.a[0]"],
  ["undefined as property", { a: { b: undefined } }, "state.a.b"],
  ["a Date", { a: new Date(0) }, "state.a"],
  ["a Map", { a: new Map() }, "state.a"],
  [
    "a class instance",
    {
      a: new (class Sword {
        edge = 1;
      })(),
    },
    "state.a",
  ],
  ["a BigInt", { a: 1n }, "state.a"],
  ["a function", { a: () => 1 }, "state.a"],
  ["a symbol", { a: Symbol("x") }, "state.a"],
  ["a symbol key", { a: { [Symbol("x")]: 1 } }, "state.a"],
  ["a lone surrogate", { a: "\ud800" }, "state.a"],
  ["a lone surrogate in a key", { a: { "\udc00": 1 } }, "state.a"],
  ["a key that is no name", { a: { "b c": 1n } }, 'state.a["b c"]'],
  ["a promise", { a: Promise.resolve(1) }, "state.a"],
];
for (const [what, value, path] of wrong)
  test(`${what} in a state is refused with its path`, () => {
    for (const before of [{}, { a: 1 }, { a: {} }, { a: { b: 1 } }, { a: [1, 2] }, 1, [1]])
      assert.throws(
        () => diff(before, value),
        (error) =>
          error instanceof EngineError && error.code === "STATE_NOT_JSON" && error.message.startsWith(path) && error.applied === false,
      );
    assert.throws(() => check(value), { code: "STATE_NOT_JSON" });
  });

test("a cycle, a value too deep and one that explodes as text are refused quickly #actors.state-bound", () => {
  const cycle: Record<string, unknown> = { a: 1 };
  cycle["self"] = { again: [cycle] };
  assert.throws(() => diff({}, cycle), /state\.self\.again\[0\] contains itself/u);
  let deep: unknown = 1;
  for (let level = 0; level < 1_000; level += 1) deep = [deep];
  assert.throws(() => diff([[]], deep), /nested deeper than 128/u);
  let wide: unknown = [1, 1];
  for (let level = 0; level < 100; level += 1) wide = [wide, wide];
  assert.throws(() => diff(null, wide), { code: "STATE_TOO_LARGE" });
  assert.throws(() => diff("", "x".repeat(100), 50), { code: "STATE_TOO_LARGE" });
});

test("a key called __proto__ is a key like any other", () => {
  const before = json({ a: 1 });
  const after: Json = JSON.parse('{"a":1,"__proto__":{"polluted":true}}');
  holds(before, after);
  holds(after, before);
  holds(after, JSON.parse('{"a":1,"__proto__":{"polluted":false}}'));
  const result = Object(apply(before, diff(before, after) ?? null));
  assert.equal(Object.getPrototypeOf(result), Object.prototype);
  assert.equal(result.polluted, undefined);
});

test("a malformed patch is refused without other effects", () => {
  const bad: readonly [Json, Json][] = [
    [{ a: 1 }, 0],
    [{ a: 1 }, 3],
    [{ a: 1 }, "x"],
    [{ a: 1 }, null],
    [{ a: 1 }, []],
    [{ a: 1 }, { b: 0 }],
    [{ a: 1 }, { b: {} }],
    [{ a: 1 }, { a: { x: [1] } }],
    [{ a: 1 }, { b: [1, null] }],
    [{ a: 1 }, { toString: 0 }],
    [{ a: 1 }, [0, [0, 0, []]]],
    [[1], [0, [5, 0, []]]],
    [[1], [0, [0, 2, []]]],
    [[1], [0, [1, [2]]]],
    [[1], [0, [-1, [2]]]],
    [[1], [0, [0.5, [2]]]],
    [
      [1, 2],
      [0, [1, [2]], [0, [2]]],
    ],
    [[1], [0, 1]],
    [[1], [0, [0, 1, 2]]],
    [[1], [2, [0, [1]]]],
    [[1], { 0: [1] }],
  ];
  for (const [state, patch] of bad) assert.throws(() => apply(state, patch), { code: "STORE_CORRUPT" }, JSON.stringify(patch));
});

test("only new parts are frozen, and -0 becomes 0, as in text", () => {
  const shared = Object.freeze({ x: 1 });
  const before: Json = Object.freeze({ shared, n: 1 });
  const after = { shared, n: -0, list: [{ y: 1 }] };
  freezeNew(before, after);
  assert.ok(Object.isFrozen(after) && Object.isFrozen(after.list) && Object.isFrozen(after.list[0]));
  assert.ok(Object.is(after.n, 0));
});

const header = { actor: "door/a%20b", life: "l", seq: 1, parent: null, at: 5, type: "tools/open" } as const;

test("C7 an event's id is the SHA-256 of its header, which names the SHA-256 of its body #chain.only-storage", () => {
  const event = seal(
    { ...header, cause: "c" },
    { message: { args: { a: 'q"' } }, state: { n: 1 }, version: 1, sent: ["l.1.0"], reply: { ok: null }, record: [1] },
  );
  assert.equal(event.id, sha256(event.header));
  assert.equal(
    event.header,
    `{"actor":"door/a%20b","life":"l","seq":1,"parent":null,"at":5,"type":"tools/open","cause":"c","body":"${sha256(event.body ?? "")}"}`,
  );
  assert.equal(
    event.body,
    '{"message":{"args":{"a":"q\\""}},"state":{"n":1},"version":1,"sent":["l.1.0"],"reply":{"ok":null},"record":[1]}',
  );
  assert.deepEqual(readHeader(event), { ...header, cause: "c", body: sha256(event.body ?? "") });
  assert.deepEqual(readBody(event)?.sent, ["l.1.0"]);
  assert.equal(readBody({ id: event.id, header: event.header }), undefined);
  for (const text of ["", "{", "1", "null", "[]", "{}", '{"actor":1}'])
    assert.throws(() => readHeader({ id: "x", header: text }), { code: "STORE_CORRUPT" });
});

test("a header's text is JSON whatever its names contain", () => {
  fc.assert(
    fc.property(words, (type) => {
      const event = seal({ ...header, type }, { message: null, version: 1, sent: [] });
      assert.equal(readHeader(event).type, type);
      assert.equal(event.header, JSON.stringify(JSON.parse(event.header)));
    }),
  );
});

test("the state is replayed from the last whole state #chain.only-storage", () => {
  const one = seal(header, { message: null, state: { n: 1 }, version: 1, sent: [] });
  const two = seal({ ...header, seq: 2, parent: one.id }, { message: null, patch: { n: [2] }, version: 1, sent: [] });
  const three = seal({ ...header, seq: 3, parent: two.id }, { message: null, version: 2, sent: [] });
  assert.deepEqual(stateFrom([one, two, three]), { state: { n: 2 }, version: 2 });
  assert.throws(() => stateFrom([two, three]), { code: "STORE_CORRUPT" });
  assert.throws(() => stateFrom([]), { code: "STORE_CORRUPT" });
  assert.throws(() => stateFrom([one, { id: two.id, header: two.header }, three]), { code: "STORE_CORRUPT" });
});
