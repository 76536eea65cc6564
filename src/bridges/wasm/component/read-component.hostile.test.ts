import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { WasmError } from "../wasm-error.ts";
import { capMemory } from "./memory-limits.ts";
import { ByteReader } from "./reader.ts";
import { type Bytes, leb, section, text, vec } from "./core-module.fixture.ts";
import { component, layered } from "./component.fixture.ts";
import type { Component } from "./component.ts";
import { readComponent } from "./read-component.ts";

const guest = (path: string): Uint8Array => new Uint8Array(readFileSync(resolve(import.meta.dirname, "../../../..", path)));
const counter = guest("examples/wasm/counter/counter.wasm");
const old = guest("test/wasm/guests/old/old.wasm");
const asker = guest("test/wasm/guests/asker/asker.wasm");

/** Undefined if it is refused. Any other error fails the test. */
function readOrRefused(bytes: Uint8Array): Component | undefined {
  try {
    return readComponent(bytes);
  } catch (error) {
    if (error instanceof WasmError) return undefined;
    throw error;
  }
}

function refusal(bytes: Uint8Array): string {
  try {
    readComponent(bytes);
  } catch (error) {
    if (error instanceof WasmError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return assert.fail("it was read");
}

void test("a component truncated at any byte is refused, unless only custom sections are missing", () => {
  for (const bytes of [counter, old]) {
    const custom: number[] = [];
    for (const reader = new ByteReader(bytes, 8); !reader.done;) {
      const { at } = reader;
      if (reader.u8() === 0) custom.push(at);
      else custom.length = 0;
      reader.part(reader.u32());
    }
    const whole: number[] = [];
    for (let length = 0; length < bytes.length; length += 1) if (readOrRefused(bytes.subarray(0, length)) !== undefined) whole.push(length);
    assert.deepEqual(whole, custom);
  }
});

const mutated = (bytes: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }).map((changes) => {
    const copy = bytes.slice();
    for (const [at, value] of changes) copy[at] = value;
    return copy;
  });

/** Offsets of everything except code, which is not read and is most of a guest. */
const small = component({ imports: { "theater:simple/timing": { now: { params: {}, result: "u64" } } } });

void test("whatever bytes are changed, a component is read or refused by a WasmError", () => {
  fc.assert(
    fc.property(fc.oneof(mutated(small), mutated(counter), mutated(asker)), (bytes) => {
      const read = readOrRefused(bytes);
      if (read === undefined) return;
      try {
        capMemory(read.module, 1_048_576);
      } catch (error) {
        if (!(error instanceof WasmError)) throw error;
      }
    }),
    { numRuns: 2_000 },
  );
});

void test("any bytes after a valid preamble are read or refused by a WasmError", () => {
  const beginning = layered();
  const sectioned = fc
    .array(fc.tuple(fc.nat(14), fc.uint8Array({ maxLength: 40 })), { maxLength: 6 })
    .map((all) => Uint8Array.from([...beginning, ...all.flatMap(([id, content]) => section(id, [...content]))]));
  fc.assert(
    fc.property(sectioned, (bytes) => void readOrRefused(bytes)),
    { numRuns: 1_000 },
  );
});

const built = (...all: readonly Bytes[]): Uint8Array => Uint8Array.from(layered(...all));

void test("a count beyond the end of the bytes costs nothing", () => {
  for (const id of [2, 5, 6, 7, 8, 10, 11]) assert.match(refusal(built(section(id, leb(0xffff_fff)))), /announces 268435455 items/);
});

void test("reading a component that instantiates itself ends", () => {
  // Inside, it refers to itself as component 0 of the enclosing scope.
  const inner = layered(
    section(6, vec([[4, 2, 1, 0]])),
    section(
      5,
      vec([
        [0, 0, 0],
        [0, 0, 0],
      ]),
    ),
  );
  assert.match(refusal(built(section(4, inner), section(5, vec([[0, 0, 0]])))), /BAD_COMPONENT: .*nested deeper than 24/);
});

void test("components that each instantiate the previous one twice are read in bounded time", () => {
  const twice = (at: number): Bytes => {
    const before = [
      section(6, vec([[4, 2, 1, ...leb(at - 1)]])),
      section(
        5,
        vec([
          [0, 0, 0],
          [0, 0, 0],
        ]),
      ),
    ];
    return section(4, layered(section(7, vec([[0x7f], [0x7f]])), ...(at === 0 ? [] : before)));
  };
  const all = Array.from({ length: 23 }, (_, at) => twice(at));
  assert.match(refusal(built(...all, section(5, vec([[0, 22, 0]])))), /BAD_COMPONENT: .*(300000 steps|134217728 bytes)/);
});

void test("a large component that is instantiated often is refused", () => {
  const large = section(4, layered(section(0, [...text("padding"), ...Array.from({ length: 200_000 }, () => 0)])));
  const often = section(5, vec(Array.from({ length: 1_000 }, () => [0, 0, 0])));
  assert.match(refusal(built(large, often)), /134217728 bytes/);
});

void test("too many sections are refused", () => {
  assert.match(refusal(built(Array.from({ length: 100_001 }, () => [0, 1, 0]).flat())), /more than 100000 sections/);
});

void test("types nested too deeply are refused", () => {
  let type: Bytes = [0x42, 0];
  for (let depth = 0; depth < 3_000; depth += 1) type = [0x42, 1, 1, ...type];
  assert.match(refusal(built(section(7, vec([type])))), /nested deeper than 24/);
});

void test("a small type that expands to gigabytes is compared and printed quickly", () => {
  // Each is a pair of the previous one.
  const doubled = Array.from({ length: 60 }, (_, at): Bytes => (at === 0 ? [0x7f] : [0x6f, 2, at - 1, at - 1]));
  const func: Bytes = [0x40, 1, ...text("state"), 59, 0, 59];
  const types = section(7, vec([...doubled, func]));
  const instance = section(7, vec([[0x42, 2, 2, 3, 2, 1, 60, 4, 0, ...text("init"), 1, 0]]));
  const message = refusal(built(types, instance, section(10, vec([[0, ...text("x:y/z"), 5, 61]])), exportsActor));
  assert.match(message, /WRONG_WORLD: .*Found: func\(state: tuple<tuple</);
  assert.ok(message.length < 2_500);
});

/** Instance 0 is exported as the actor. */
const exportsActor = section(11, vec([[0, ...text("theater:simple/actor"), 5, 0, 0]]));

void test("untrusted text is quoted on one short line", () => {
  const name = `x:y/${"z\n".repeat(5_000)}`;
  const message = refusal(component({ exports: { [name]: { run: { params: {} } } } }));
  assert.ok(message.length < 600 && !message.includes("\n"), message);
});

void test("a number with too many bits is refused", () => {
  const reader = (...bytes: readonly number[]) => new ByteReader(Uint8Array.from(bytes));
  assert.equal(reader(0xff, 0xff, 0xff, 0xff, 0x0f).u32(), 0xffff_ffff);
  assert.throws(() => reader(0xff, 0xff, 0xff, 0xff, 0x1f).u32(), WasmError);
  assert.throws(() => reader(0x80, 0x80, 0x80, 0x80, 0x80, 0).u32(), WasmError);
  assert.equal(reader(0x73).s33(), -13);
  assert.equal(reader(0x80, 0x7f).s33(), -128);
  assert.throws(() => reader(2, 0xff, 0xfe).name(), WasmError);
});
