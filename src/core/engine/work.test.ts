import assert from "node:assert/strict";
import { test } from "node:test";
import { WaitForGraph } from "./work.ts";

const cycle = { name: "EngineError", code: "CYCLE" };

test("a wait that closes a ring of any length is refused, and may be tried again when the ring is open", () => {
  const waits = new WaitForGraph();
  assert.throws(() => waits.begin("k/a", "k/a"), cycle);
  const undo = waits.begin("k/a", "k/b");
  waits.begin("k/b", "k/c");
  assert.throws(() => waits.begin("k/c", "k/a"), cycle);
  assert.throws(() => waits.begin("k/b", "k/a"), cycle);
  undo();
  waits.begin("k/c", "k/a");
});

test("two waits for the same actor are two: ending one leaves the other", () => {
  const waits = new WaitForGraph();
  const one = waits.begin("k/a", "k/b");
  const other = waits.begin("k/a", "k/b");
  one();
  assert.throws(() => waits.begin("k/b", "k/a"), cycle);
  other();
  waits.begin("k/b", "k/a");
});
