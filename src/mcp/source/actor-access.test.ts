import assert from "node:assert/strict";
import { it, test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import { handleActor, isHandle, mintedAt, mintHandle, rootActor } from "./actor-access.ts";

const box = actor("box", { description: "A box.", per: "user", initial: () => ({}), tools: {} });
const rootOf = (principal: string) => rootActor(box, { principal, scopes: [] });

test("no principal gets the actor of a long principal or of a handle", () => {
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

test("stored actors are found by their principal, or by its hash", () => {
  assert.equal(rootOf("https://login.example|ada"), "box/https%3A%2F%2Flogin.example%7Cada");
  assert.equal(rootOf("ada"), "box/ada");
  const long = "x".repeat(257);
  assert.equal(rootOf(long), `box/${sha256Hex(JSON.stringify(long))}`);
  assert.equal(rootOf("x".repeat(256)), `box/${"x".repeat(256)}`);
  for (const near of ["a".repeat(31), "A".repeat(32), "a".repeat(33), "0".repeat(63), "g".repeat(64)])
    assert.equal(rootOf(near), `box/${near}`);
});

const secret = new Uint8Array(32).fill(7);
const RANDOM = "0123456789abcdef0123456789abcdef";

it("a handle has 128 random bits, its minute, and a proof that fails for any flipped bit #secure.handles", () => {
  const now = 1_790_000_000_000;
  const handle = mintHandle(secret, "player", "ann", now, RANDOM);
  assert.ok(isHandle(handle));
  const bytes = Buffer.from(handle.slice(2), "base64url");
  assert.equal(bytes.subarray(0, 16).toString("hex"), RANDOM);
  assert.equal(mintedAt(secret, "player", "ann", handle), now - (now % 60_000));
  for (const [kind, who] of [
    ["room", "ann"],
    ["player", "bob"],
    ["player", undefined],
  ] as const)
    assert.equal(mintedAt(secret, kind, who, handle), undefined);
  assert.equal(mintedAt(new Uint8Array(32), "player", "ann", handle), undefined);
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(mintedAt(secret, "player", "ann", `h_${flipped.toString("base64url")}`), undefined, `bit ${bit}`);
  }
});
