import assert from "node:assert/strict";
import { it } from "node:test";
import { isHandle, mintedAt, mintHandle } from "./access.ts";

const secret = new Uint8Array(32).fill(7);
const RANDOM = "0123456789abcdef0123456789abcdef";

it("a handle carries 128 random bits, its minute, and a proof of kind and starter that no flipped bit survives", () => {
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
