import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { keyOf } from "./key-of.ts";

// The first test: no id may have been read yet.
test("the first id that is read is BAD_ID where it is empty", () => {
  assert.throws(() => keyOf(""), { code: "BAD_ID" });
  // @ts-expect-error an id is text
  assert.throws(() => keyOf(undefined), { code: "BAD_ID" });
});

test("a key has one id, and the id gives it back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), (key) => {
      fc.pre(Buffer.byteLength(key) <= 256);
      assert.equal(keyOf(`room/${encodeURIComponent(key)}`), key);
    }),
  );
});

test("another writing of a key, which would be a second actor of it, is BAD_ID", () => {
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
