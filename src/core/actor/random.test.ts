import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { seeded } from "./random.ts";

const seed = fc.stringMatching(/^[0-9a-f]{32}$/);

test("law 4: the same seed gives the same numbers and ids", () => {
  fc.assert(
    fc.property(seed, (text) => {
      const one = seeded(text);
      const other = seeded(text);
      for (let round = 0; round < 5; round += 1) {
        assert.equal(one.random(), other.random());
        assert.equal(one.id(), other.id());
      }
    }),
  );
});

test("ids are version 4 UUIDs and do not depend on how many numbers were drawn", () => {
  fc.assert(
    fc.property(seed, fc.nat(20), (text, draws) => {
      const one = seeded(text);
      for (let round = 0; round < draws; round += 1) one.random();
      const id = one.id();
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(id, seeded(text).id());
      assert.notEqual(one.id(), id);
    }),
  );
});

function counts(draw: (index: number) => number): number[] {
  const bins = Array.from({ length: 10 }, () => 0);
  for (let index = 0; index < 20_000; index += 1) {
    const value = draw(index);
    assert.ok(value >= 0 && value < 1);
    bins[Math.floor(value * 10)] = (bins[Math.floor(value * 10)] ?? 0) + 1;
  }
  return bins;
}

test("numbers are in [0, 1) and uniform, per seed and across first draws of many seeds", () => {
  const { random } = seeded("00000000000000000000000000000001");
  for (const bin of counts(random)) assert.ok(Math.abs(bin - 2_000) < 250, String(bin));
  for (const bin of counts((index) => seeded(index.toString(16).padStart(32, "0")).random()))
    assert.ok(Math.abs(bin - 2_000) < 250, String(bin));
});

test("different seeds give different ids, and an invalid seed does not throw", () => {
  const ids = new Set(Array.from({ length: 1_000 }, (_, index) => seeded(index.toString(16).padStart(32, "0")).id()));
  assert.equal(ids.size, 1_000);
  assert.equal(typeof seeded("").random(), "number");
});
