import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { actor } from "./index.ts";
import { actorId, keyOf } from "./names.ts";

const kind = actor("thing", {
  description: "A thing.",
  initial: () => ({ n: 0 }),
  messages: { to: { run() {} }, knock: { run() {} } },
});

test("every key of 1 to 256 bytes survives as one URI segment", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 64, unit: "grapheme" }), (key) => {
      fc.pre(new TextEncoder().encode(key).byteLength <= 256);
      const id = actorId("thing", key);
      assert.match(id, /^thing\/[^/?#\s]+$/);
      assert.equal(keyOf(id), key);
    }),
  );
});

test("a key that is empty, too long or has a lone surrogate is BAD_ID", () => {
  for (const key of ["", "x".repeat(257), "é".repeat(129), "\ud800"]) {
    assert.throws(() => kind.id(key), { code: "BAD_ID" });
    assert.throws(() => kind.at(key), { code: "BAD_ID" });
  }
  assert.equal(kind.id("é".repeat(128)).length, "thing/".length + 128 * 6);
});

test("a key that is not text is BAD_ID, and its type is named", () => {
  for (const key of [5, undefined, null, ["a"]] as const) {
    // @ts-expect-error a key is text
    assert.throws(() => kind.id(key), {
      code: "BAD_ID",
      message: /^A key of thing is text, not (?:undefined|null|an object|a number: pass String\(…\) of it)\.$/,
    });
    // @ts-expect-error a key is text
    assert.throws(() => kind.at(key), { code: "BAD_ID" });
  }
});

test("an id without kind or key, or with broken percent-encoding, is BAD_ID", () => {
  for (const id of ["", "thing", "thing/", "/x", "thing/%zz", "thing/%ff"]) assert.throws(() => keyOf(id), { code: "BAD_ID" });
});

test("a message may have any name, also that of a property of its address #actors.messages", () => {
  assert.deepEqual(kind.at("x").to(), { to: "thing/x", action: "to", args: null });
  const { knock } = { knock: kind.at("y/z").knock({ loud: true }, { replyAs: "heard" }) };
  assert.deepEqual(knock, { to: "thing/y%2Fz", action: "knock", args: { loud: true }, replyAs: "heard" });
});

test("names that do not fit are BAD_NAME", () => {
  for (const name of ["", "Door", "1door", "a_b", "a".repeat(65)]) {
    assert.throws(() => actor(name, { description: "", initial: () => ({}) }), { code: "BAD_NAME" });
  }
  for (const name of ["", "a b", "ä", "a/b", "x".repeat(129)]) {
    const tools = { [name]: { description: "", run() {} } };
    assert.throws(() => actor("thing", { description: "", initial: () => ({}), tools }), { code: "BAD_NAME" });
  }
  for (const name of ["", "tools/x", "then", "__proto__x/"]) {
    const messages = { [name]: { run() {} } };
    assert.throws(() => actor("thing", { description: "", initial: () => ({}), messages }), { code: "BAD_NAME" });
  }
  assert.throws(() => actor("thing", { description: "", initial: () => ({}), links: { "a.b": { kinds: ["x"], to: () => undefined } } }), {
    code: "BAD_NAME",
  });
  assert.throws(() => actor("thing", { description: "", initial: () => ({}), links: { a: { kinds: ["X"], to: () => undefined } } }), {
    code: "BAD_NAME",
  });
});
