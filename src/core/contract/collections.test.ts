import assert from "node:assert/strict";
import { memoizeByString } from "./internal.ts";
import { test } from "node:test";

/** And how often it was asked. */
function lengths(): { readonly of: (text: string) => number; readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    of: memoizeByString((text) => {
      asked.push(text);
      return text.length;
    }),
  };
}

test("memoizeByString computes each text once, also with others in between", () => {
  const { of, asked } = lengths();
  for (const text of ["a", "bb", "a", "a", "bb", "ccc", "bb"]) assert.equal(of(text), text.length);
  assert.deepEqual(asked, ["a", "bb", "ccc"]);
});

test("memoizeByString bounds its cache and does not keep long texts", () => {
  const { of, asked } = lengths();
  const long = "x".repeat(257);
  for (const text of [long, long]) assert.equal(of(text), 257);
  assert.equal(asked.length, 2);
  for (let n = 0; n < 1_000; n += 1) assert.equal(of(`made up ${n}`), `made up ${n}`.length);
  assert.equal(of("made up 0"), 9);
  assert.equal(asked.length, 2 + 1_000 + 1);
  assert.equal(of("made up 0"), 9);
  assert.equal(asked.length, 2 + 1_000 + 1);
});
