import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEngine } from "troupe/engine";
import { SimulatedClock, SimulatedEntropy } from "troupe/testing";
import * as z from "zod";
import { actorCapability, Capabilities, capability, counter, idle, PacketFlow, type ReplyPacket } from "./index.ts";

const notes = actorCapability("research_notes", {
  intent: "Keep research notes",
  initialState: { notes: Array<string>() },
  effects: [counter("notes.runs")],
  timeout: idle(60_000),
  messages: {
    add: {
      match: z.object({ message_type: z.literal("add"), text: z.string().trim() }),
      run({ state, payload }) {
        state.notes.push(payload.text);
        return { count: state.notes.length };
      },
    },
    crash: {
      match: { message_type: "crash" },
      run({ state }) {
        state.notes.push("lost");
        throw new Error("It broke.");
      },
    },
    list: { match: { message_type: "list" }, view: ({ state, metadata }) => ({ notes: state.notes, seen: metadata.message_count }) },
  },
});

const transform = capability("user_transform", {
  intent: "Transform user data with specified operations",
  requires: ["user_id", "operations"],
  provides: ["done"],
  execute: ({ user_id, operations }) => ({ done: Array.isArray(operations) ? operations.length : 0, user_id }),
});

async function flow() {
  const clock = new SimulatedClock();
  const entropy = new SimulatedEntropy();
  const capabilities = new Capabilities([notes, transform]);
  const engine = await LocalEngine.start({ kinds: [...capabilities.kinds], clock, entropy });
  const packets = new PacketFlow({ capabilities, engine, clock, entropy, actors: { maxPerUser: 2 } });
  const session = packets.open({ caller: { principal: "ada", scopes: [] } });
  return {
    packets,
    engine,
    clock,
    send: (packet: object): Promise<ReplyPacket> => session.receive(JSON.stringify({ version: "1.0", ...packet })),
    async [Symbol.asyncDispose]() {
      await packets[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

const message = (payload: object, more: object = {}) => ({
  type: "actor_message",
  capability_id: "research_notes",
  actor_id: "a1",
  payload,
  context: { trace_id: "t1" },
  ...more,
});

void test("an actor message starts its actor, stores its state, and counts applied messages #packet.life.request #packet.life.spawn #packet.life.route #packet.phase.1-definition", async () => {
  await using on = await flow();
  const first = await on.send(message({ message_type: "add", text: " one " }));
  assert.equal(first.type, "capability_response", JSON.stringify(first));
  assert.deepEqual(first.payload, { count: 1 });
  assert.equal(first.metadata["message_count"], 1);
  const crashed = await on.send(message({ message_type: "crash" }));
  assert.equal(Object(crashed.payload["error"]).type, "actor_crash");
  const second = await on.send(message({ message_type: "list" }));
  assert.deepEqual(second.payload, { notes: ["one"], seen: 1 });
  const state = await on.packets.actors.getActorState("research_notes", "a1", { principal: "ada", scopes: [] });
  assert.deepEqual(Object.keys(state), ["actor_id", "capability_id", "state", "metadata"]);
  assert.deepEqual(state.state, { notes: ["one"] });
  assert.deepEqual(Object.keys(state.metadata), ["created_at", "last_message_at", "message_count", "persistence_strategy"]);
});

void test("the required fields of a capability without state are checked first", async () => {
  await using on = await flow();
  const request = { type: "capability_request", capability_id: "user_transform", context: {} };
  const lacking = await on.send({ ...request, payload: { user_id: "u" } });
  assert.deepEqual(lacking.payload["error"], {
    type: "validation_failed",
    message: "Missing required field: operations",
    details: { missing: ["operations"] },
  });
  const done = await on.send({ ...request, payload: { user_id: "u", operations: ["a", "b"] } });
  assert.deepEqual(done.payload, { done: 2, user_id: "u" });
});

void test("packets in progress have a memory limit, in total and per caller", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const waits = capability("waits", {
    intent: "Wait",
    requires: ["text"],
    provides: ["done"],
    async execute() {
      await promise;
      return { done: true };
    },
  });
  const clock = new SimulatedClock();
  const capabilities = new Capabilities([waits]);
  await using engine = await LocalEngine.start({ kinds: [], clock });
  await using packets = new PacketFlow({ capabilities, engine, clock, heldBytes: 40_000 });
  const send = (principal: string): Promise<ReplyPacket> =>
    packets.open({ caller: { principal, scopes: [] } }).receive(
      JSON.stringify({
        version: "1.0",
        type: "capability_request",
        capability_id: "waits",
        payload: { text: "x".repeat(9_000) },
        context: {},
      }),
    );
  const under = [send("ada"), send("ada"), send("bob")];
  const refused = await send("ada");
  assert.deepEqual(
    [refused.type, Object(refused.payload["error"]).type, refused.metadata["retry_after"]],
    ["capability_error", "rate_limited", 1],
  );
  resolve();
  for (const reply of await Promise.all(under)) assert.equal(reply.type, "capability_response");
  assert.equal((await send("ada")).type, "capability_response");
});
