import assert from "node:assert/strict";
import { test } from "node:test";
import { component } from "../component.fixture.ts";
import { readComponent } from "../read-component.ts";
import { outsideMemory } from "./outside-memory.ts";
import { type Bytes, MODULE, coreModule, leb, section, vec } from "./core-module.fixture.ts";

const read = readComponent(component({}));
const outside = (functions: number, ...tables: readonly Bytes[]): number => {
  const all = Array.from({ length: functions }, (_, n) => ({ name: `f${n}`, type: { params: [], results: [] } }));
  return outsideMemory({ ...read, module: Uint8Array.from(coreModule({ functions: all, tables })) });
};

test("an instance counts for its functions and its tables, as large as these may become", () => {
  const element = outside(0, [0x70, 1, 1, 2]) - outside(0, [0x70, 1, 1, 1]);
  const each = outside(1) - outside(0);
  assert.ok(element >= 4 * 8 && each >= 4 * 64);
  assert.equal(outside(3, [0x70, 1, 0, 5], [0x6f, 0, ...leb(1_000)]), 3 * each + 2_005 * element);
  assert.equal(outside(0, [0x70, 1, 1, ...leb(10_000_000)], [0x70, 0, 1]), 100_000 * element);
});

test("an instance counts for its globals: numbers by 16 bytes, and references by the exceptions they may hold", () => {
  const held = (...globals: readonly Bytes[]): number =>
    outsideMemory({ ...read, module: Uint8Array.from([...MODULE, ...section(6, vec(globals))]) });
  const number: Bytes = [0x7b, 1, 0xfd, 0x0c, ...Array.from({ length: 16 }, () => 1), 0x0b];
  const exception: Bytes = [0x69, 1, 0xd0, 0x69, 0x0b];
  assert.equal(held(number, number), 2 * 4 * 16);
  assert.ok(held(exception) >= 4 * 1_090);
});

test("what a component is linked with counts, too", () => {
  const module = Uint8Array.from(coreModule({ functions: [], tables: [[0x70, 1, 1, 10]] }));
  const alone = { ...read, module };
  const glue = { script: "", main: "main", modules: { shim: module }, wasi: {} };
  assert.equal(outsideMemory({ ...alone, glue }), 2 * outsideMemory(alone));
});
