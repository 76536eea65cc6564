import assert from "node:assert/strict";
import { test } from "node:test";
import { settle, until } from "troupe/testing";
import { createGateway } from "../../mcp/gateway/index.ts";
import { as, errorOf, typeOf, world, type World } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { capability } from "./define-capability.ts";
import { auditLog, counter, histogram } from "./capability.ts";

const effects = [auditLog("info", "kept"), counter("runs"), histogram("ms")];
const store = actorCapability("store", {
  intent: "Keeps",
  effects,
  initialState: { n: 0 },
  persistence: "disk",
  messages: {
    tell: {
      match: { do: "tell" },
      run({ create, send }) {
        send(create("store/other"), "add", { payload: { do: "add" }, context: {} });
        return null;
      },
    },
    crash: {
      match: { do: "crash" },
      run() {
        throw new Error("It broke.");
      },
    },
    add: {
      run({ state, context }) {
        state.n += 1;
        return { n: state.n, trace: context.trace_id ?? null };
      },
    },
  },
});
const outer = capability("outer", {
  intent: "Calls the store",
  effects: [counter("outer.runs")],
  execute: async (_payload, { call, trace_id }) => ({ trace_id, inner: await call("store", { do: "add" }, { actor_id: "a" }) }),
});
const deep = capability("deep", {
  intent: "Calls itself",
  execute: async ({ n }, { call }) => ({ inner: await call("deep", { n: Number(n) + 1 }) }),
});
const wide = capability("wide", {
  intent: "Takes its time",
  execute: ({ how }, { signal, progress, call }) =>
    new Promise((resolve, reject) => {
      if (how === "deaf") return;
      if (how === "dangling") {
        setImmediate(() => {
          progress(9);
          call("store", { do: "add" }, { actor_id: "late" }).catch(() => undefined);
        });
        return resolve({ done: true });
      }
      progress(1);
      signal.addEventListener("abort", () => reject(new Error("left")), { once: true });
    }),
});
const all = [store, outer, deep, wide];

const request = (on: World, capability_id: string, payload: object, more: object = {}) =>
  on.send({ type: "capability_request", capability_id, payload: { ...payload }, ...more });

async function chainOf(on: World, id: `${string}/${string}`): Promise<string> {
  const bodies: string[] = [];
  for await (const { body } of on.engine.history(id)) bodies.push(body ?? "");
  return bodies.join("\n");
}

void test("a packet's trace is in its reply, nested calls, the chain and effects #packet.message.context #packet.implied.10-trace", async () => {
  await using on = await world(all, { disk: true });
  const reply = await request(on, "outer", {}, { context: { trace_id: "trace-7" } });
  assert.deepEqual(reply.payload, { trace_id: "trace-7", inner: { n: 1, trace: "trace-7" } });
  assert.equal(reply.context.trace_id, "trace-7");
  assert.match(await chainOf(on, "store/a"), /"trace":\{"trace_id":"trace-7"\}/);
  assert.deepEqual(new Set(on.effects.map(({ trace_id }) => trace_id)), new Set(["trace-7"]));
});

void test("a tool call in a packet is within the packet's trace, if MCP has a form for it", async () => {
  await using on = await world(all, { disk: true });
  const gateway = createGateway({ source: on.packets.source(), info: { name: "t", version: "1" } });
  on.packets.tunnelTo(gateway);
  const call = async (context: object, meta: object = {}) => {
    const params = { name: "outer", arguments: {}, ...meta };
    const { context: replied } = await on.send({
      type: "mcp_request",
      payload: { mcp_message: { jsonrpc: "2.0", id: 1, method: "tools/call", params } },
      context: { ...context },
    });
    const [last] = on.effects.slice(-1);
    return [replied.trace_id, last?.trace_id];
  };
  const [made, used] = await call({});
  assert.equal(used, made);
  assert.match(await chainOf(on, "store/a"), new RegExp(String(made)));
  const given = "0af7651916cd43dd8448eb211c80319c";
  assert.deepEqual(await call({ trace_id: given }), [given, given]);
  const own = "4bf92f3577b34da6a3ce929d0e0e4736";
  assert.deepEqual(await call({ trace_id: given }, { _meta: { traceparent: `00-${own}-00f067aa0ba902b7-01` } }), [given, own]);
  const [other, apart] = await call({ trace_id: "trace-9" });
  assert.deepEqual([other, /^[0-9a-f]{32}$/.test(String(apart))], ["trace-9", true]);
  await gateway[Symbol.asyncDispose]();
});

void test("an unknown capability in a nested call does not look like an unknown capability to the caller", async () => {
  const lost = capability("lost", { intent: "Calls nobody", execute: (_payload, { call }) => call("zzz", {}) });
  await using on = await world([lost]);
  const error = errorOf(await request(on, "lost", {}));
  assert.equal(error?.type, "execution_failed");
  assert.deepEqual(error?.details, { capability_id: "zzz", type: "capability_not_found", details: {} });
});

void test("a packet without a trace gets one, which its reply or error has #packet.implied.10-trace", async () => {
  await using on = await world(all, { disk: true });
  const one = await on.say("store", "a", { do: "add" });
  const two = await on.say("store", "a", { do: "crash" });
  const [first, second] = [one.context.trace_id, two.context.trace_id];
  assert.match(String(first), /^[0-9a-f]{32}$/);
  assert.match(String(second), /^[0-9a-f]{32}$/);
  assert.notEqual(first, second);
  assert.equal(one.payload["trace"], first);
  assert.ok((await chainOf(on, "store/a")).includes(String(first)));
});

void test("messages that an actor sends carry the trace along #packet.implied.10-trace", async () => {
  await using on = await world(all, { disk: true });
  await on.say("store", "a", { do: "tell" }, { context: { trace_id: "trace-8" } });
  await until("the other is told", async () => (await chainOf(on, "store/other")).includes("trace-8"));
});

void test("effects are emitted after the run, with its duration, also if it failed #packet.implied.10-effects", async () => {
  await using on = await world(all, { disk: true });
  let durable: unknown;
  const undo = on.packets.onEffect(() => void (durable ??= on.engine.read("store/a")));
  await on.say("store", "a", { do: "add" }, { context: { trace_id: "t" } });
  undo();
  const emitted = on.effects.splice(0);
  assert.deepEqual(
    emitted.map(({ effect }) => effect),
    effects,
  );
  for (const { capability_id, actor_id, user_id, at, duration_ms, error } of emitted) {
    assert.deepEqual([capability_id, actor_id, user_id, at, error], ["store", "a", "ada", on.clock.now(), undefined]);
    assert.ok(duration_ms >= 0);
  }
  assert.deepEqual(
    emitted.map(({ value }) => value),
    [1, 1, emitted[2]?.duration_ms],
  );
  assert.equal(Object(await durable).messageCount > 0, true, "after the commit");
  await on.say("store", "a", { do: "crash" });
  assert.deepEqual(
    on.effects.map(({ error }) => error),
    ["actor_crash", "actor_crash", "actor_crash"],
  );
});

void test("a listener that throws affects neither other listeners nor the reply", async () => {
  await using on = await world(all, { disk: true });
  const heard: string[] = [];
  on.packets.onEffect(() => {
    throw new Error("deaf");
  });
  on.packets.onEffect(({ capability_id }) => void heard.push(capability_id));
  assert.equal(typeOf(await on.say("store", "a", { do: "add" })), undefined);
  assert.deepEqual(heard, ["store", "store", "store"]);
  assert.equal(on.faults.length, 3);
});

void test("capabilities that call one another without end are stopped", async () => {
  await using on = await world(all, { disk: true });
  const error = errorOf(await request(on, "deep", { n: 0 }));
  assert.equal(error?.type, "execution_failed");
  assert.match(JSON.stringify(error?.message), /16 deep/);
});

void test("a run without an actor ends at its timeout, whether it heeds the signal or not", async () => {
  await using on = await world(all, { disk: true, executionMs: 5_000 });
  const replies = [request(on, "wide", {}), request(on, "wide", { how: "deaf" })];
  await settle();
  await on.clock.advance(5_000);
  for (const reply of await Promise.all(replies)) {
    const error = errorOf(reply);
    assert.deepEqual([error?.type, error?.details], ["execution_failed", { timeout_ms: 5_000 }]);
  }
  assert.equal(on.progress.length, 1);
});

void test("such a run is cancelled by its id, and with its client", async () => {
  await using on = await world(all, { disk: true });
  const timers = on.clock.pending;
  const one = request(on, "wide", {}, { id: "1" });
  const two = request(on, "wide", { how: "deaf" }, { id: "2" });
  await settle();
  await on.send({ type: "cancel", payload: { id: "1" } });
  assert.equal(typeOf(await one), "cancelled");
  await on.session(as("ada")).close();
  assert.equal(typeOf(await two), "cancelled");
  assert.equal(on.clock.pending, timers, "no timer is left");
});

void test("after its reply a run can neither report nor call", async () => {
  await using on = await world(all, { disk: true });
  assert.deepEqual((await request(on, "wide", { how: "dangling" })).payload, { done: true });
  await settle();
  assert.deepEqual(on.progress, []);
  assert.equal(await on.engine.read("store/late"), undefined);
});

void test("progress that is no number is not sent, and what else is not of its type is left out", async () => {
  const careless = capability("careless", {
    intent: "Reports",
    execute(_, { progress }) {
      for (const step of [[null], ["x"], [1, "y", 5], [], [2, 4, "half"]]) Reflect.apply(progress, undefined, step);
      progress(Number.NaN);
      return null;
    },
  });
  await using on = await world([careless]);
  await on.send({ type: "capability_request", capability_id: "careless" });
  assert.deepEqual(
    on.progress.map(({ payload }) => payload),
    [{ progress: 1 }, { progress: 2, total: 4, message: "half" }],
  );
});
