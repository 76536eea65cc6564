import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { test } from "node:test";
import { webAssembly } from "../abi/webassembly.ts";
import { type WasmCode, WasmError } from "../wasm-error.ts";
import type { WitFunction } from "../wit.ts";
import { readCoreModule } from "./core-module.ts";
import { type Bytes, coreModule, leb, MODULE, section, text, vec } from "./core-module.fixture.ts";
import { ACTOR, component, layered } from "./component.fixture.ts";
import { MAX_COMPONENT_BYTES, readComponent } from "./read-component.ts";
import { EXPORTS, IMPORTS } from "./world.ts";

const root = resolve(import.meta.dirname, "../../../..");
// Except the one whose WASI needs jco.
const guests = globSync(["examples/wasm/*/*.wasm", "test/wasm/guests/!(wasi)/*.wasm"], { cwd: root });
const guest = (name: string): Uint8Array => readFileSync(resolve(root, guests.find((path) => basename(path) === `${name}.wasm`) ?? name));

const refused =
  (code: WasmCode, ...says: readonly string[]) =>
  (error: unknown) => {
    assert.ok(error instanceof WasmError, String(error));
    assert.equal(error.code, code, error.message);
    for (const each of says) assert.ok(error.message.includes(each), `${error.message}\nshould say: ${each}`);
    return true;
  };

const init: WitFunction = EXPORTS.actor.init;
/** The result type of `init`. */
const result = { result: { ok: { tuple: [{ option: { list: "u8" } }] }, err: "string" } } as const;

void test("each guest built by a toolchain is read, and its module compiles with exactly its imports", () => {
  assert.ok(guests.length >= 9);
  for (const path of guests) {
    const read = readComponent(readFileSync(resolve(root, path)));
    assert.ok(new webAssembly.Module(read.module));
    const core = readCoreModule(read.module);
    assert.deepEqual(
      read.imports.map(({ name, module, field }) => [name, module, field]),
      core.imports.map(({ module, field }) => [`${module.replace(/^.*\//, "")}.${field}`, module, field]),
      path,
    );
    const named = Object.values(read.exports).flatMap(({ core: own, post }) => (post === undefined ? [own] : [own, post]));
    for (const name of [...named, read.realloc, read.memory]) assert.ok(core.exports.has(name), `${path}: ${name}`);
    assert.ok(read.exports["actor.init"]);
    assert.equal(read.module.buffer.byteLength, read.module.length, "what is sent to a worker is the module alone");
  }
});

void test("a guest that imports whole interfaces has each function once", () => {
  const { imports } = readComponent(guest("asker"));
  const wanted = (["runtime", "message-server-host", "supervisor", "store", "timing", "random"] as const).flatMap((of) =>
    Object.keys(IMPORTS[of]).map((name) => `${of}.${name}`),
  );
  assert.deepEqual(imports.map(({ name }) => name).toSorted(), wanted.toSorted());
});

void test("a guest of April 2025 has the old package name, and opens channels without an id", () => {
  const { package: name, exports } = readComponent(guest("old"));
  assert.equal(name, "ntwk:theater");
  assert.deepEqual(exports["message-server-client.handle-channel-open"], {
    core: "ntwk:theater/message-server-client#handle-channel-open",
    post: "cabi_post_ntwk:theater/message-server-client#handle-channel-open",
    old: true,
  });
  assert.equal(exports["actor.init"]?.old, undefined);
});

void test("interfaces may have a version", () => {
  const read = readComponent(
    component({
      imports: { "theater:simple/timing@0.2.1": { now: IMPORTS.timing.now } },
      exports: { "theater:simple/actor@0.2.1": { init } },
    }),
  );
  assert.deepEqual(read.imports, [{ name: "timing.now", module: "theater:simple/timing@0.2.1", field: "now" }]);
  assert.deepEqual(read.exports, { "actor.init": { core: "theater:simple/actor@0.2.1#init" } });
  assert.throws(
    () => readComponent(component({ exports: { "theater:simple/actor@0.2.1": { init }, "theater:simple/actor@0.2.2": { init } } })),
    refused("WRONG_WORLD", "actor.init twice"),
  );
});

void test("every function of Theater's world is known as import and export, with its core type", () => {
  const all = (of: Readonly<Record<string, Readonly<Record<string, WitFunction>>>>) =>
    Object.fromEntries(Object.entries(of).map(([name, functions]) => [`ntwk:theater/${name}`, functions]));
  const { imports, exports } = readComponent(component({ imports: all(IMPORTS), exports: all(EXPORTS) }));
  assert.equal(imports.length, Object.values(IMPORTS).flatMap((functions) => Object.keys(functions)).length);
  assert.equal(Object.keys(exports).length, Object.values(EXPORTS).flatMap((functions) => Object.keys(functions)).length);
});

void test("the error for a wrong type names interface, function and both types in WIT", () => {
  const other: WitFunction = { params: { state: { option: "string" }, params: { tuple: ["string"] } }, result };
  assert.throws(
    () => readComponent(component({ exports: { "theater:simple/actor": { init: other } } })),
    refused(
      "WRONG_WORLD",
      "exports init of theater:simple/actor",
      "Expected: func(state: option<list<u8>>, params: tuple<string>) -> result<tuple<option<list<u8>>>, string>.",
      "Found: func(state: option<string>, params: tuple<string>) -> result<tuple<option<list<u8>>>, string>.",
    ),
  );
  assert.throws(
    () => readComponent(component({ imports: { "theater:simple/timing": { now: { params: {}, result: "s32" } } } })),
    refused("WRONG_WORLD", "imports now of theater:simple/timing", "Expected: func() -> u64. Found: func() -> s32."),
  );
});

void test("parameter names are ignored, field names are compared", () => {
  const renamed: WitFunction = { params: { s: { option: { list: "u8" } }, p: { tuple: ["string"] } }, result };
  assert.ok(readComponent(component({ exports: { "theater:simple/actor": { init: renamed } } })));
  const get: WitFunction = {
    params: { "store-id": "string", "content-ref": { record: { digest: "string" } } },
    result: { result: { ok: { list: "u8" }, err: "string" } },
  };
  assert.throws(
    () => readComponent(component({ imports: { "theater:simple/store": { get } } })),
    refused("WRONG_WORLD", "content-ref: record { hash: string }", "content-ref: record { digest: string }"),
  );
});

void test("a component that is not an actor is refused, with what is missing and what it exports", () => {
  assert.throws(
    () => readComponent(component({ exports: { "wasi:cli/run@0.2.0": { run: { params: {} } } } })),
    refused("WRONG_WORLD", "theater:simple/actor", "init: func(state: option<list<u8>>", '"wasi:cli/run@0.2.0"'),
  );
  assert.throws(
    () => readComponent(component({ exports: { "theater:simple/message-server-client": EXPORTS["message-server-client"] } })),
    refused("WRONG_WORLD", "init: func"),
  );
  assert.throws(() => readComponent(Uint8Array.from(layered())), refused("WRONG_WORLD", "It exports nothing"));
  const client = { "message-server-client": EXPORTS["message-server-client"] };
  assert.throws(
    () => readComponent(component({ exports: { ...ACTOR, "ntwk:theater/message-server-client": client["message-server-client"] } })),
    refused("WRONG_WORLD", "one of the two packages"),
  );
});

void test("imports of another world are named, and need jco", () => {
  const clock = {
    "wasi:clocks/wall-clock@0.2.0": { now: { params: {}, result: "u64" } },
    "wasi:cli/exit": { exit: { params: {} } },
  } as const;
  assert.throws(
    () => readComponent(component({ imports: clock })),
    refused("NEEDS_JCO", '"wasi:clocks/wall-clock@0.2.0", "wasi:cli/exit"', "jco"),
  );
  assert.ok(readComponent(component({ imports: { "wasi:io/types": {} } })), "types alone ask for nothing");
});

void test("an import of Theater that is not offered is named, with those that are", () => {
  const spawn: WitFunction = { params: {}, result: "u64" };
  assert.throws(
    () => readComponent(component({ imports: { "theater:simple/process": { "os-spawn": spawn } } })),
    refused("WRONG_WORLD", "theater:simple/process", "runtime, message-server-host"),
  );
  assert.throws(
    () => readComponent(component({ imports: { "theater:simple/timing": { tomorrow: spawn } } })),
    refused("WRONG_WORLD", '"tomorrow" of theater:simple/timing', "now, sleep, deadline"),
  );
  assert.throws(
    () => readComponent(component({ imports: { "ntwk:theater/timing": { now: IMPORTS.timing.now } } })),
    refused("WRONG_WORLD", "one of the two packages"),
  );
});

void test("a core module, garbage and a component that is too large give different errors", () => {
  const module = Uint8Array.from(coreModule({ functions: [] }));
  assert.throws(() => readComponent(module), refused("BAD_COMPONENT", "core module", "wasm-tools component new"));
  assert.throws(() => readComponent(Buffer.from("component = 1\n")), refused("BAD_COMPONENT", "not WebAssembly"));
  assert.throws(() => readComponent(Buffer.from("\0asm\x0e\0\x01\0")), refused("BAD_COMPONENT", "0e000100"));
  assert.throws(() => readComponent(new Uint8Array()), refused("BAD_COMPONENT"));
  assert.throws(() => readComponent(new Uint8Array(MAX_COMPONENT_BYTES + 1)), refused("BAD_COMPONENT", "67108865"));
});

void test("core functions with another type than the component declares are refused", () => {
  const core = { "theater:simple/actor#init": { params: ["i64"], results: ["i32"] } } as const;
  assert.throws(
    () => readComponent(component({ core })),
    refused("BAD_COMPONENT", '"theater:simple/actor#init" is not (i32, i32, i32, i32, i32) -> (i32)'),
  );
});

/** Core module 1 imports this function of the main module, and has it as start function. */
function starter(name: string): readonly Bytes[] {
  const module = [
    ...MODULE,
    ...section(1, vec([[0x60, 0, 0]])),
    ...section(2, vec([[...text("main"), ...text(name), 0, 0]])),
    ...section(8, leb(0)),
  ];
  return [section(1, module), section(2, vec([[0, 1, ...vec([[...text("main"), 0x12, 0]])]]))];
}

void test("another module may call only _initialize of the main one; anything else needs jco", () => {
  assert.ok(readComponent(component({ more: starter("_initialize") })));
  assert.throws(() => readComponent(component({ more: starter("cabi_realloc") })), refused("NEEDS_JCO", "several core modules"));
  assert.throws(
    () => readComponent(component({ more: [...starter("_initialize"), section(2, vec([[0, 1, ...vec([[...text("main"), 0x12, 0]])]]))] })),
    refused("NEEDS_JCO", "several core modules"),
  );
});
