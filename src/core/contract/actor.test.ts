import assert from "node:assert/strict";
import * as fc from "fast-check";
import { compareIds, isActorId, isAddress, isSignedIn, keyIn, kindOf } from "./actor.ts";
import { test } from "node:test";

test("a key of up to 256 bytes has one id, which gives it back; a longer one has none", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 }), (key) => {
      assert.equal(keyIn(`room/${encodeURIComponent(key)}`), Buffer.byteLength(key) <= 256 ? key : undefined);
    }),
  );
  for (const [fits, key] of [
    [true, "é".repeat(128)],
    [false, `${"é".repeat(128)}a`],
    [true, "(".repeat(256)],
    [false, "(".repeat(257)],
  ] as const)
    assert.equal(isActorId(`room/${encodeURIComponent(key)}`), fits, key);
});

test("a key in another encoding is not an id", () => {
  for (const given of [
    "room/%41",
    "room/a%2fb",
    "room/%ED%A0%80",
    "room/%C0%AF",
    "room/",
    "/a",
    "room",
    "Room/a",
    "room/a/b",
    "room/a\n",
    7,
    null,
    undefined,
    ["a/b"],
  ])
    assert.equal(isActorId(given), false, String(given));
});

test("isAddress accepts receivers that are not valid ids", () => {
  assert.ok(isAddress("room/a b"));
  assert.ok(!isAddress("room/"));
  assert.ok(!isAddress(undefined));
});

test("ids are listed by kind, then by key", () => {
  assert.equal(kindOf("a-b/c"), "a-b");
  assert.deepEqual((["a-b/c", "a/d", "a/c", "a/c"] as const).toSorted(compareIds), ["a/c", "a/c", "a/d", "a-b/c"]);
});

test("a caller is signed in by a token, a key, or as the owner of the data; what a client without a key is called proves nothing", () => {
  for (const principal of ["ann", "local", "https://issuer.example|42", "sessions", "session", "guests"])
    assert.equal(isSignedIn({ principal }), true, principal);
  for (const viewer of [{}, { principal: "session|4bb6dbd9" }, { principal: "guest|ann" }, { principal: "guest|session|s" }])
    assert.equal(isSignedIn(viewer), false);
});
