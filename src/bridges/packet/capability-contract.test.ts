import assert from "node:assert/strict";
import { test } from "node:test";
import { refuse } from "../../core/actor/index.ts";
import type { JsonObject } from "../../core/contract/index.ts";
import { as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { capability, mcpCapability } from "./define-capability.ts";
import { PacketError } from "./packet.ts";

const look = mcpCapability("look", {
  intent: "Looks",
  tools: { one: { description: "d" }, two: { description: "d", parameters: { q: { type: "string" } }, required: ["q"] } },
  handleToolCall: (name, parameters) => ({ name, parameters }),
});

const notes = actorCapability("notes", {
  intent: "Notes",
  requires: ["text"],
  parameters: { type: "object", properties: { text: { type: "string" } } },
  initialState: { n: 0 },
  messages: {
    add: {
      run({ state }) {
        state.n += 1;
        return { n: state.n };
      },
    },
  },
});

const missing = (field: string) => ({
  type: "validation_failed",
  message: `Missing required field: ${field}`,
  details: { missing: [field] },
});

void test("missing arguments of a tool are reported like missing fields, wrong values by their path", async () => {
  await using on = await world([look, notes]);
  const ask = async (payload: Parameters<typeof on.say>[2]) =>
    errorOf(await on.send({ type: "capability_request", capability_id: "look", payload }));
  assert.deepEqual(await ask({ tool: "two" }), missing("q"));
  assert.deepEqual(await ask({ tool: "two", parameters: { q: 1 } }), {
    type: "validation_failed",
    message: "q must be string",
    details: { issues: [{ path: "/q", message: "q must be string" }] },
  });
  for (const parameters of ["abc", [1], 5])
    assert.deepEqual((await ask({ tool: "one", parameters }))?.details, {
      issues: [{ path: "/parameters", message: "must be an object" }],
    });
  assert.equal(await ask({ tool: "one" }), undefined);
  assert.deepEqual(errorOf(await on.say("notes", "a", { text: 1 }))?.details, {
    issues: [{ path: "/text", message: "text must be string" }],
  });
});

void test("a payload is checked against the declared schema, whoever sends it, before an actor starts", async () => {
  await using on = await world([notes]);
  const viewer = as("ada");
  for (const [payload, error] of [
    [{}, missing("text")],
    [{ text: 1 }, { type: "validation_failed" }],
  ] as const) {
    await assert.rejects(on.actors.requestFromActor("notes", "a", payload, { viewer }), error);
    await assert.rejects(on.actors.sendToActor("notes", "a", payload, { viewer }), error);
  }
  assert.equal(await on.engine.read("notes/a"), undefined);
  assert.deepEqual(await on.actors.requestFromActor("notes", "a", { text: "t" }, { viewer }), { result: { n: 1 }, message_count: 1 });
});

const shop = actorCapability("shop", {
  intent: "Sells things",
  requires: ["item"],
  provides: ["price"],
  initialState: { sold: Array<string>() },
  messages: {
    refund: {
      match: { item: "refund" },
      run({ state }) {
        state.sold.push("refund");
        refuse("Nothing is given back.", { code: "NO_REFUND", data: { until: 3 } });
      },
    },
    foreign: {
      match: { item: "foreign" },
      async work({ state }) {
        state.sold.push("foreign");
        throw new PacketError("execution_failed", "The server is away.", { server: "far" });
      },
    },
    free: {
      match: { item: "free" },
      run({ state }) {
        state.sold.push("free");
        return { thanks: true };
      },
    },
    slow: {
      match: { item: "slow" },
      async work({ state }) {
        state.sold.push("slow");
        await Promise.resolve();
        return { price: null };
      },
    },
    seen: {
      match: { item: "seen" },
      view: ({ state }) => {
        if (state.sold.length === 0) refuse("Nothing was sold.", { code: "NONE" });
        return { price: state.sold.length };
      },
    },
    sell: {
      run({ state, payload }) {
        state.sold.push(JSON.stringify(payload["item"]));
        return { price: 2 };
      },
    },
  },
});

void test("required fields are checked before anything starts #packet.actor.fields #packet.implied.2-contract", async () => {
  await using on = await world([shop]);
  for (const payload of [{}, { item: null }, { other: 1 }]) {
    const error = errorOf(await on.say("shop", "a", payload));
    assert.deepEqual(error, { type: "validation_failed", message: "Missing required field: item", details: { missing: ["item"] } });
  }
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
});

void test("C3 a reply that breaks the contract leaves no trace in its actor, in turns and work #packet.actor.fields #packet.implied.2-contract", async () => {
  await using on = await world([shop]);
  await on.say("shop", "a", { item: "tea" });
  for (const item of ["free", "slow"]) {
    const error = errorOf(await on.say("shop", "a", { item }));
    assert.equal(error?.type, "contract_violation");
    assert.deepEqual(error?.details, { missing: ["price"] });
  }
  const state = await on.actors.getActorState("shop", "a", as("ada"));
  assert.deepEqual([state.state, state.metadata.message_count], [{ sold: ['"tea"'] }, 1]);
  assert.equal((await on.say("shop", "a", { item: "tea" })).metadata["message_count"], 2);
});

void test("provided fields of a deferred or forwarded reply are checked when it arrives", async () => {
  const desk = actorCapability("desk", {
    intent: "Takes orders",
    provides: ["price"],
    initialState: { waiting: "", notes: 0 },
    messages: {
      wait: {
        match: { order: "later" },
        run({ state, message, later }) {
          state.waiting = message.id;
          return later();
        },
      },
      reply: {
        match: { reply: true },
        run({ state, payload, answer }) {
          answer(state.waiting, payload["with"]);
          return { price: 0 };
        },
      },
      note: {
        match: { note: true },
        run({ state }) {
          state.notes += 1;
          return { price: 0 };
        },
      },
      settle: {
        match: { order: "settled" },
        run({ payload, self, send, settled }) {
          send({ to: self, action: "note", args: { payload: { note: true }, context: {} } });
          return settled(payload["with"]);
        },
      },
      count: { match: { count: true }, view: ({ state }) => ({ price: 0, notes: state.notes }) },
    },
  });
  await using on = await world([desk]);
  const say = (payload: JsonObject) => on.say("desk", "a", payload);
  for (const [price, type] of [
    [{ price: 3 }, undefined],
    [{ cost: 3 }, "contract_violation"],
  ] as const) {
    const waiting = say({ order: "later" });
    await say({ reply: true, with: price });
    assert.equal(typeOf(await waiting), type);
    assert.equal(typeOf(await say({ order: "settled", with: price })), type);
  }
  assert.equal((await say({ count: true })).payload["notes"], 1, "what was broken has sent nothing");
});

void test("a refusal in a turn, read or work is reported with its code and data, and changes nothing #packet.implied.2-execution #packet.implied.5-returns", async () => {
  await using on = await world([shop]);
  assert.deepEqual(errorOf(await on.say("shop", "a", { item: "refund" })), {
    type: "execution_failed",
    message: "Nothing is given back.",
    details: { code: "NO_REFUND", until: 3 },
  });
  assert.deepEqual(errorOf(await on.say("shop", "a", { item: "seen" })), {
    type: "execution_failed",
    message: "Nothing was sold.",
    details: { code: "NONE" },
  });
  assert.deepEqual(errorOf(await on.say("shop", "a", { item: "foreign" })), {
    type: "execution_failed",
    message: "The server is away.",
    details: { server: "far" },
  });
  assert.deepEqual((await on.actors.getActorState("shop", "a", as("ada"))).state, { sold: [] });
  assert.deepEqual(on.faults, []);
});

const plainOnes = [
  capability("adder", {
    intent: "Adds",
    requires: ["a", "b"],
    provides: ["sum"],
    execute: ({ a, b }) => (a === 0 ? { other: 1 } : { sum: Number(a) + Number(b) }),
  }),
  capability("odd", {
    intent: "Fails in its ways",
    execute({ how }) {
      if (how === "refuse") refuse("No.", { code: "NOPE" });
      if (how === "throw") throw new Error("a secret");
      return how === "bigint" ? { n: 1n } : how === "function" ? () => 1 : undefined;
    },
  }),
  mcpCapability("tools", {
    intent: "Two tools",
    tools: { one: { description: "One" }, two: { description: "Two", parameters: { n: { type: "number" } } } },
    handleToolCall: (name, parameters) => ({ name, parameters }),
  }),
];

void test("an error whose details are not JSON is sent without them", async () => {
  const circle: { inner?: object } = {};
  circle.inner = circle;
  const details: readonly object[] = [{ big: 1n }, circle];
  const fails = capability("fails", {
    intent: "Fails",
    execute: ({ n }) => {
      throw Object.assign(new PacketError("rate_limited", "Too fast."), { details: details[Number(n)] });
    },
  });
  await using on = await world([fails]);
  for (const n of details.keys()) {
    const reply = await on.send({ type: "capability_request", capability_id: "fails", payload: { n } });
    assert.deepEqual(errorOf(reply), { type: "rate_limited", message: "Too fast.", details: {} });
    assert.doesNotThrow(() => JSON.stringify(reply));
  }
  assert.equal(on.faults.length, details.length);
});

void test("an error with a type or details that no reply has becomes execution_failed, and is valid for every client", async () => {
  for (const [type, details, expected] of [
    ["nonsense", { a: 1 }, { type: "execution_failed", details: { code: "nonsense", a: 1 } }],
    ["nonsense", null, { type: "execution_failed", details: { code: "nonsense", data: null } }],
    ["rate_limited", [1], { type: "rate_limited", details: { data: [1] } }],
  ] as const) {
    const error = (): never => {
      throw Object.assign(new PacketError("cancelled", "No."), { type, details });
    };
    const failing = capability("failing", { intent: "Fails", execute: error });
    const looking = actorCapability("looking", { intent: "Fails", initialState: {}, messages: { look: { view: error } } });
    await using on = await world([failing, looking]);
    for (const capability_id of ["failing", "looking"]) {
      const reply = await on.send({ type: "capability_request", capability_id });
      assert.deepEqual(errorOf(reply), { message: "No.", ...expected }, capability_id);
    }
  }
});

void test("a function's payload and result are checked, and internal errors stay internal #packet.implied.2-contract", async () => {
  await using on = await world(plainOnes);
  const request = (capability_id: string, payload: object) =>
    on.send({ type: "capability_request", capability_id, payload: { ...payload } });
  assert.deepEqual((await request("adder", { a: 1, b: 2 })).payload, { sum: 3 });
  assert.equal(typeOf(await request("adder", { a: 1 })), "validation_failed");
  assert.deepEqual(errorOf(await request("adder", { a: 0, b: 2 }))?.details, { missing: ["sum"] });
  assert.deepEqual(errorOf(await request("odd", { how: "refuse" })), {
    type: "execution_failed",
    message: "No.",
    details: { code: "NOPE" },
  });
  for (const how of ["throw", "bigint", "function"]) {
    const reply = await request("odd", { how });
    assert.equal(typeOf(reply), "execution_failed", how);
    assert.ok(!JSON.stringify(reply).includes("a secret"));
  }
  assert.deepEqual((await request("odd", {})).payload, { result: null });
  assert.ok(on.faults.some((fault) => fault instanceof Error && fault.message === "a secret"));
});

void test("of several tools the named one runs; an unknown one is no_handler #packet.tools.handler", async () => {
  await using on = await world(plainOnes);
  const request = (payload: object) => on.send({ type: "capability_request", capability_id: "tools", payload: { ...payload } });
  assert.deepEqual((await request({ tool: "two", parameters: { n: 1 } })).payload, { name: "two", parameters: { n: 1 } });
  for (const tool of ["three", "constructor", ["one"], null]) assert.equal(typeOf(await request({ tool })), "no_handler");
  assert.equal(typeOf(await on.say("tools", "a", { tool: "one" })), "validation_failed", "it has no actors");
});
