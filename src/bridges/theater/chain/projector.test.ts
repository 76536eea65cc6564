import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Body, ChainEvent, Json } from "../../../core/contract/index.ts";
import { IMPORTS } from "../../wasm/component/world.ts";
import type { TheaterEvent } from "../stage.ts";
import { hexOf } from "../wire/events.ts";
import { hostEvents, wasmCall, wasmResult } from "./actor-events.ts";
import { Chain, Contents } from "./chain.fixture.ts";
import { link, verifyTheater } from "./link.ts";
import { Projector, theaterEvents } from "./projector.ts";

const ID = "0c7e6f1a-0000-4000-8000-000000000001";
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const numbers = (text: string): readonly number[] => Array.from(Buffer.from(text));
const base64 = (text: string): Json => ({ bytes: Buffer.from(text).toString("base64") });
const dataOf = (event: TheaterEvent): unknown => JSON.parse(Buffer.from(event.data).toString());
const typesAndData = (events: readonly TheaterEvent[]): readonly unknown[] => events.map((event) => [event.eventType, dataOf(event)]);

async function all(events: Iterable<ChainEvent>, get: Contents["get"]): Promise<readonly TheaterEvent[]> {
  const out: TheaterEvent[] = [];
  for await (const event of theaterEvents(events, get)) out.push(event);
  return out;
}

const E1 = link(wasmCall("theater:simple/actor.init", bytes(`["${ID}"]`)), null, 1_745_424_600_000);
const E2 = link(wasmResult("theater:simple/actor.init", bytes('{"count":0}'), bytes("null"), undefined), E1.hash, 1_745_424_600_001);

void test("hashes equal those known from Theater", () => {
  assert.equal(hexOf(E1.hash), "3fddb2a443e928432e97425b00a10abd65202452");
  assert.equal(hexOf(E2.hash), "7e542afbb67ce302084890f7284ca64480b7f667");
  assert.deepEqual(verifyTheater([E1, E2]), { ok: true, events: 2 });
});

void test("verification finds the event that was changed, removed or moved", () => {
  const changes: readonly ((event: TheaterEvent, at: number) => Partial<TheaterEvent>)[] = [
    ({ data }, at) => ({ data: data.with(at % data.length, 1) }),
    ({ hash }, at) => ({ hash: hash.with(at % 20, (hash[at % 20] ?? 0) ^ 1) }),
    ({ timestamp }) => ({ timestamp: timestamp + 1 }),
    ({ eventType }) => ({ eventType: `${eventType}s` }),
    () => ({ description: null }),
  ];
  fc.assert(
    fc.property(fc.constantFrom(0, 1), fc.constantFrom(...changes), fc.nat(), (index, change, at) => {
      const events = [E1, E2].map((event, here) => (here === index ? { ...event, ...change(event, at) } : event));
      const verdict = verifyTheater(events);
      assert.ok(!verdict.ok);
      assert.equal(verdict.at, index);
    }),
  );
  assert.match(JSON.stringify(verifyTheater([E2])), /"at":0.*names 3fddb2a4.*which is none/);
  assert.match(JSON.stringify(verifyTheater([E2, E1])), /"at":0/);
  assert.deepEqual(verifyTheater([E2], E1.hash), { ok: true, events: 1 });
});

function guest(contents: Contents): Chain {
  const chain = new Chain("guest/counter");
  const state = (text: string | null): Json => ({
    id: ID,
    name: "counter",
    manifest: "a".repeat(64),
    state: text === null ? null : contents.put(text),
  });
  chain.event("start", {}, state('{"count":0}'), {
    reply: { ok: { id: ID } },
    record: { call: { export: "actor.init", params: [ID] }, did: [{ name: "runtime.log", args: ["hello"], result: null }], end: "ok" },
  });
  chain.event("send", {}, state('{"count":1}'), {
    record: {
      call: { export: "message-server-client.handle-send", params: [base64("up")] },
      did: [
        { name: "message-server-host.send", args: [ID, base64("hi")], result: { ok: null } },
        { name: "message-server-host.send", args: ["nobody", base64("hi")], result: { err: "Nobody is called nobody." } },
      ],
      end: "ok",
    },
  });
  chain.event("request", {}, state(null), {
    record: {
      call: { export: "message-server-client.handle-request", params: ["r1", base64("get")] },
      did: [],
      end: "ok",
      back: base64("2"),
    },
  });
  chain.event("request", {}, state(null), {
    record: { call: { export: "message-server-client.handle-request", params: ["r2", base64("")] }, did: [], end: "ok" },
  });
  chain.event("send", {}, state(null), {
    record: { call: { export: "message-server-client.handle-send", params: [base64("x")] }, did: [], end: "trap", message: "unreachable" },
  });
  chain.event("update", { component: "d".repeat(64), origin: "/new.wasm" }, state(null));
  chain.event("resume", {}, state(null));
  return chain;
}

void test("a guest's chain becomes calls, host calls and results", async () => {
  const contents = new Contents();
  const events = await all(guest(contents).events, contents.get);
  assert.deepEqual(typesAndData(events), [
    ["theater-runtime", { TheaterRuntime: { ActorLoadCall: { manifest_id: { hash: "a".repeat(64) } } } }],
    ["theater-runtime", { TheaterRuntime: { ActorLoadResult: { success: true } } }],
    ["wasm", { Wasm: { WasmCall: { function_name: "theater:simple/actor.init", params: numbers(`["${ID}"]`) } } }],
    ["theater:simple/runtime/log", { Runtime: { Log: { level: "info", message: "hello" } } }],
    ["wasm", { Wasm: { WasmResult: { function_name: "theater:simple/actor.init", result: [numbers('{"count":0}'), numbers("null")] } } }],
    ["wasm", { Wasm: { WasmCall: { function_name: "theater:simple/message-server-client.handle-send", params: numbers("[[117,112]]") } } }],
    [
      "theater:simple/message-server-host/send",
      { Message: { SendMessageCall: { recipient: ID, message_type: "binary", data: numbers("hi") } } },
    ],
    ["theater:simple/message-server-host/send", { Message: { SendMessageResult: { recipient: ID, success: true } } }],
    [
      "theater:simple/message-server-host/send",
      { Message: { SendMessageCall: { recipient: "nobody", message_type: "binary", data: numbers("hi") } } },
    ],
    [
      "theater:simple/message-server-host/send",
      { Message: { Error: { operation: "send", recipient: "nobody", message: "Nobody is called nobody." } } },
    ],
    [
      "wasm",
      {
        Wasm: {
          WasmResult: {
            function_name: "theater:simple/message-server-client.handle-send",
            result: [numbers('{"count":1}'), numbers("null")],
          },
        },
      },
    ],
    [
      "wasm",
      {
        Wasm: {
          WasmCall: { function_name: "theater:simple/message-server-client.handle-request", params: numbers('["r1",[103,101,116]]') },
        },
      },
    ],
    [
      "wasm",
      { Wasm: { WasmResult: { function_name: "theater:simple/message-server-client.handle-request", result: [null, numbers("[[50]]")] } } },
    ],
    [
      "wasm",
      { Wasm: { WasmCall: { function_name: "theater:simple/message-server-client.handle-request", params: numbers('["r2",[]]') } } },
    ],
    [
      "wasm",
      { Wasm: { WasmResult: { function_name: "theater:simple/message-server-client.handle-request", result: [null, numbers("[null]")] } } },
    ],
    ["wasm", { Wasm: { WasmCall: { function_name: "theater:simple/message-server-client.handle-send", params: numbers("[[120]]") } } }],
    ["wasm", { Wasm: { WasmError: { function_name: "theater:simple/message-server-client.handle-send", message: "unreachable" } } }],
    ["theater-runtime", { TheaterRuntime: { ActorUpdateStart: { new_component_address: "/new.wasm" } } }],
    ["theater-runtime", { TheaterRuntime: { ActorUpdateComplete: { new_component_address: "/new.wasm" } } }],
    ["runtime", { Runtime: { Log: { level: "info", message: "resume" } } }],
  ]);
  assert.deepEqual(verifyTheater(events), { ok: true, events: 20 });
  assert.deepEqual(new Set(events.slice(0, 5).map(({ timestamp }) => timestamp)), new Set([1_745_424_600_001]));
});

void test("projecting again, or in parts, gives the same hashes", async () => {
  const contents = new Contents();
  const { events } = guest(contents);
  const whole = await all(events, contents.get);
  assert.deepEqual(await all(events, contents.get), whole);
  const projector = new Projector(contents.get);
  const parts: TheaterEvent[] = [];
  for (const [at, event] of events.entries()) {
    parts.push(...(await projector.next(event)));
    assert.equal(projector.seq, at + 1);
    assert.deepEqual(projector.head, parts.at(-1)?.hash);
  }
  assert.deepEqual(parts, whole);
});

void test("a collected state is null, with a description", async () => {
  const contents = new Contents();
  const { events } = guest(contents);
  const digest = contents.put('{"count":0}');
  contents.drop(digest);
  const again = await all(events, contents.get);
  const init = again[4];
  assert.deepEqual(init && dataOf(init), {
    Wasm: { WasmResult: { function_name: "theater:simple/actor.init", result: [null, numbers("null")] } },
  });
  assert.match(init?.description ?? "", new RegExp(`completed \\(its state ${digest} is no longer kept\\)`));
  assert.deepEqual(verifyTheater(again), { ok: true, events: 20 });
});

void test("collected contents are empty, and an unknown record is a log event", async () => {
  const contents = new Contents();
  const chain = new Chain("guest/odd");
  const state = { manifest: "a".repeat(64), state: null };
  const collected = { digest: "f".repeat(64), length: 5_000 };
  chain.event("send", {}, state, {
    record: {
      call: { export: "message-server-client.handle-send", params: [collected] },
      did: [
        { name: "message-server-host.send", args: [ID, collected], result: { ok: null } },
        7,
        { name: "nobody.knows", args: [], result: null },
      ],
      end: "killed",
      message: "It computed for more than 1000 ms.",
    },
  });
  chain.event("send", {}, state, { record: { call: 7 } });
  chain.event("send", {}, state, { record: { call: { export: "actor.init", params: [{ what: 1 }] }, did: 7, end: "lost" } });
  const events = await all(chain.events, contents.get);
  assert.deepEqual(typesAndData(events.slice(2, 6)), [
    ["wasm", { Wasm: { WasmCall: { function_name: "theater:simple/message-server-client.handle-send", params: numbers("[null]") } } }],
    ["theater:simple/message-server-host/send", { Message: { SendMessageCall: { recipient: ID, message_type: "binary", data: [] } } }],
    ["theater:simple/message-server-host/send", { Message: { SendMessageResult: { recipient: ID, success: true } } }],
    ["theater:simple/nobody/knows", { Runtime: { Log: { level: "debug", message: "nobody.knows" } } }],
  ]);
  assert.deepEqual(verifyTheater(events), { ok: true, events: 10 });
});

void test("host calls stored as one content are in order, or noted as collected", async () => {
  const contents = new Contents();
  const log = (message: string) => ({ name: "runtime.log", args: [message], result: null });
  const digest = contents.put(JSON.stringify([log("first"), log("second")]));
  const chain = new Chain("guest/talker");
  chain.event(
    "send",
    {},
    { manifest: "a".repeat(64), state: null },
    {
      record: {
        call: { export: "message-server-client.handle-send", params: [base64("x")] },
        did: [{ calls: 2, kept: { digest, length: 100 } }, log("third")],
        end: "ok",
      },
    },
  );
  const logged = (events: readonly TheaterEvent[]): readonly string[] =>
    events.flatMap((event) => /"message":"([^"]*)"/.exec(Buffer.from(event.data).toString())?.[1] ?? []);
  assert.deepEqual(logged(await all(chain.events, contents.get)), ["first", "second", "third"]);
  contents.drop(digest);
  assert.deepEqual(logged(await all(chain.events, contents.get)), ["2 host calls that are no longer kept", "third"]);
});

void test("a kind's actor becomes calls of its actions, with state and reply as JSON", async () => {
  const chain = new Chain("tally/t1");
  chain.event("add", { by: 2 }, { count: 2 }, { reply: { ok: "two" } });
  chain.event("add", { by: 3 }, { count: 5 }, { reply: { ok: null } });
  chain.event("fail", null, { count: 5 }, { reply: { refused: { code: "FULL", message: "No more." } }, record: { a: 1 } });
  const { events } = chain;
  const erased = events.map((event, at) => (at === 1 ? { id: event.id, header: event.header } : event));
  const call = (action: string, params: string) => [
    "wasm",
    { Wasm: { WasmCall: { function_name: `tally.${action}`, params: numbers(params) } } },
  ];
  const result = (action: string, state: string, reply: string) => [
    "wasm",
    { Wasm: { WasmResult: { function_name: `tally.${action}`, result: [numbers(state), numbers(reply)] } } },
  ];
  const error = ["wasm", { Wasm: { WasmError: { function_name: "tally.fail", message: "FULL: No more." } } }];
  const none = new Contents();
  assert.deepEqual(typesAndData(await all(events, none.get)).slice(2), [
    call("add", '{"by":2}'),
    result("add", '{"count":2}', '"two"'),
    call("add", '{"by":3}'),
    result("add", '{"count":5}', "null"),
    call("fail", "null"),
    error,
  ]);
  const [load, , , , collected] = await all(erased, none.get);
  assert.deepEqual(load && dataOf(load), { TheaterRuntime: { ActorLoadCall: { manifest_id: { hash: "kind:tally" } } } });
  assert.equal(collected?.description, "add (what it held was erased)");
});

void test("an erased body leaves states unknown, and a new incarnation is loaded anew", async () => {
  const chain = new Chain("tally/t1");
  chain.event("add", {}, { count: 1 });
  chain.event("add", {}, { count: 2 });
  chain.event("add", {}, { count: 3 });
  chain.restart();
  chain.event("add", {}, { count: 4 });
  const erased = chain.events.map((event, at) => (at === 1 ? { id: event.id, header: event.header } : event));
  const events = await all(erased, new Contents().get);
  assert.match(events[6]?.description ?? "", /completed \(its state is not known/);
  assert.deepEqual(
    events.map(({ eventType }) => eventType),
    ["theater-runtime", "theater-runtime", "wasm", "wasm", "runtime", "wasm", "wasm", "theater-runtime", "theater-runtime", "wasm", "wasm"],
  );
});

void test("every import of the world has events, for any arguments", () => {
  const ok = { ok: undefined };
  for (const [place, functions] of Object.entries(IMPORTS))
    for (const name of Object.keys(functions))
      for (const result of [ok, { err: "why" }, undefined, 5n, "text", bytes("b"), { ok: { hash: "h", status: 200 } }, { ok: ["a"] }]) {
        const events = hostEvents(`${place}.${name}`, ["first", bytes("second"), { hash: "h", uri: "u" }], result, 0);
        assert.ok(events.length === 1 || events.length === 2, name);
        for (const event of events) {
          assert.equal(event.eventType, `theater:simple/${place}/${name}`);
          assert.notDeepEqual(event.data, { Runtime: { Log: { level: "debug", message: `${place}.${name}` } } });
          assert.equal(link(event, null, 0).data.length > 10, true);
        }
      }
});

void test("an event is projected the same after a failed read of its contents", async () => {
  const contents = new Contents();
  const chain = new Chain("guest/g1");
  const record: NonNullable<Body["record"]> = {
    call: { export: "message-server-client.handle-send", params: [] },
    did: [],
    end: "ok",
  };
  const state = (text: string, outstanding: readonly string[]): Json => ({ manifest: "m", state: contents.put(text), outstanding });
  chain.event("start", {}, { manifest: "m", state: contents.put("one"), outstanding: ["a", "b", "c"], extra: true }, { record });
  chain.event("send", {}, state("two", ["c"]), { record });
  chain.event("send", {}, state("three", []), { record });
  const whole = await all(chain.events, contents.get);
  let fails = false;
  const projector = new Projector((digest) => (fails ? Promise.reject(new Error("The store is away.")) : contents.get(digest)));
  const projected: TheaterEvent[] = [];
  for (const event of chain.events) {
    fails = true;
    const before = { head: projector.head, seq: projector.seq };
    await assert.rejects(projector.next(event), /away/);
    assert.deepEqual({ head: projector.head, seq: projector.seq }, before);
    fails = false;
    projected.push(...(await projector.next(event)));
  }
  assert.deepEqual(projected, whole);
});

void test("the projection yields to the event loop even if the store never does", async () => {
  const contents = new Contents();
  const chain = new Chain("guest/g1");
  for (let at = 0; at < 60; at += 1)
    chain.event(
      "send",
      {},
      { manifest: "m", state: contents.put(`${at} ${"x".repeat(16_000)}`) },
      { record: { call: { export: "message-server-client.handle-send", params: [] }, did: [], end: "ok" } },
    );
  let turns = 0;
  let over = false;
  const others = (): void => {
    turns += 1;
    if (!over) setImmediate(others);
  };
  setImmediate(others);
  await all(chain.events, contents.get);
  over = true;
  assert.ok(turns > 20, String(turns));
});
