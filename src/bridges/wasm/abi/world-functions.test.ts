import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { WitFunction, WitType } from "../wit.ts";
import { heap } from "./heap.fixture.ts";
import { compileExport, compileImport, compiledImport } from "./world-functions.ts";

const many = (count: number, result?: WitType): WitFunction => ({
  params: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, "u32" as const])),
  ...(result === undefined ? {} : { result }),
});
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

suite("a function's core values", () => {
  test("are its parameters, up to 16 of them", () => {
    assert.equal(compileExport(many(16)).arity, 16);
    assert.deepEqual(compileExport(many(16)).lower(heap().memory, upTo(16)), upTo(16));
    assert.deepEqual(compileImport(many(16)).lift(heap().memory, upTo(16)), upTo(16));
  });

  test("are one address if there are more, allocated by the guest or checked in its memory", () => {
    const { memory } = heap(64);
    const type = compileExport(many(17));
    assert.equal(type.arity, 1);
    assert.deepEqual(type.lower(memory, upTo(17)), [64]);
    assert.deepEqual(Array.from(new Uint32Array(memory.bytes.buffer, 64, 17)), upTo(17));
    assert.deepEqual(compileImport(many(17)).lift(memory, [64]), upTo(17));
    for (const pointer of [66, 68, -4]) assert.throws(() => compileImport(many(17)).lift(memory, [pointer]), { name: "GuestTrap" });
  });

  test("are its result, or an address if there are several, the last parameter of an import", () => {
    const { memory } = heap(64);
    assert.equal(compileExport(many(0, "u32")).lift(memory, -1), 0xffffffff);
    assert.equal(compileExport(many(0)).lift(memory, undefined), undefined);
    memory.bytes.set([1, 0, 0, 0, 7], 8);
    assert.equal(compileExport(many(0, { option: "u32" })).lift(memory, 8), 7);
    assert.equal(compileImport(many(1, "u32")).lower(memory, 9, [0]), 9);
    assert.equal(compileImport(many(1)).lower(memory, undefined, [0]), undefined);
    assert.equal(compileImport(many(1, { option: "u32" })).lower(memory, 9, [0, 16]), undefined);
    assert.deepEqual(Array.from(memory.bytes.subarray(16, 24)), [1, 0, 0, 0, 9, 0, 0, 0]);
    compileImport(many(17, { option: "u32" })).lower(memory, undefined, [0, 16]);
    assert.equal(memory.bytes[16], 0);
  });

  test("of the world match its generated bindings in number", () => {
    const { memory } = heap(2048);
    assert.equal(compiledImport("message-server-host.send").lift(memory, [0, 0, 0, 0, 64]).length, 2);
    assert.deepEqual(compiledImport("timing.sleep").lift(memory, [5n, 64]), [5n]);
    assert.deepEqual(compiledImport("runtime.shutdown").lift(memory, [0, 0, 0, 64]), [undefined]);
    const request = { method: "", uri: "", headers: [], body: undefined };
    assert.deepEqual(compiledImport("http-client.send-http").lift(memory, [0, 0, 0, 0, 0, 0, 0, 0, 0, 64]), [request]);
    assert.equal(compiledImport("runtime.get-chain").fallible, false);
    assert.equal(compiledImport("store.get").fallible, true);
  });
});
