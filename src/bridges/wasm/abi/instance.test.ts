import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { op, type TestFunction } from "./core-module.fixture.ts";
import { guest, put, RESULT, run, SEND, send, state, type TestGuest } from "./guest.fixture.ts";
import { compile, Instance, type Wait } from "./index.ts";

const nothing = op.i32(RESULT);
const starting = (body: readonly number[]): TestFunction => ({ name: "starts", params: [], results: [], body });
const logging = [...op.i32(0), ...op.i32(0), ...op.call(0)];

async function trapOf(of: TestGuest, wait: Wait = async () => ({ ok: undefined })): Promise<string> {
  const outcome = await run(guest(of).make(), {}, wait);
  return outcome.end === "trap" ? outcome.message : outcome.end;
}

/** On the worker's own stack, and on one of its own, as guests that wait run. */
const STACKS = [[], ["message-server-host.send"]] as const;

suite("a guest that traps", () => {
  test("is told of in a sentence, on either stack", async () => {
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

  test("by recursion leaves its worker sound, on either stack", async () => {
    for (const imports of STACKS) {
      const body = [...[0, 1, 2, 3, 4].flatMap((local) => op.get(local)), ...op.call(imports.length), ...op.i32(1), ...op.add];
      const message = "Stack overflow: the guest's calls were nested too deeply.";
      assert.equal(await trapOf({ imports, functions: [send(body)] }), message);
      assert.equal(await trapOf({ imports, functions: [send(nothing)] }), "ok");
    }
  });

  test("by recursion through what it imports does so too", async () => {
    const args = [0, 1, 2, 3, 4].flatMap((local) => op.get(local));
    for (const imports of [["environment.exists"], ["environment.exists", "message-server-host.send"]] as const) {
      const body = [...op.i32(0), ...op.i32(0), ...op.call(0), ...op.drop, ...args, ...op.call(imports.length)];
      const outcome = await run(guest({ imports, functions: [send(body)] }).make(), { limits: { ...unlimited } });
      assert.equal(outcome.end === "trap" && outcome.message, "Stack overflow: the guest's calls were nested too deeply.");
    }
  });
});

const unlimited = { callMs: 1000, memoryBytes: 1 << 24, hostCalls: Infinity, hostBytes: Infinity, resultBytes: 1000 };

suite("a guest may not leave", () => {
  const message = "The guest called runtime.log where none may be called: while it starts, allocates or cleans up.";

  test("while it starts, by its start or its _initialize, caught or not", () => {
    for (const body of [logging, op.caught(logging)]) {
      const begins = { imports: ["runtime.log"], functions: [starting(body)], module: { start: 1 } } as const;
      assert.throws(() => guest(begins).make(), { name: "GuestTrap", message });
      const initializes = { imports: ["runtime.log"], functions: [{ ...starting(body), name: "_initialize" }] } as const;
      assert.throws(() => guest(initializes).make(), { name: "GuestTrap", message });
    }
  });

  test("while it allocates, for its arguments or for a result", async () => {
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

suite("a module that is not what its component says", () => {
  const trap = (message: RegExp) => ({ name: "GuestTrap", message });

  test("is refused before it runs where that shows", () => {
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

  test("traps where it does not", async () => {
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
  test("that has no address space for one more memory says so, and has again when instances are gone", () => {
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
  return Instance.create(module, { ...component, ...change });
}
