import assert from "node:assert/strict";
import { test } from "node:test";
import { callHash } from "./call-hash.ts";

test("C4 a call is told from another by its action and arguments, not by the order of their keys", () => {
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
