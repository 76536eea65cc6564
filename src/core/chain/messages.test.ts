import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { callHash, keyOf } from "./messages.ts";

// Must be the first test: no id may have been read before.
test("an empty id is BAD_ID, also as the first one", () => {
  assert.throws(() => keyOf(""), { code: "BAD_ID" });
  // @ts-expect-error an id is text
  assert.throws(() => keyOf(undefined), { code: "BAD_ID" });
});

test("a key survives the round trip through its id", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), (key) => {
      fc.pre(Buffer.byteLength(key) <= 256);
      assert.equal(keyOf(`room/${encodeURIComponent(key)}`), key);
    }),
  );
});

test("another encoding of a key, which would be a second actor, is BAD_ID", () => {
  for (const id of [
    "room/%41",
    "room/a%2fb",
    "room/a:b",
    "room/%7c",
    "room/é",
    "room/a b",
    "room/a/b",
    "room/%",
    "room/%ff",
    "room/",
    "Room/a",
  ])
    assert.throws(() => keyOf(id), { code: "BAD_ID" }, id);
  assert.equal(keyOf("room/a%3Ab"), "a:b");
});

test("C4 the hash of a call depends on action and arguments, not on the order of keys", () => {
  const hash = callHash("add", { a: [1, { b: null, c: "x" }], d: true });
  assert.match(hash, /^[0-9a-f]{16}$/);
  assert.equal(callHash("add", { d: true, a: [1, { c: "x", b: null }] }), hash);
  const others = [
    callHash("Add", { a: [1, { b: null, c: "x" }], d: true }),
    callHash("add", { a: [1, { b: null, c: "x" }], d: "true" }),
    callHash("add", { a: [1, { b: null, c: "x" }] }),
    callHash("add", { a: [{ b: null, c: "x" }, 1], d: true }),
    callHash("add", null),
    callHash("add", []),
    callHash("add", {}),
    callHash("a", "dd"),
    callHash("a\ndd", ""),
  ];
  assert.equal(new Set([hash, ...others]).size, others.length + 1);
  assert.throws(() => callHash("add", JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`)), { code: "STATE_NOT_JSON" });
});
