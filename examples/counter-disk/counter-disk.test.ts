import assert from "node:assert/strict";
import { test } from "node:test";
import { testActor } from "troupe/testing";
import counterInMemory from "../counter/index.ts";
import counterOnDisk from "./index.ts";

test("the counter on disk offers the same tools as the one in memory", () => {
  assert.equal(counterOnDisk.policy.persistence, "disk");
  assert.deepEqual(counterOnDisk.catalogue, counterInMemory.catalogue);
  const counter = testActor(counterOnDisk);
  assert.deepEqual(counter.turn("tools/add", { by: 2 }).reply, { ok: 2 });
  assert.deepEqual(counter.view("tools/get"), { ok: 2 });
});
