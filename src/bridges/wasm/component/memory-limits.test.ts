import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { webAssembly } from "../abi/webassembly.ts";
import { WasmError } from "../wasm-error.ts";
import { type Bytes, coreModule, leb, MODULE, section, text, vec } from "./core-module.fixture.ts";
import { readComponent } from "./read-component.ts";
import { capMemory, bytesOutsideMemory } from "./memory-limits.ts";
import { component } from "./component.fixture.ts";

const PAGE = 65_536;
const FUNCREF = 0x70;

const module = (memory: Bytes, ...tables: readonly Bytes[]): Uint8Array => Uint8Array.from(coreModule({ functions: [], memory, tables }));

const globals = (...all: readonly Bytes[]): Uint8Array => Uint8Array.from([...MODULE, ...section(6, vec(all))]);

const refused = (says: string) => (error: unknown) => {
  assert.ok(error instanceof WasmError, String(error));
  assert.equal(error.code, "MEMORY_LIMIT");
  assert.ok(error.message.includes(says), error.message);
  return true;
};

/** The most pages of its memory: grows it until that fails. */
function most(bytes: Uint8Array): number {
  const { memory } = new webAssembly.Instance(new webAssembly.Module(bytes), {}).exports;
  assert.ok(memory instanceof webAssembly.Memory);
  const grow: unknown = Reflect.get(memory, "grow");
  assert.ok(typeof grow === "function");
  try {
    for (;;) grow.call(memory, 1);
  } catch {
    return memory.buffer.byteLength / PAGE;
  }
}

void test("a memory grows up to the limit, with or without a declared maximum", () => {
  assert.equal(most(capMemory(module([0, 1]), 4 * PAGE)), 4);
  assert.equal(most(capMemory(module([1, 1, ...leb(1_000)]), 200 * PAGE)), 200);
  assert.equal(most(capMemory(module([1, 1, 3]), 200 * PAGE)), 3);
  assert.equal(most(capMemory(module([0, 2]), 2 * PAGE + 100)), 2);
});

void test("a memory that starts above the limit is refused, with both numbers", () => {
  assert.throws(() => capMemory(module([0, 17]), 16 * PAGE), refused("1114112 bytes of memory, and it may have 1048576"));
});

void test("a memory that cannot be bounded is refused", () => {
  assert.throws(() => capMemory(module([3, 1, 2]), PAGE), refused("shared"));
  assert.throws(() => capMemory(module([4, 1]), PAGE), refused("64 bits"));
  assert.throws(() => capMemory(module([8, 1, 0]), PAGE), refused("another size"));
  assert.throws(
    () =>
      capMemory(
        Uint8Array.from([
          ...MODULE,
          ...section(
            5,
            vec([
              [0, 1],
              [0, 1],
            ]),
          ),
        ]),
        PAGE,
      ),
    refused("2 memories"),
  );
  for (const imported of [
    [2, 0, 1],
    [1, FUNCREF, 0, 1],
    [3, 0x7f, 0],
  ])
    assert.throws(
      () => capMemory(Uint8Array.from([...MODULE, ...section(2, vec([[...text("env"), ...text("x"), ...imported]]))]), PAGE),
      refused("imports"),
    );
});

void test("objects outside the memory are bounded too: tables and garbage-collected types", () => {
  const capped = capMemory(module([0, 1], [FUNCREF, 0, 1], [FUNCREF, 1, 1, ...leb(10_000_000)], [0x6f, 1, 2, 5]), PAGE);
  assert.ok(new webAssembly.Module(capped));
  assert.ok(
    Buffer.from(capped).includes(
      Buffer.from(
        section(
          4,
          vec([
            [FUNCREF, 1, 1, ...leb(1_001)],
            [FUNCREF, 1, 1, ...leb(98_997)],
            [0x6f, 1, 2, 2],
          ]),
        ),
      ),
    ),
  );
  assert.throws(() => capMemory(module([0, 1], [FUNCREF, 0, ...leb(100_001)]), PAGE), refused("100001 elements"));
  const half: Bytes = [FUNCREF, 0, ...leb(60_000)];
  assert.throws(() => capMemory(module([0, 1], half, half), PAGE), refused("120000 elements"));
  assert.throws(() => capMemory(module([0, 1], ...Array.from({ length: 17 }, () => [FUNCREF, 0, 1])), PAGE), refused("17 tables"));
  assert.throws(() => capMemory(module([0, 1], [0x63, 0, 0, 1]), PAGE), refused("typed references"));
  assert.throws(() => capMemory(module([0, 1], [0x40, 0, FUNCREF, 0, 1, 0xd0, FUNCREF, 0x0b]), PAGE), refused("initial element"));
  const array: Bytes = [0x5e, 0x7f, 1];
  assert.throws(() => capMemory(Uint8Array.from(coreModule({ functions: [], types: [array] })), PAGE), refused("garbage-collected"));
});

void test("exceptions cannot contain others, and globals hold few of them", () => {
  const EXNREF = 0x69;
  const thrown = (...params: Bytes): Uint8Array =>
    Uint8Array.from([...MODULE, ...section(1, vec([[0x60, ...vec(params.map((one) => [one])), 0]])), ...section(13, vec([[0, 0]]))]);
  assert.ok(new webAssembly.Module(capMemory(thrown(0x7f, 0x7e), PAGE)));
  assert.throws(() => capMemory(thrown(EXNREF), PAGE), refused("references"));
  assert.throws(() => capMemory(thrown(...Array.from({ length: 17 }, () => 0x7b)), PAGE), refused("16 values"));
  const held = (count: number): Uint8Array => globals(...Array.from({ length: count }, () => [EXNREF, 1, 0xd0, EXNREF, 0x0b]));
  assert.ok(new webAssembly.Module(capMemory(held(1_000), PAGE)));
  assert.throws(() => capMemory(held(1_001), PAGE), refused("1001 globals that hold references"));
});

void test("a module may have thousands of numeric globals with any initial values", () => {
  const kinds: Bytes[] = [
    [0x7f, 0, 0x41, 0x80, 0x7f, 0x0b],
    [0x7e, 1, 0x42, ...Array.from({ length: 9 }, () => 0x8b), 0, 0x0b],
    [0x7d, 1, 0x43, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b],
    [0x7c, 1, 0x44, ...Array.from({ length: 8 }, () => 0x0b), 0x0b],
    [0x7b, 1, 0xfd, 0x0c, ...Array.from({ length: 16 }, () => 0x0b), 0x0b],
    [0x7f, 1, 0x23, 0, 0x41, 11, 0x6a, 0x0b],
    [FUNCREF, 1, 0xd0, FUNCREF, 0x0b],
    [0x6c, 1, 0x41, 11, 0xfb, 0x1c, 0x0b],
  ];
  const many = globals(...Array.from({ length: 500 }, () => kinds).flat());
  assert.ok(new webAssembly.Module(many));
  assert.deepEqual(capMemory(many, PAGE), many);
  assert.throws(() => capMemory(globals([0x7f, 0, 0x01, 0x41, 0, 0x0b]), PAGE), /not constant/);
});

void test("each guest's module stays valid, and changes only in the limit", () => {
  const root = resolve(import.meta.dirname, "../../../..");
  const paths = globSync(["examples/wasm/*/*.wasm", "test/wasm/guests/!(wasi)/*.wasm"], { cwd: root });
  assert.ok(paths.length >= 9);
  for (const path of paths) {
    const before = readComponent(readFileSync(resolve(root, path))).module;
    const after = capMemory(before, 64 * PAGE);
    assert.ok(new webAssembly.Module(after), path);
    assert.deepEqual(capMemory(after, 64 * PAGE), after, "once is enough");
  }
});

void test("bytes that are not a core module are refused", () => {
  assert.throws(() => capMemory(Uint8Array.of(0, 1, 2), PAGE), WasmError);
  const whole = module([0, 1]);
  assert.throws(() => capMemory(whole.subarray(0, whole.length - 1), PAGE), WasmError);
});

const read = readComponent(component({}));
const outside = (functions: number, ...tables: readonly Bytes[]): number => {
  const all = Array.from({ length: functions }, (_, n) => ({ name: `f${n}`, type: { params: [], results: [] } }));
  return bytesOutsideMemory({ ...read, module: Uint8Array.from(coreModule({ functions: all, tables })) });
};

test("an instance is charged for its functions, and for its tables at their maximum", () => {
  const element = outside(0, [0x70, 1, 1, 2]) - outside(0, [0x70, 1, 1, 1]);
  const each = outside(1) - outside(0);
  assert.ok(element >= 4 * 8 && each >= 4 * 64);
  assert.equal(outside(3, [0x70, 1, 0, 5], [0x6f, 0, ...leb(1_000)]), 3 * each + 2_005 * element);
  assert.equal(outside(0, [0x70, 1, 1, ...leb(10_000_000)], [0x70, 0, 1]), 100_000 * element);
});

test("an instance is charged for its globals: 16 bytes for numbers, more for references", () => {
  const held = (...entries: readonly Bytes[]): number =>
    bytesOutsideMemory({ ...read, module: Uint8Array.from([...MODULE, ...section(6, vec(entries))]) });
  const number: Bytes = [0x7b, 1, 0xfd, 0x0c, ...Array.from({ length: 16 }, () => 1), 0x0b];
  const exception: Bytes = [0x69, 1, 0xd0, 0x69, 0x0b];
  assert.equal(held(number, number), 2 * 4 * 16);
  assert.ok(held(exception) >= 4 * 1_090);
});

test("linked core modules are charged too", () => {
  const linked = Uint8Array.from(coreModule({ functions: [], tables: [[0x70, 1, 1, 10]] }));
  const alone = { ...read, module: linked };
  const glue = { script: "", main: "main", modules: { shim: linked }, wasi: {} };
  assert.equal(bytesOutsideMemory({ ...alone, glue }), 2 * bytesOutsideMemory(alone));
});
