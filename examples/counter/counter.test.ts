import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "troupe/testing";
import counterInMemory from "./index.ts";

test("the counter adds what it is told, one where it is not told, and can be read", () => {
  const stage = rehearse(counterInMemory);
  assert.deepEqual(stage.turn("tools/add", { by: 5 }).reply, { ok: 5 });
  assert.deepEqual(stage.turn("tools/add").reply, { ok: 6 });
  assert.deepEqual(stage.view("tools/get"), { ok: 6 });
  assert.deepEqual(stage.state, { count: 6 });
});

test("the counter refuses what is no whole number and stays as it was", () => {
  const stage = rehearse(counterInMemory);
  const { reply } = stage.turn("tools/add", { by: "much" });
  assert.ok(typeof reply === "object" && "refused" in reply && reply.refused.code === "INVALID");
  assert.deepEqual(stage.state, { count: 0 });
});

test("the counter is one for all, in memory", () => {
  assert.equal(counterInMemory.per, "shared");
  assert.equal(counterInMemory.policy.persistence, "memory");
});
