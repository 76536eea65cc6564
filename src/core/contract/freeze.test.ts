import assert from "node:assert/strict";
import { test } from "node:test";
import { freezeDeep } from "./freeze.ts";

void test("what is brought may hold itself, be shared, or be half frozen: it is frozen throughout, other objects are left alone", () => {
  const half = Object.freeze({ items: [[1]], more: { n: 1 } });
  freezeDeep(half);
  assert.ok(Object.isFrozen(half.items) && Object.isFrozen(half.items[0]) && Object.isFrozen(half.more));
  const self: Record<string, unknown> = { open: { n: 1 } };
  self["again"] = Object.freeze([self, self]);
  freezeDeep(self);
  assert.ok(Object.isFrozen(self) && Object.isFrozen(self["open"]));
  let shared: readonly unknown[] = Object.freeze([]);
  for (let level = 0; level < 100; level += 1) shared = Object.freeze([shared, shared]);
  freezeDeep(shared);
  const other = { bytes: new Uint8Array([1]), at: new Date(0) };
  freezeDeep(other);
  assert.ok(Object.isFrozen(other) && !Object.isFrozen(other.at));
  for (const simple of [null, 1, "x", undefined]) freezeDeep(simple);
});
