import assert from "node:assert/strict";
import { test } from "node:test";
import { ActiveRequests, ActiveRequest } from "./active-requests.ts";

test("an active request is found by its id until it ends", () => {
  const running = new ActiveRequests();
  const [a, b, c] = [new ActiveRequest(1), new ActiveRequest("1"), new ActiveRequest(2)];
  for (const one of [a, b, c]) running.add(one);
  assert.deepEqual([running.get(1), running.get("1"), running.size], [a, b, 3]);
  running.delete(a);
  running.delete(a);
  assert.deepEqual([running.get(1), running.get("1"), running.get(2), running.size], [undefined, b, c, 2]);
  running.delete(c);
  running.delete(b);
  assert.deepEqual(running.all(), []);
});

test("a request calls its abort listeners once, and removed ones not at all", () => {
  const one = new ActiveRequest(1);
  const heard: string[] = [];
  const [first, second, third] = ["first", "second", "third"].map((name) => () => void heard.push(name));
  assert.ok(first && second && third);
  for (const listener of [first, second, third]) one.addEventListener("abort", listener);
  one.removeEventListener("abort", second);
  one.abort();
  one.abort();
  one.addEventListener("abort", second);
  assert.deepEqual([one.aborted, heard], [true, ["first", "third"]]);
});
