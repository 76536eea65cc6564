import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { clean, findByPart, listed, findByName, quoted } from "./text.ts";

test("text of others becomes one bounded line without control characters, and cannot close its quotation marks #secure.text #spec.6.tools.untrusted #spec.7.validation.sanitize", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 1, max: 100 }), (text, max) => {
      const cleaned = clean(text, max);
      assert.ok(Array.from(cleaned).length <= max);
      assert.ok(!/[\p{C}\u2028\u2029\n\r]/u.test(cleaned));
      assert.ok(cleaned.isWellFormed());
      assert.ok(!/[“”"]/.test(quoted(cleaned).slice(1, -1)));
    }),
  );
  assert.equal(clean("a\u0000b\n\n c\u202Ed\u200B", 99), "a b c d");
  assert.equal(clean("x".repeat(10), 5), "xxxx…");
});

test("findByName accepts id or name, in any case, with or without an article", () => {
  const names: Readonly<Record<string, string>> = { rusty_key: "Rusty Key", torch: "Torch" };
  for (const wanted of ["rusty_key", "Rusty Key", "RUSTY KEY", "the rusty key", " rusty  key "]) {
    assert.equal(
      findByName(Object.keys(names), (id) => names[id] ?? "", wanted),
      "rusty_key",
    );
  }
  assert.equal(
    findByName(Object.keys(names), (id) => names[id] ?? "", "key"),
    undefined,
  );
  assert.equal(listed(["a", "b", "c"]), "a, b and c");
});

test("findByPart accepts a part that only one name has", () => {
  const names: Readonly<Record<string, string>> = {
    rusty_key: "Rusty Key",
    bone_key: "Bone Key",
    sword: "King's Sword",
    lamp: "Whale-Oil Lamp",
  };
  const hint = (wanted: string): string | undefined => findByPart(Object.keys(names), (id) => names[id] ?? "", wanted);
  assert.deepEqual(["rusty", "the bone", "key", "king", "oil lamp", "lamp", "sword of", "s", "", "rust", "Rusty Key"].map(hint), [
    "rusty_key",
    "bone_key",
    undefined,
    "sword",
    "lamp",
    "lamp",
    undefined,
    undefined,
    undefined,
    undefined,
    "rusty_key",
  ]);
});
