import assert from "node:assert/strict";
import { test } from "node:test";
import { IdTable } from "./id-table.ts";

interface Thing {
  readonly id: string;
}

/** A small generator of its own, so that what it found is found again. */
function drawn(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const same = (table: IdTable<Thing>, map: ReadonlyMap<string, Thing>, ids: Iterable<string>): void => {
  assert.equal(table.size, map.size);
  for (const id of ids) assert.equal(table.get(id), map.get(id), id);
  assert.deepEqual(new Set(table.values()), new Set(map.values()));
};

test("an id table has the same content as a map after random adds and deletes", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const below = drawn(seed);
    const table = new IdTable<Thing>();
    const map = new Map<string, Thing>();
    const ids = Array.from({ length: 3_000 }, (_, n) => `room/${seed}-${n}`);
    for (let step = 0; step < 20_000; step += 1) {
      const id = ids[below(step % 7_000 < 3_500 ? ids.length : 40)] ?? "";
      const known = map.get(id);
      assert.equal(table.get(id), known);
      if (known === undefined) {
        const thing = { id };
        table.add(thing);
        map.set(id, thing);
      } else {
        table.delete(known);
        map.delete(id);
      }
    }
    same(table, map, ids);
    for (const thing of map.values()) table.delete(thing);
    same(table, new Map(), ids);
  }
});

test("an id table does not delete another item with the same id", () => {
  const table = new IdTable<Thing>();
  const thing = { id: "room/a" };
  table.add(thing);
  table.delete({ id: "room/a" });
  assert.equal(table.get("room/a"), thing);
});

test("ids with the same hash are found", () => {
  const alike = collisions(8);
  const table = new IdTable<Thing>();
  const map = new Map<string, Thing>();
  const others = Array.from({ length: 1_000 }, (_, n) => `room/${n}`);
  for (const id of [...alike, ...others]) {
    const thing = { id };
    table.add(thing);
    map.set(id, thing);
  }
  same(table, map, [...alike, ...others, "room/missing"]);
  for (const id of alike.filter((_, n) => n % 2 === 0)) {
    const thing = map.get(id);
    if (thing !== undefined) table.delete(thing);
    map.delete(id);
  }
  same(table, map, [...alike, ...others]);
});

/** 2 to the power of `pairs` texts of one FNV-1a: from each state it looks for two steps with the same next state. */
function collisions(pairs: number): string[] {
  let state = 0x81_1c_9d_c5;
  let texts = [""];
  for (let pair = 0; pair < pairs; pair += 1) {
    const met = new Map<number, string>();
    for (let n = 0; ; n += 1) {
      const step = String.fromCharCode(n & 0xff_ff, n >>> 16, (n * 40_503) & 0xff_ff);
      let next = state;
      for (let index = 0; index < step.length; index += 1) next = Math.imul(next ^ step.charCodeAt(index), 0x01_00_01_93);
      const other = met.get(next);
      met.set(next, step);
      if (other === undefined) continue;
      texts = texts.flatMap((text) => [text + other, text + step]);
      state = next;
      break;
    }
  }
  return texts;
}
