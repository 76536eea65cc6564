import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bytes, coreModule, leb, MODULE, section, text, vec } from "../component/core-module.fixture.ts";
import { component } from "../component/component.fixture.ts";
import { readComponent } from "../component/read-component.ts";
import { readLinkable } from "./linkable.ts";
import { type WasiHost, wasiOf } from "./wasi.ts";

const INSTANCE = section(2, vec([[0, 1, ...vec([[...text("main"), 0x12, 0]])]]));

/** Core module 1, which imports from the main one. */
const linked = (module: Bytes, instances = 1): Uint8Array =>
  component({ more: [section(1, module), ...Array.from({ length: instances }, () => INSTANCE)] });

/** Imports the main module's allocator, and has this many more bytes. */
const seeing = (more = 0): Bytes => [
  ...MODULE,
  ...section(1, vec([[0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f]])),
  ...section(2, vec([[...text("main"), ...text("cabi_realloc"), 0, 0]])),
  ...section(11, [...leb(1), 1, ...leb(more), ...Array.from({ length: more }, () => 0)]),
];

test("core modules that import each other are linked with jco, and refused without", () => {
  const bytes = linked(seeing());
  assert.throws(() => readComponent(bytes), { code: "NEEDS_JCO" });
  const { component: read, main, modules, wasi } = readLinkable(bytes);
  assert.equal(modules.size, 1);
  assert.equal(modules.has(main), false);
  assert.deepEqual(wasi, {});
  assert.ok(read.exports["actor.init"]);
});

test("a guest has one memory, that of its main module", () => {
  assert.throws(() => readLinkable(linked(coreModule({ functions: [] }))), { code: "MEMORY_LIMIT", message: /several memories/u });
});

test("tables of all core modules are bounded", () => {
  const huge = coreModule({ functions: [], memory: [], tables: [[0x70, 0, ...leb(2_000_000)]] });
  assert.throws(() => readLinkable(linked(huge)), { code: "MEMORY_LIMIT", message: /2000000 elements/u });
});

test("the number and size of other core modules are limited", () => {
  assert.throws(() => readLinkable(linked(seeing(), 40)), { code: "BAD_COMPONENT", message: /41 core modules, and 32/u });
  assert.throws(() => readLinkable(linked(seeing(1_100_000), 4)), { code: "BAD_COMPONENT", message: /more than 4194304 bytes/u });
});

test("names that would become code in generated glue are refused, also of unused exports", () => {
  for (const name of ["a'b", "a\\", "a`", "a\nb", "${a}", "a\u2028"]) {
    const module = coreModule({ functions: [{ name, type: { params: [], results: [] } }], memory: [] });
    assert.throws(() => readLinkable(linked(module)), { code: "BAD_COMPONENT", message: /names that jco makes code of/u });
  }
});

test("names in components must be valid in WIT, at any nesting", () => {
  for (const name of ["url=<x>", "my:own/thing'+x+'", "a b"])
    assert.throws(() => readComponent(component({ imports: { [name]: {} } })), { code: "BAD_COMPONENT", message: /no name that WIT has/u });
});

test("what a guest prints keeps its characters where a write ends within one, but not beyond a call", () => {
  const printed: string[] = [];
  let call = { at: 0, seed: "" };
  const host: WasiHost = {
    call: () => call,
    print: (line) => void printed.push(line),
    count: () => undefined,
    fail: (thrown) => new Error(String(thrown)),
  };
  const open = wasiOf(host)["wasi:cli/stdout"]?.["getStdout"];
  assert.ok(typeof open === "function");
  const write = (bytes: Uint8Array): void => {
    // A guest may ask for the stream again for each write.
    const out: unknown = Reflect.apply(open, undefined, []);
    assert.ok(typeof out === "object" && out !== null && "write" in out && typeof out.write === "function");
    Reflect.apply(out.write, out, [bytes]);
  };
  const bytes = Buffer.from("Grüße");
  for (const part of [bytes.subarray(0, 3), bytes.subarray(3), bytes.subarray(0, 3)]) write(part);
  call = { at: 1, seed: "" };
  write(Buffer.from("ok"));
  assert.deepEqual(printed, ["Gr", "üße", "Gr", "ok"]);
});
