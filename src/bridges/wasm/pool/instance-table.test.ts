import assert from "node:assert/strict";
import { test } from "node:test";
import { Residents } from "./instance-table.ts";

function come(residents: Residents, guest: string, bytes = 1): readonly string[] {
  return [...residents.enter(guest), ...residents.leave(guest, bytes)];
}

test("who was used longest ago goes first, and a use counts", () => {
  const residents = new Residents(2, 100);
  assert.deepEqual([come(residents, "a"), come(residents, "b"), come(residents, "a"), come(residents, "c")], [[], [], [], ["b"]]);
  assert.deepEqual([residents.has("a"), residents.has("b"), residents.has("c"), residents.size], [true, false, true, 2]);
});

test("nobody goes whose call runs, though there are too many", () => {
  const residents = new Residents(2, 100);
  for (const guest of ["a", "b", "c"]) assert.deepEqual(residents.enter(guest), []);
  assert.deepEqual(residents.leave("b", 1), ["b"]);
  assert.equal(residents.delete("a"), false);
  assert.deepEqual([residents.leave("a", 1), residents.size], [[], 2]);
});

test("their memory is bounded together, as it grows", () => {
  const residents = new Residents(10, 100);
  for (const guest of ["a", "b", "c"]) assert.deepEqual(come(residents, guest, 30), []);
  assert.deepEqual(come(residents, "b", 60), ["a"]);
  residents.enter("b");
  assert.deepEqual(residents.leave("b", undefined), []);
  assert.deepEqual([come(residents, "d", 100), come(residents, "e", 101)], [["c"], ["d", "e"]]);
});

test("what was dropped counts no longer", () => {
  const residents = new Residents(10, 100);
  come(residents, "a", 90);
  assert.equal(residents.delete("a"), true);
  assert.equal(residents.delete("a"), false);
  assert.deepEqual(come(residents, "b", 90), []);
});

test("what instances hold outside their memory counts, and is not reported as memory", () => {
  const residents = new Residents(10, 100);
  residents.enter("a");
  assert.deepEqual(residents.leave("a", 10, 60), []);
  assert.equal(residents.bytesOf("a"), 10);
  assert.deepEqual(come(residents, "b", 40), ["a"]);
  residents.enter("b");
  assert.deepEqual([residents.leave("b", 40, 50), come(residents, "c", 10), come(residents, "d", 1)], [[], [], ["b"]]);
});
