import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import type { WitFunction, WitType, WitValue } from "../wit.ts";
import { EXPORTS, IMPORTS } from "../component/world.ts";
import { codecOf } from "./compound-codecs.ts";
import { type CoreValue, GuestKilled, GuestTrap } from "./webassembly.ts";
import { heap } from "./heap.fixture.ts";
import { GuestMemory } from "./memory.ts";

interface Sample {
  readonly type: WitType;
  readonly values: fc.Arbitrary<WitValue>;
}

const named = <T>(parts: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), parts, { minKeys: 1, maxKeys: 4, noNullPrototype: true });

const plain = <T>(parts: Record<string, fc.Arbitrary<T>>): fc.Arbitrary<Record<string, T>> => fc.record(parts, { noNullPrototype: true });

const leaf: fc.Arbitrary<Sample> = fc.constantFrom<Sample>(
  { type: "bool", values: fc.boolean() },
  { type: "u8", values: fc.nat(0xff) },
  { type: "u16", values: fc.nat(0xffff) },
  { type: "u32", values: fc.integer({ min: 0, max: 0xffffffff }) },
  { type: "s32", values: fc.integer() },
  { type: "u64", values: fc.bigInt(0n, 2n ** 64n - 1n) },
  { type: "f64", values: fc.double() },
  { type: "string", values: fc.string({ unit: "binary" }) },
  { type: { list: "u8" }, values: fc.uint8Array().map((bytes) => Uint8Array.from(bytes)) },
  { type: { enum: ["red", "green"] }, values: fc.constantFrom("red", "green") },
);

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small" },
    leaf,
    tie("sample")
      .filter(({ type }) => type !== "u8")
      .map(({ type, values }) => ({ type: { list: type }, values: fc.array(values, { maxLength: 3 }) })),
    tie("sample")
      .filter(({ type }) => typeof type === "string" || !("option" in type))
      .map(({ type, values }) => ({ type: { option: type }, values: fc.option(values, { nil: undefined }) })),
    fc.array(tie("sample"), { minLength: 1, maxLength: 4 }).map((parts) => ({
      type: { tuple: parts.map(({ type }) => type) },
      values: fc.tuple(...parts.map(({ values }) => values)),
    })),
    fc.tuple(tie("sample"), tie("sample")).map(([ok, err]) => ({
      type: { result: { ok: ok.type, err: err.type } },
      values: fc.oneof(plain({ ok: ok.values }), plain({ err: err.values })),
    })),
    named(tie("sample")).map((fields) => ({
      type: { record: each(fields, ({ type }) => type) },
      values: plain(each(fields, ({ values }) => values)),
    })),
    named(tie("sample")).map((cases) => ({
      type: { variant: each(cases, ({ type }) => type) },
      values: fc.oneof(...Object.entries(cases).map(([name, { values }]) => values.map((value) => ({ [name]: value })))),
    })),
  ),
}));

function each<A, B>(record: Readonly<Record<string, A>>, of: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, of(value)]));
}

const valued = sample.chain(({ type, values }) => fc.tuple(fc.constant(type), values));

function stored(type: WitType, value: WitValue): number[] {
  const { memory } = heap(0);
  const codec = codecOf(type);
  const at = memory.allocate(codec.size, codec.align);
  codec.store(memory, value, at);
  return Array.from(memory.bytes);
}

suite("values in a guest's memory", () => {
  test("are loaded from memory as they were stored", () => {
    fc.assert(
      fc.property(valued, ([type, value]) => {
        const { memory } = heap();
        const codec = codecOf(type);
        const at = memory.allocate(codec.size, codec.align);
        codec.store(memory, value, at);
        assert.deepEqual(codec.load(memory, at), value);
      }),
    );
  });

  test("are lifted from core values as they were lowered, after others, each with its type", () => {
    fc.assert(
      fc.property(valued, ([type, value]) => {
        const { memory } = heap();
        const codec = codecOf(type);
        const flat: CoreValue[] = [0];
        codec.lower(memory, value, flat, 1);
        assert.deepEqual(
          flat.slice(1).map((one) => typeof one),
          codec.flat.map((one) => (one === "i64" ? "bigint" : "number")),
        );
        assert.deepEqual(codec.lift(memory, flat, 1), value);
      }),
    );
  });

  test("have the layout of the canonical ABI", () => {
    assert.deepEqual(stored({ tuple: ["u8", "u16", "u8", "u32"] }, [1, 2, 3, 4]), [1, 0, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    assert.deepEqual(stored({ option: { list: "u8" } }, Uint8Array.of(7, 8)), [1, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 7, 8]);
    assert.deepEqual(stored({ result: { err: "string" } }, { err: "é" }), [1, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 0xc3, 0xa9]);
    assert.deepEqual(stored({ option: "u64" }, 258n), [1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(stored({ record: { a: "bool", b: "s32" } }, { a: true, b: -2 }), [1, 0, 0, 0, 254, 255, 255, 255]);
    assert.deepEqual(stored({ variant: { none: null, some: "u16" } }, { some: 5 }), [1, 0, 5, 0]);
    assert.deepEqual(stored({ enum: ["a", "b", "c"] }, "c"), [2]);
    assert.deepEqual(stored({ enum: Array.from({ length: 300 }, (_, index) => `n${index}`) }, "n258"), [2, 1]);
    assert.deepEqual(
      stored({ list: { tuple: ["u8", "u16"] } }, [
        [1, 2],
        [3, 4],
      ]),
      [8, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0],
    );
  });

  test("share core values among the cases of a variant, by their bits if types differ", () => {
    const codec = codecOf({ result: { ok: "f64", err: "string" } });
    assert.deepEqual(codec.flat, ["i32", "i64", "i32"]);
    const flat: CoreValue[] = [];
    codec.lower(heap().memory, { ok: 1.5 }, flat, 0);
    assert.deepEqual(flat, [0, 0x3ff8000000000000n, 0]);
    codec.lower(heap(64).memory, { err: "ab" }, flat, 0);
    assert.deepEqual(flat, [1, 64n, 2]);
  });

  test("are masked to their width", () => {
    const { memory } = heap();
    assert.equal(codecOf("u8").lift(memory, [-1], 0), 255);
    assert.equal(codecOf("u16").lift(memory, [0x12345], 0), 0x2345);
    assert.equal(codecOf("u32").lift(memory, [-1], 0), 0xffffffff);
    assert.equal(codecOf("s32").lift(memory, [0xffffffff], 0), -1);
    assert.equal(codecOf("u64").lift(memory, [-1n], 0), 2n ** 64n - 1n);
    assert.equal(codecOf("bool").lift(memory, [256], 0), true);
  });

  test("are copies, so later writes of the guest are not visible", () => {
    const { memory } = heap();
    const bytes = codecOf({ list: "u8" }).lift(memory, [0, 4], 0);
    memory.bytes.fill(9);
    assert.deepEqual(bytes, new Uint8Array(4));
    assert.ok(bytes instanceof Uint8Array);
    assert.equal(bytes.buffer.byteLength, 4);
  });

  test("keep a byte order mark, and lone surrogates become U+FFFD", () => {
    const { memory } = heap();
    const flat: CoreValue[] = [];
    codecOf("string").lower(memory, "\uFEFFa\uD800", flat, 0);
    assert.equal(codecOf("string").lift(memory, flat, 0), "\uFEFFa\uFFFD");
  });
});

suite("a hostile guest's values", () => {
  const trap = (pattern: RegExp) => ({ name: "GuestTrap", message: pattern });

  test("trap if a list or a string exceeds the memory, for any length", () => {
    const { memory } = heap(64);
    for (const type of ["string", { list: "u8" }, { list: "u64" }, { list: { tuple: [] } }] satisfies WitType[]) {
      const codec = codecOf(type);
      assert.throws(() => codec.lift(memory, [72, 0], 0), trap(/does not lie inside its memory of 64 bytes/));
      assert.throws(() => codec.lift(memory, [-8, -1], 0), trap(/does not lie inside/));
    }
    assert.throws(() => codecOf({ list: "u64" }).lift(memory, [8, 0x20000000], 0), trap(/4294967296 bytes at 8/));
    assert.deepEqual(codecOf({ list: "u64" }).lift(memory, [64, 0], 0), []);
  });

  test("trap if they are not aligned", () => {
    assert.throws(() => codecOf({ list: "u64" }).lift(heap().memory, [4, 1], 0), trap(/4, is not a multiple of 8/));
  });

  test("trap on text that is not UTF-8", () => {
    const { memory } = heap();
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]]) {
      memory.bytes.set(bytes);
      assert.throws(() => codecOf("string").lift(memory, [0, bytes.length], 0), trap(/is not UTF-8/));
    }
  });

  test("trap on an unknown case, in memory and as a core value", () => {
    const { memory } = heap();
    memory.bytes.fill(2);
    for (const type of [{ option: "u8" }, { result: {} }, { enum: ["a", "b"] }, { variant: { a: null } }] satisfies WitType[]) {
      assert.throws(() => codecOf(type).load(memory, 0), trap(/gave case 2/));
      assert.throws(() => codecOf(type).lift(memory, [-1, 0], 0), trap(/gave case 4294967295/));
    }
  });

  test("trap if a core value has another type", () => {
    for (const type of ["u32", "f64", "string", { option: "u8" }] satisfies WitType[])
      assert.throws(() => codecOf(type).lift(heap().memory, [1n], 0), trap(/another type than the component says/));
    assert.throws(() => codecOf("u64").lift(heap().memory, [1], 0), trap(/another type/));
  });

  test("cannot make the host copy more than its budget, by a shared string or by empty elements", () => {
    const { memory, budget } = heap(1024);
    for (let at = 0; at < 1024; at += 8) memory.view.setUint32(at + 4, 1024, true);
    memory.bytes.fill(0x20, 1000);
    budget(10_000);
    const killed = { name: "GuestKilled", why: "bytes" };
    assert.throws(() => codecOf({ list: { list: "u8" } }).lift(memory, [0, 125], 0), killed);
    budget(10_000);
    assert.throws(() => codecOf({ list: { record: {} } }).lift(memory, [0, -1], 0), killed);
    budget(100);
    assert.throws(() => codecOf("string").lift(memory, [0, 101], 0), killed);
  });

  test("only trap or exceed a limit, for any memory and every type of the world", () => {
    const types = [IMPORTS, EXPORTS].flatMap((table) =>
      Object.values(table).flatMap((members) =>
        Object.values<WitFunction>(members).flatMap(({ params, result }) => [
          ...Object.values(params),
          ...(result === undefined ? [] : [result]),
        ]),
      ),
    );
    const small = fc.oneof(fc.nat(3), fc.nat(255));
    fc.assert(
      fc.property(fc.array(small, { minLength: 256, maxLength: 256 }), (bytes) => {
        const { memory, budget } = heap(256);
        memory.bytes.set(bytes);
        for (const type of types) {
          budget(4096);
          const codec = codecOf(type);
          const words = codec.flat.map((core, index) => (core === "i64" ? BigInt(bytes[index] ?? 0) : (bytes[index] ?? 0)));
          for (const read of [() => codec.load(memory, 0), () => codec.lift(memory, words, 0)])
            try {
              read();
            } catch (thrown) {
              assert.ok(thrown instanceof GuestTrap || thrown instanceof GuestKilled, String(thrown));
            }
        }
      }),
      { numRuns: 30 },
    );
  });
});

suite("a host's values", () => {
  test("of the wrong type end the call with a message", () => {
    const wrong: readonly (readonly [WitType, WitValue])[] = [
      ["bool", 1],
      ["u8", 256],
      ["u16", -1],
      ["u32", 0.5],
      ["s32", 2 ** 31],
      ["u64", 1],
      ["u64", 2n ** 64n],
      ["f64", "1"],
      ["string", 1],
      [{ list: "u8" }, [1]],
      [{ list: "string" }, "a"],
      [{ tuple: ["u8"] }, []],
      [{ record: { a: "u8" } }, { b: 1 }],
      [{ enum: ["a"] }, "b"],
      [{ variant: { a: null } }, { b: undefined }],
      [{ result: { err: "string" } }, undefined],
      [{ result: { err: "string" } }, {}],
    ];
    for (const [type, value] of wrong) {
      const refused = { name: "GuestTrap", message: /^The host gave something else where the guest's world has / };
      assert.throws(() => stored(type, value), refused, JSON.stringify(type));
      assert.throws(() => codecOf(type).lower(heap().memory, value, [], 0), refused);
    }
  });

  test("trap if the guest's allocator returns an invalid address", () => {
    for (const place of [3, 1024, -8, 1n, undefined]) {
      const memory = new GuestMemory({ buffer: new ArrayBuffer(64) }, () => place);
      assert.throws(() => codecOf({ list: "u64" }).lower(memory, [1n], [], 0), { name: "GuestTrap" });
    }
  });
});
