import assert from "node:assert/strict";
import { memoizeByString } from "./internal.ts";
import { test } from "node:test";

/** A memoized length, and the texts it was computed for. */
function lengths(): { readonly of: (text: string) => number; readonly computed: string[] } {
  const computed: string[] = [];
  return {
    computed,
    of: memoizeByString((text) => {
      computed.push(text);
      return text.length;
    }),
  };
}

test("memoizeByString computes each text once, also with others in between", () => {
  const { of, computed } = lengths();
  for (const text of ["a", "bb", "a", "a", "bb", "ccc", "bb"]) assert.equal(of(text), text.length);
  assert.deepEqual(computed, ["a", "bb", "ccc"]);
});

test("memoizeByString bounds its cache and does not keep long texts", () => {
  const { of, computed } = lengths();
  const long = "x".repeat(257);
  for (const text of [long, long]) assert.equal(of(text), 257);
  assert.equal(computed.length, 2);
  for (let n = 0; n < 1_000; n += 1) assert.equal(of(`made up ${n}`), `made up ${n}`.length);
  assert.equal(of("made up 0"), 9);
  assert.equal(computed.length, 2 + 1_000 + 1);
  assert.equal(of("made up 0"), 9);
  assert.equal(computed.length, 2 + 1_000 + 1);
});
