import assert from "node:assert/strict";
import { test } from "node:test";
import { systemEntropy } from "./clock.ts";

test("the system's entropy gives as many bytes as it is asked for, and never the same", () => {
  const seen = new Set<string>();
  // Sizes that end before, at and past the end of what is made at once.
  for (let round = 0; round < 400; round += 1)
    for (const bytes of [16, 8, 255, 32, 256, 16, 257, 1_000]) {
      const hex = systemEntropy.hex(bytes);
      assert.match(hex, /^[0-9a-f]+$/u);
      assert.equal(hex.length, 2 * bytes);
      seen.add(hex);
    }
  assert.equal(seen.size, 400 * 8);
  assert.deepEqual([systemEntropy.hex(0), systemEntropy.hex(2).length], ["", 4]);
});

test("bytes are drawn once: what one has is no part of what another gets", () => {
  const drawn = Array.from({ length: 4_096 }, () => systemEntropy.hex(16));
  const halves = drawn.flatMap((hex) => [hex.slice(0, 16), hex.slice(16)]);
  assert.equal(new Set(halves).size, halves.length);
});
