import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import { handleActor, rootActor } from "./access.ts";

const box = actor("box", { describe: "A box.", per: "user", initial: () => ({}), tools: {} });
const rootOf = (principal: string) => rootActor(box, { principal, scopes: [] });

test("no principal has the actor of a long principal or of a handle", () => {
  const long = `https://login.example|${"x".repeat(300)}`;
  const odd = "half \ud800";
  const handle = `h_${"A".repeat(43)}`;
  for (const taken of [rootOf(long), rootOf(odd), handleActor("box", handle)]) {
    const key = taken?.slice("box/".length) ?? "";
    assert.match(key, /^[0-9a-f]+$/);
    assert.notEqual(rootOf(key), taken);
    assert.notEqual(rootOf(rootOf(key)?.slice("box/".length) ?? ""), rootOf(key));
  }
});

test("actors that are stored under a principal, or a hash of one, are found again", () => {
  assert.equal(rootOf("https://login.example|ada"), "box/https%3A%2F%2Flogin.example%7Cada");
  assert.equal(rootOf("ada"), "box/ada");
  const long = "x".repeat(257);
  assert.equal(rootOf(long), `box/${sha256Hex(JSON.stringify(long))}`);
  assert.equal(rootOf("x".repeat(256)), `box/${"x".repeat(256)}`);
  for (const near of ["a".repeat(31), "A".repeat(32), "a".repeat(33), "0".repeat(63), "g".repeat(64)])
    assert.equal(rootOf(near), `box/${near}`);
});
