import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { capMemory } from "../component/memory-limits.ts";
import { readComponent } from "../component/read-component.ts";
import type { WitValue } from "../wit.ts";
import { op, type TestFunction } from "./runnable-module.fixture.ts";
import { guest, put, RESULT, run, SEND, send, state, type TestGuest } from "./guest.fixture.ts";
import { compile } from "./webassembly.ts";
import { Instance } from "./instance.ts";
import type { CallOutcome, LocalCall, AnswerImport } from "./run-call.ts";

const nothing = op.i32(RESULT);
const starting = (body: readonly number[]): TestFunction => ({ name: "starts", params: [], results: [], body });
const logging = [...op.i32(0), ...op.i32(0), ...op.call(0)];

async function trapOf(of: TestGuest, wait: AnswerImport = async () => ({ ok: undefined })): Promise<string> {
  const outcome = await run(guest(of).make(), {}, wait);
  return outcome.end === "trap" ? outcome.message : outcome.end;
}

/** On the worker's stack, and on a suspendable one, like guests with imports that wait. */
const STACKS = [[], ["message-server-host.send"]] as const;

suite("a guest that traps", () => {
  test("is reported in a sentence, on either stack", async () => {
    const bodies: readonly (readonly [readonly number[], RegExp])[] = [
      [op.unreachable, /^The guest gave up: `unreachable` was executed\.$/],
      [[...op.i32(1), ...op.i32(0), ...op.divide], /^The guest divided an integer by zero\.$/],
      [[...op.i32(-4), ...op.load(0)], /^The guest read or wrote outside its memory\.$/],
      [op.i32(RESULT + 1), /^The guest's pointer to result, 17, is not a multiple of 4\.$/],
      [op.i32(-16), /^The guest's result, 16 bytes at 4294967280, does not lie inside its memory of 131072 bytes\.$/],
      [[...put(RESULT, op.i32(2)), ...nothing], /^The guest gave case 2 of a type result that has 2\.$/],
      [state(op.i32(-1), op.i32(1)), /^The guest's list, 1 bytes at 4294967295, does not lie inside its memory/],
    ];
    for (const imports of STACKS)
      for (const [body, message] of bodies) assert.match(await trapOf({ imports, functions: [send(body)] }), message);
  });

  test("by recursion leaves its worker intact, on either stack", async () => {
    for (const imports of STACKS) {
      const body = [...[0, 1, 2, 3, 4].flatMap((local) => op.get(local)), ...op.call(imports.length), ...op.i32(1), ...op.add];
      const message = "Stack overflow: the guest's calls were nested too deeply.";
      assert.equal(await trapOf({ imports, functions: [send(body)] }), message);
      assert.equal(await trapOf({ imports, functions: [send(nothing)] }), "ok");
    }
  });

  test("by recursion through an import leaves it intact too", async () => {
    const args = [0, 1, 2, 3, 4].flatMap((local) => op.get(local));
    for (const imports of [["environment.exists"], ["environment.exists", "message-server-host.send"]] as const) {
      const body = [...op.i32(0), ...op.i32(0), ...op.call(0), ...op.drop, ...args, ...op.call(imports.length)];
      const outcome = await run(guest({ imports, functions: [send(body)] }).make(), { limits: { ...unlimited } });
      assert.equal(outcome.end === "trap" && outcome.message, "Stack overflow: the guest's calls were nested too deeply.");
    }
  });
});

const unlimited = { callMs: 1000, memoryBytes: 1 << 24, hostCalls: Infinity, hostBytes: Infinity, resultBytes: 1000 };

suite("a guest may not call imports", () => {
  const message = "The guest called runtime.log where none may be called: while it starts, allocates or cleans up.";

  test("while it starts, in its start function or _initialize, caught or not", () => {
    for (const body of [logging, op.caught(logging)]) {
      const begins = { imports: ["runtime.log"], functions: [starting(body)], module: { start: 1 } } as const;
      assert.throws(() => guest(begins).make(), { name: "GuestTrap", message });
      const initializes = { imports: ["runtime.log"], functions: [{ ...starting(body), name: "_initialize" }] } as const;
      assert.throws(() => guest(initializes).make(), { name: "GuestTrap", message });
    }
  });

  test("while it allocates arguments or a result", async () => {
    const realloc = [...logging, ...op.i32(0)];
    assert.equal(await trapOf({ imports: ["runtime.log"], functions: [send(nothing)], realloc }), message);
    const sending = [0, 0, 0, 0, 64].flatMap(op.i32);
    const later = {
      imports: ["runtime.log", "message-server-host.request"],
      functions: [send([...sending, ...op.call(1), ...nothing])],
    } as const;
    const armed = [...op.i32(512), ...op.load(0), 0x04, 0x40, ...logging, 0x0b, ...put(512, op.i32(1)), ...op.i32(0)];
    assert.equal(await trapOf({ ...later, realloc: armed }, async () => ({ ok: Uint8Array.of(1) })), message);
  });

  test("while it cleans up", async () => {
    for (const body of [logging, op.caught(logging)]) {
      const post: TestFunction = { name: "post", params: ["i32"], results: [], body };
      const exports = { [SEND]: { core: "send", post: "post" } };
      assert.equal(await trapOf({ imports: ["runtime.log"], functions: [send(nothing), post], exports }), message);
    }
  });
});

suite("a module that does not match its component", () => {
  const trap = (message: RegExp) => ({ name: "GuestTrap", message });

  test("is refused before it runs if the mismatch is visible", () => {
    assert.throws(() => compile(Uint8Array.of(0, 1, 2)), trap(/^The guest's module does not compile: /));
    const made = guest({ functions: [send(nothing)] });
    const of = (change: Partial<typeof made.component>) => () => guestOf(made, change);
    assert.throws(of({ memory: "heap" }), trap(/exports no memory heap/));
    assert.throws(of({ memory: "send" }), trap(/exports no memory send/));
    assert.throws(of({ realloc: "alloc" }), trap(/no function alloc of 4 parameters/));
    assert.throws(of({ realloc: "send" }), trap(/no function send of 4 parameters/));
    const importing = guest({ imports: ["runtime.log"], functions: [send(nothing)] });
    assert.throws(() => guestOf(importing, { imports: [] }), trap(/imports what its component does not/));
    assert.throws(() => guest({ functions: [starting(op.unreachable)], module: { start: 0 } }).make(), trap(/gave up/));
  });

  test("traps otherwise", async () => {
    const wide: TestFunction = { name: "send", params: ["i64", "i32", "i32", "i32", "i32"], results: ["i32"], body: nothing };
    assert.match(await trapOf({ functions: [wide] }), /^A core function has another type than the component says: /);
    assert.match(await trapOf({ functions: [{ ...send([]), results: [] }] }), /gives no result/);
    assert.match(await trapOf({ functions: [{ ...send([0x42, 0]), results: ["i64"] }] }), /passes another type/);
    assert.match(await trapOf({ functions: [{ ...send([...nothing, ...nothing]), results: ["i32", "i32"] }] }), /gives no result/);
    assert.match(await trapOf({ functions: [{ ...send(nothing), params: ["i32"] }] }), /no function send of 5 parameters/);
    assert.match(await trapOf({ functions: [send(nothing)], exports: {} }), /does not export message-server-client\.handle-send/);
  });
});

suite("a process", () => {
  test("without address space for another memory reports it, and recovers once instances are dropped", () => {
    const made = guest({ functions: [send(nothing)] });
    const fill = (): void => {
      const kept: Instance[] = [];
      while (kept.length < 1_000_000) kept.push(made.make());
    };
    assert.throws(fill, { name: "NoRoom", code: "WASM_NO_ROOM" });
    assert.throws(fill, { name: "NoRoom" });
  });
});

function guestOf({ module, component }: ReturnType<typeof guest>, change: Partial<ReturnType<typeof guest>["component"]>): Instance {
  return new Instance(module, { ...component, ...change });
}

const PAGE = 65_536;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const REQUEST = "message-server-client.handle-request";

function instanceOf(path: string): Instance {
  const component = readComponent(readFileSync(new URL(`../../../../${path}`, import.meta.url)));
  return new Instance(compile(capMemory(component.module, 64 * PAGE)), component);
}

const ask = (instance: Instance, text: string, wait?: AnswerImport, call?: Partial<LocalCall>): Promise<CallOutcome> =>
  run(instance, { export: REQUEST, params: ["r", utf8(text)], ...call }, wait);

function replyOf(outcome: CallOutcome): string {
  assert.ok(outcome.end === "ok" && outcome.back instanceof Uint8Array, inspect(outcome));
  return new TextDecoder().decode(outcome.back);
}

suite("guests built by a real toolchain", () => {
  test("count", async () => {
    const counter = instanceOf("examples/wasm/counter/counter.wasm");
    const first = await run(counter, { export: "actor.init", params: ["id"] });
    assert.ok(first.end === "ok");
    const next = await run(counter, { state: first.state, params: [utf8("add")] });
    assert.deepEqual(next, {
      did: [{ name: "runtime.log", args: ["count is 1"], result: undefined }],
      end: "ok",
      state: utf8('{"count":1}'),
      back: undefined,
    });
    assert.equal(replyOf(await ask(counter, "", undefined, { state: next.end === "ok" ? next.state : undefined })), "1");
    const message = 'A counter takes "add" or a whole number of at most 15 characters.';
    assert.deepEqual(await run(counter, { params: [utf8("what")] }), { did: [], end: "error", message });
  });

  test("pass arguments and results of imports of all types", async () => {
    const event = (type: string): WitValue => {
      const parent = type === "first" ? undefined : utf8("parent");
      return { hash: utf8("hash"), "parent-hash": parent, "event-type": type, data: utf8(`of ${type}`), timestamp: 2n ** 53n };
    };
    const linked = (parent: bigint | undefined): WitValue => ({ hash: 7n, event: { "event-type": "kind", parent, data: utf8("data") } });
    const printed = { success: { stdout: "out ", stderr: "err", "exit-code": -7 } };
    const request = { method: "GET", uri: "http://peer/é", headers: [["x-from", "guest"]], body: utf8("body") };
    const response = { status: 65_535, headers: [["name", "value"]], body: utf8("none") };
    const told: readonly (readonly [string, readonly WitValue[], WitValue, string])[] = [
      ["supervisor.spawn-with state a manifest", ["a manifest", utf8("state")], { ok: "c1" }, "ok c1"],
      ["supervisor.get-child-events c1", ["c1"], { ok: [event("first"), event("next")] }, "ok first of first\nnext of next"],
      ["runtime.get-chain", [], { events: [linked(undefined), linked(2n ** 64n - 1n)] }, "ok kind data\nkind data"],
      ["store.exists s h", ["s", { hash: "h" }], { ok: true }, "ok true"],
      ["store.get-by-label s l", ["s", "l"], { ok: { hash: "h" } }, "ok h"],
      ["store.list-all-content s", ["s"], { ok: [{ hash: "one" }, { hash: "two" }] }, "ok one\ntwo"],
      ["store.calculate-total-size s", ["s"], { ok: 2n ** 63n }, "ok 9223372036854775808"],
      ["timing.deadline 18446744073709551615", [2n ** 64n - 1n], { err: "Too late." }, "err Too late."],
      ["filesystem.execute-command d ls a b", ["d", "ls", ["a", "b"]], { ok: printed }, "ok -7 out err"],
      ["filesystem.execute-command d ls", ["d", "ls", [""]], { ok: { error: { message: "Refused." } } }, "err Refused."],
      ["http-client.send-http GET http://peer/é body", [request], { ok: response }, "ok 65535 none"],
    ];
    const asker = instanceOf("test/wasm/guests/asker/asker.wasm");
    const outsider = instanceOf("test/wasm/guests/outsider/outsider.wasm");
    for (const [line, args, result, reply] of told) {
      const instance = line.startsWith("filesystem") || line.startsWith("http") ? outsider : asker;
      const outcome = await ask(instance, line, async () => result);
      assert.equal(replyOf(outcome), reply);
      assert.deepEqual(outcome.did, [{ name: line.slice(0, line.search(/-with|(?<!-)\s|$/)), args, result }]);
    }
  });

  test("receive a child's error", async () => {
    const asker = instanceOf("test/wasm/guests/asker/asker.wasm");
    const told = {
      export: "supervisor-handlers.handle-child-error",
      params: ["c1", { "error-type": "paused", data: utf8("why") }],
    } as const;
    const outcome = await run(asker, told);
    assert.deepEqual(outcome, { did: [], end: "ok", state: utf8("error c1 8 why"), back: undefined });
  });

  test("of April 2025 open channels without an id", async () => {
    const old = instanceOf("test/wasm/guests/old/old.wasm");
    const outcome = await run(old, { export: "message-server-client.handle-channel-open", params: ["ch_1", utf8("hello")] });
    assert.deepEqual(outcome, { did: [], end: "ok", state: undefined, back: { accepted: true, message: utf8("hello") } });
  });

  test("that are hostile end in a trap or a kill with a message, and the next one answers", async () => {
    const ends: Readonly<Record<string, readonly [string, RegExp]>> = {
      M: ["trap", /gave up/],
      r: ["trap", /^Stack overflow/],
      u: ["trap", /gave up/],
      o: ["trap", /outside its memory/],
      p: ["trap", /result, 28 bytes at 4294967280, does not lie inside/],
      a: ["trap", /pointer to result, \d+, is not a multiple of 4/],
      b: ["trap", /list, 64 bytes at 4294967280, does not lie inside/],
      n: ["trap", /list, 4294967295 bytes at 1024, does not lie inside/],
      d: ["trap", /case 7 of a type result/],
      D: ["trap", /case 7 of a type option/],
      e: ["trap", /is not UTF-8/],
      H: ["trap", /gave up|outside/],
      U: ["trap", /is not UTF-8/],
      G: ["killed", /more than 100 host calls/],
      P: ["trap", /string, 64 bytes at 4294967280, does not lie inside/],
      N: ["trap", /string, 4294967295 bytes at 1024, does not lie inside/],
      Y: ["trap", /gave up/],
      Z: ["trap", /called runtime\.log where none may be called/],
    };
    for (const [letter, [end, message]] of Object.entries(ends)) {
      const instance = instanceOf("test/wasm/guests/hostile/hostile.wasm");
      const outcome = await ask(instance, letter);
      assert.deepEqual([letter, outcome.end, instance.broken], [letter, end, true]);
      assert.match(outcome.end === "ok" ? "" : outcome.message, message, letter);
    }
    for (const [letter, message] of [
      ["A", /allocation/],
      ["V", /gave up/],
      ["W", /where none may be called/],
    ] as const) {
      const instance = instanceOf("test/wasm/guests/hostile/hostile.wasm");
      assert.equal((await ask(instance, letter)).end, "ok");
      const outcome = await run(instance, { params: [utf8("-")], state: new Uint8Array(9) });
      assert.match(outcome.end === "trap" ? outcome.message : outcome.end, message, letter);
    }
    assert.equal(replyOf(await ask(instanceOf("test/wasm/guests/hostile/hostile.wasm"), "?")), "still here");
  });
});
