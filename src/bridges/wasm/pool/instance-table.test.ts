import assert from "node:assert/strict";
import { test } from "node:test";
import { InstanceTable } from "./instance-table.ts";

function come(residents: InstanceTable, guest: string, bytes = 1): readonly string[] {
  return [...residents.callStarted(guest), ...residents.callEnded(guest, bytes)];
}

test("the least recently used instance is dropped first", () => {
  const residents = new InstanceTable(2, 100);
  assert.deepEqual([come(residents, "a"), come(residents, "b"), come(residents, "a"), come(residents, "c")], [[], [], [], ["b"]]);
  assert.deepEqual([residents.has("a"), residents.has("b"), residents.has("c"), residents.size], [true, false, true, 2]);
});

test("an instance with a running call is not dropped, even if there are too many", () => {
  const residents = new InstanceTable(2, 100);
  for (const guest of ["a", "b", "c"]) assert.deepEqual(residents.callStarted(guest), []);
  assert.deepEqual(residents.callEnded("b", 1), ["b"]);
  assert.equal(residents.delete("a"), false);
  assert.deepEqual([residents.callEnded("a", 1), residents.size], [[], 2]);
});

test("the total memory of instances is bounded, also when it grows", () => {
  const residents = new InstanceTable(10, 100);
  for (const guest of ["a", "b", "c"]) assert.deepEqual(come(residents, guest, 30), []);
  assert.deepEqual(come(residents, "b", 60), ["a"]);
  residents.callStarted("b");
  assert.deepEqual(residents.callEnded("b", undefined), []);
  assert.deepEqual([come(residents, "d", 100), come(residents, "e", 101)], [["c"], ["d", "e"]]);
});

test("dropped instances no longer count", () => {
  const residents = new InstanceTable(10, 100);
  come(residents, "a", 90);
  assert.equal(residents.delete("a"), true);
  assert.equal(residents.delete("a"), false);
  assert.deepEqual(come(residents, "b", 90), []);
});

test("what instances hold outside their memory counts, but is not reported as memory", () => {
  const residents = new InstanceTable(10, 100);
  residents.callStarted("a");
  assert.deepEqual(residents.callEnded("a", 10, 60), []);
  assert.equal(residents.bytesOf("a"), 10);
  assert.deepEqual(come(residents, "b", 40), ["a"]);
  residents.callStarted("b");
  assert.deepEqual([residents.callEnded("b", 40, 50), come(residents, "c", 10), come(residents, "d", 1)], [[], [], ["b"]]);
});
