import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { LocalEngine } from "troupe/engine";
import { actorId } from "../../core/actor/index.ts";
import { type ActorId, type Json, type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { Capabilities } from "./capabilities.ts";
import { counter } from "./capability.ts";
import { actorCapability } from "./define-actor.ts";
import { capability } from "./define-capability.ts";
import { PacketFlow } from "./packet-flow.ts";
import { PacketError } from "./packet.ts";
import { recordedServer } from "./recorded-calls.ts";
import type { ForeignResult } from "./upstream-interface.ts";
import { type World, as, errorOf, typeOf, world } from "./world.fixture.ts";

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const count = actorCapability("count", {
  intent: "Counts",
  requires: ["by"],
  effects: [counter("counts")],
  persistence: "disk",
  initialState: { n: 0 },
  messages: {
    add: {
      run({ state, payload, context, from }) {
        state.n += Number(payload["by"]);
        return { n: state.n, trace: context.trace_id ?? null, user: context.user_id ?? null, from: from ?? null };
      },
    },
  },
});
const who = capability("who", { intent: "Tells who asks", execute: (_, { viewer }) => ({ ...viewer }) });
const relay = capability("relay", {
  intent: "Asks on",
  execute: async ({ to, payload }, { call }) => ({ got: await call(textOf(to), isJsonObject(payload) ? payload : {}, { actor_id: "a" }) }),
});

/** Runs before anything else in the actor's work. */
let before: () => void = () => undefined;
let delayedCall: Promise<unknown> | undefined;

const asking = (id: string, shared: boolean) =>
  actorCapability(id, {
    intent: "Asks others",
    persistence: "disk",
    shared,
    initialState: { said: "" },
    messages: {
      tell: {
        match: { do: "tell" },
        run({ send }) {
          send(actorId("agent", "a"), "ask", { payload: { to: "who" }, context: {} });
          return null;
        },
      },
      late: {
        match: { do: "late" },
        async work({ request }) {
          delayedCall = new Promise(setImmediate).then(() => request("count", { by: 1 }, { actor_id: "late" }));
          delayedCall.catch(() => undefined);
          return null;
        },
      },
      caught: {
        match: { do: "caught" },
        work: ({ request }) =>
          request("count", {}).catch((error: unknown) =>
            error instanceof PacketError ? { type: error.type, details: error.details } : null,
          ),
      },
      ask: {
        async work({ state, payload, request }) {
          const { to, at, payload: sent } = payload;
          const got = await request(textOf(to), isJsonObject(sent) ? sent : {}, typeof at === "string" ? { actor_id: at } : {});
          before();
          state.said = JSON.stringify(got);
          return { got };
        },
      },
    },
  });
const memory = actorCapability("memory", {
  intent: "Asks others",
  initialState: {},
  messages: { ask: { work: ({ request }) => request("who", {}) } },
});
const agent = asking("agent", false);
const desk = asking("desk", true);

const ALL = [count, who, relay, agent, desk];
const gotOf = ({ payload }: Awaited<ReturnType<World["say"]>>): unknown => payload["got"];

const messageOf = (error: ReturnType<typeof errorOf>): string => (typeof error?.message === "string" ? error.message : "");

async function recordsOf(on: World, id: ActorId): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { body } of on.engine.history(id)) {
    const { record = [] }: { readonly record?: readonly unknown[] } = JSON.parse(body ?? "{}");
    found.push(...record);
  }
  return found;
}

void test("an actor's work calls a capability like a packet: as its owner, in the same trace, with effects, and recorded #packet.isolation.registry", async () => {
  await using on = await world(ALL, { disk: true });
  const reply = await on.say("agent", "a", { to: "count", payload: { by: 2 } }, { context: { trace_id: "t1" } });
  assert.deepEqual(gotOf(reply), { n: 2, trace: "t1", user: "ada", from: "agent/a" });
  assert.deepEqual((await on.actors.getActorState("count", "count:ada", as("ada"))).state, { n: 2 });
  assert.deepEqual(
    on.effects.map(({ capability_id, trace_id, user_id }) => ({ capability_id, trace_id, user_id })),
    [{ capability_id: "count", trace_id: "t1", user_id: "ada" }],
  );
  const result = { n: 2, trace: "t1", user: "ada", from: "agent/a" };
  assert.deepEqual(await recordsOf(on, "agent/a"), [{ request: { capability_id: "count", payload: { by: 2 }, result, ms: 0 } }]);
});

void test("such a call is subject to required fields, ownership and quotas", async () => {
  await using on = await world(ALL, { disk: true, actors: { maxPerUser: 3 } });
  const caught = await on.say("agent", "a", { do: "caught" });
  assert.deepEqual(caught.payload, { type: "validation_failed", details: { missing: ["by"] } });
  await on.say("count", "bobs", { by: 1 }, {}, "bob");
  const anothers = errorOf(await on.say("agent", "a", { to: "count", at: "bobs", payload: { by: 1 } }));
  assert.equal(anothers?.type, "execution_failed");
  for (const at of ["x", "y"]) assert.equal(typeOf(await on.say("agent", "a", { to: "count", at, payload: { by: 1 } })), undefined);
  const over = errorOf(await on.say("agent", "a", { to: "count", at: "z", payload: { by: 1 } }));
  assert.deepEqual(over?.details, { capability_id: "count", type: "actor_limit_exceeded", details: { limit: 3, used: 3 } });
  assert.match(messageOf(over), /^agent failed, since count did: You have 3 actors/);
  assert.equal(await on.engine.read("count/z"), undefined);
});

void test("such a call has the actor's owner, and the sender's scopes if the sender is the owner", async () => {
  await using on = await world(ALL, { disk: true });
  const ask = { type: "actor_message", capability_id: "agent", actor_id: "a", payload: { to: "who" } };
  assert.deepEqual(gotOf(await on.send(ask, { principal: "ada", scopes: ["read"] })), { principal: "ada", scopes: ["read"] });
  const everybodys = { ...ask, capability_id: "desk" };
  assert.deepEqual(gotOf(await on.send(everybodys, { principal: "bob", scopes: ["read"] })), { principal: "bob", scopes: ["read"] });
  await on.say("desk", "a", { do: "tell" }, {}, "bob");
  await on.clock.advance(0);
  assert.deepEqual((await on.actors.getActorState("agent", "a", as("ada"))).state, {
    said: JSON.stringify({ scopes: [], principal: "ada" }),
  });
});

void test("a cycle of waiting actors is refused at once, through a function between them too", async () => {
  await using on = await world(ALL, { disk: true });
  const itself = errorOf(await on.say("agent", "a", { to: "agent", at: "a", payload: { to: "who" } }));
  assert.match(messageOf(itself), /cannot wait for agent\/a/);
  await on.say("agent", "b", { to: "who" });
  const between = { to: "relay", payload: { to: "agent", payload: { to: "who" } } };
  const circle = errorOf(await on.say("agent", "a", { to: "agent", at: "b", payload: between }));
  assert.match(messageOf(circle), /cannot wait for agent\/a/);
  assert.equal(typeOf(await on.say("agent", "a", { to: "who" })), undefined, "both go on");
});

void test("C4 work repeated under its key finds its recorded results", async () => {
  await using on = await world(ALL, { disk: true });
  const packet = { to: "count", at: "a", payload: { by: 1 } };
  const keyed = { metadata: { "troupe/callId": "k" } };
  before = () => {
    throw new Error("It broke after it had asked.");
  };
  try {
    assert.equal(typeOf(await on.say("agent", "a", packet, keyed)), "actor_crash");
  } finally {
    before = () => undefined;
  }
  const again = await on.say("agent", "a", packet, keyed);
  assert.equal(typeOf(again), undefined);
  assert.deepEqual((await on.actors.getActorState("count", "a", as("ada"))).state, { n: 1 });
});

void test("work that is over makes no calls and starts nothing", async () => {
  await using on = await world(ALL, { disk: true });
  await on.say("agent", "a", { do: "late" });
  await assert.rejects(async () => delayedCall, { name: "PacketError", type: "cancelled" });
  assert.equal(await on.engine.read("count/late"), undefined);
});

void test("of two flows with one author's capability each runs its own", async () => {
  const here = (where: string) => capability("where", { intent: "Tells where", execute: () => ({ where }) });
  await using one = await world([agent, here("one")], { disk: true });
  await using two = await world([agent, here("two")], { disk: true });
  assert.deepEqual(gotOf(await one.say("agent", "a", { to: "where" })), { where: "one" });
  assert.deepEqual(gotOf(await two.say("agent", "a", { to: "where" })), { where: "two" });
});

void test("an actor without a flow reports how to give it one", async () => {
  const faults: unknown[] = [];
  await using engine = await LocalEngine.start({ kinds: [memory.kind], onFault: (error) => void faults.push(error) });
  const capabilities = new Capabilities([memory]);
  await using flow = new PacketFlow({ capabilities, engine });
  await assert.rejects(flow.actors.requestFromActor("memory", "a", {}, { viewer: as("ada") }), { type: "actor_crash" });
  assert.match(String(faults[0]), /start the engine with the `kinds` of the Capabilities/);
});

function stage(does: (args: JsonObject, clock: SimulatedClock) => Promise<ForeignResult>) {
  const clock = new SimulatedClock();
  const records: unknown[] = [];
  const foreign = { call: (_tool: string, args: JsonObject = {}) => does(args, clock), tools: async () => [] };
  return { records, server: recordedServer(foreign, { server: "shop", clock, record: (what) => records.push(what) }) };
}

const textResult = (text: string): ForeignResult => ({ content: [{ type: "text", text }], text });

describe("recorded", () => {
  it("records each call with its result and duration", async () => {
    const { records, server } = stage(async (_args, clock) => {
      await clock.advance(12);
      return { ...textResult("sold"), structured: { left: 2 } };
    });
    assert.equal((await server.call("buy", { apples: 3 })).text, "sold");
    await server.call("buy");
    const result = { content: [{ type: "text", text: "sold" }], structured: { left: 2 } };
    assert.deepEqual(records, [
      { mcp: { server: "shop", tool: "buy", args: { apples: 3 }, result, ms: 12 } },
      { mcp: { server: "shop", tool: "buy", args: {}, result, ms: 12 } },
    ]);
  });

  it("records a failure, and rethrows it unchanged", async () => {
    const failure = new PacketError("execution_failed", "It is closed.");
    const { records, server } = stage(() => Promise.reject(failure));
    await assert.rejects(server.call("buy"), failure);
    const error = { type: "execution_failed", message: "It is closed." };
    assert.deepEqual(records, [{ mcp: { server: "shop", tool: "buy", args: {}, error, ms: 0 } }]);
  });

  it("records the arguments as they were at the call", async () => {
    const { records, server } = stage(async () => textResult("ok"));
    const list: Json[] = [1];
    const called = server.call("sum", { list });
    list.push(2);
    await called;
    assert.match(JSON.stringify(records), /"list":\[1\]/);
  });

  it("omits long texts of a large value, and never cuts one: redaction finds whole secrets only", async () => {
    const secret = `secret-${"s".repeat(300)}`;
    const { records, server } = stage(async () => textResult("x".repeat(20_000)));
    await server.call("put", { short: "here", long: secret, filler: "y".repeat(20_000) });
    const text = JSON.stringify(records);
    assert.ok(text.length < 1_000);
    assert.match(text, /"args":\{"short":"here","long":\{"omitted":307\},"filler":\{"omitted":20000\}\}/);
    assert.doesNotMatch(text, /ss|xx/);
  });

  it("records only the size of a large value without long texts", async () => {
    const { records, server } = stage(async () => ({ content: Array.from({ length: 10_000 }, (_, n) => n), text: "" }));
    await server.call("count");
    assert.match(JSON.stringify(records), /"result":\{"omitted":\d+\}/);
  });
});
