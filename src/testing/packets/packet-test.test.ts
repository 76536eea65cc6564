import assert, { AssertionError } from "node:assert/strict";
import { test } from "node:test";
import { actor } from "troupe";
import { actorCapability, auditLog, capability, counter, histogram, idle, PacketError } from "troupe/packet";
import { packetTest } from "troupe/packet-testing";
import { memoryStore } from "troupe/store";
import * as z from "zod";

const assistant = actorCapability("research_assistant", {
  intent: "Answers research questions, and remembers them",
  initialState: { conversation_history: Array<{ query: string; at: number }>(), remembered: { topics: Array<string>() } },
  effects: [auditLog("info", "research.requested"), counter("research.queries")],
  timeout: idle(60_000),
  messages: {
    crash: {
      match: { query: "crash" },
      run() {
        throw new RangeError("The index broke.");
      },
    },
    dice: {
      match: { query: "dice" },
      run({ state }) {
        state.remembered.topics.push(String(Math.random()));
      },
    },
    ask: {
      match: z.object({ query: z.string() }),
      run({ state, payload, now }) {
        state.conversation_history.push({ query: payload.query, at: now });
        return { answered: state.conversation_history.length };
      },
    },
  },
});

const transform = capability("user_transform", {
  intent: "Transform user data with specified operations",
  requires: ["user_id"],
  effects: [histogram("transform.ms")],
  execute({ user_id }) {
    if (user_id === "broken") throw new RangeError("The belt broke.");
    return { transformed: user_id };
  },
});

const door = actor("door", {
  description: "A door.",
  per: "shared",
  persistence: "memory",
  initial: () => ({ open: false }),
  tools: {
    open: {
      description: "Open it.",
      run({ state }) {
        state.open = true;
        return "It creaks open.";
      },
    },
  },
});

const kit = () => packetTest({ capabilities: [assistant, transform, door] });

/** The message of the assertion that fails. */
async function complaint(run: () => unknown): Promise<AssertionError> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof AssertionError, String(error));
    return error;
  }
  return assert.fail("It passed.");
}

void test("actor maintains state between messages #packet.testing.actor #packet.implied.12-kit", async () => {
  await using kitOfTest = await kit();
  const { startTestActor, sendActorMessage, assertActorStateContains, getActorState } = kitOfTest;

  const researcher = await startTestActor(assistant);

  await sendActorMessage(researcher, { query: "What is Elixir?" });
  await assertActorStateContains(researcher, "conversation_history");

  await sendActorMessage(researcher, { query: "Tell me more" });
  const state = await getActorState(researcher);
  assert.equal(state.conversation_history.length, 2);
});

void test("MCP tool call executes capability #packet.testing.mcp #packet.implied.12-kit", async () => {
  await using kitOfTest = await kit();
  const { mcpToolCall, executeMcpRequest } = kitOfTest;

  const mcpRequest = mcpToolCall("user_transform", { user_id: "123" });

  const response = await executeMcpRequest(mcpRequest);

  assert.equal(response.result?.isError, false);
  assert.ok(response.result?.content);
  assert.deepEqual(response.result.structuredContent, { transformed: "123" });
});

void test("an actor started by its id is the same actor; without an actor_id each is one of its own #packet.implied.12-kit", async () => {
  await using on = await kit();
  const first = await on.startTestActor("research_assistant");
  const again = await on.startTestActor(assistant, { actor_id: first.actor_id });
  const second = await on.startTestActor(assistant);
  assert.deepEqual(await on.sendActorMessage(first, { query: "a" }), { answered: 1 });
  assert.deepEqual(await on.sendActorMessage(again, { query: "b" }), { answered: 2 });
  assert.deepEqual(await on.sendActorMessage(second, { query: "c" }), { answered: 1 });
  assert.deepEqual(await on.getActorState(first), await on.getActorState(again));
});

void test("a kind of actor is tested as it is, with the type of its state", async () => {
  await using on = await kit();
  const front = await on.startTestActor(door, { actor_id: "main" });
  assert.equal((await on.getActorState(front)).open, false);
  assert.equal(await on.sendActorMessage(front, { tool: "open" }), "It creaks open.");
  await on.assertActorStateContains(front, { open: true });
  await on.assertActorStateContains(front, "open");
});

void test("what getActorState gives is a copy #packet.testing.actor #packet.implied.4-private", async () => {
  await using on = await kit();
  const one = await on.startTestActor(assistant);
  await on.sendActorMessage(one, { query: "a" });
  const state = await on.getActorState(one);
  state.remembered.topics.push("mine");
  await on.assertActorStateContains(one, { remembered: { topics: [] } });
});

void test("assertActorStateContains takes any part at any depth, and tells what is there instead #packet.testing.actor", async () => {
  await using on = await kit();
  const one = await on.startTestActor(assistant);
  await on.sendActorMessage(one, { query: "What is Elixir?" });
  await on.assertActorStateContains(one, { conversation_history: [{ query: "What is Elixir?" }] });
  // Compared at run time too, whatever is known of its type.
  const untyped = await on.startTestActor("research_assistant", { actor_id: one.actor_id });
  const byName = await complaint(() => on.assertActorStateContains(untyped, "notes"));
  assert.match(byName.message, /research_assistant "test-1" has no "notes".*\n[^]*What is Elixir\?[^]*Send the message/);
  const byPart = await complaint(() => on.assertActorStateContains(one, { conversation_history: [{ query: "Who?" }] }));
  assert.match(byPart.message, /does not contain\n[^]*Who\?[^]*It is:\n[^]*What is Elixir\?/);
  assert.deepEqual(byPart.actual, await on.getActorState(one));
  const parts: readonly object[] = [
    { conversation_history: [] },
    { conversation_history: [{}, {}] },
    { conversation_history: { 0: {} } },
    { remembered: [] },
    { remembered: { topics: ["x"] } },
    { remembered: null },
    { toString: {} },
  ];
  for (const part of parts) await complaint(() => on.assertActorStateContains(untyped, part));
});

void test("what a capability says no to rejects with PacketError, and its cause is what broke", async () => {
  await using on = await kit();
  await assert.rejects(on.startTestActor("nothing"), { name: "PacketError", type: "capability_not_found" });
  await assert.rejects(on.startTestActor("user_transform"), { name: "PacketError", type: "validation_failed" });
  const one = await on.startTestActor(assistant);
  await assert.rejects(on.sendActorMessage(one, { quarry: "?" }), { name: "PacketError", type: "no_handler" });
  await assert.rejects(on.sendActorMessage(one, {}, { session_id: "" }), { name: "PacketError", type: "protocol_error" });
  await assert.rejects(on.sendActorMessage(one, { query: "crash" }), (error) => {
    assert.ok(error instanceof PacketError && error.cause instanceof Error);
    assert.equal(error.type, "actor_crash");
    assert.deepEqual(error.cause.cause, new RangeError("The index broke."));
    return true;
  });
  await on.assertActorStateContains(one, { conversation_history: [] });
});

void test("law 4: a turn that is not pure is found out", async () => {
  await using on = await kit();
  const one = await on.startTestActor(assistant);
  await assert.rejects(on.sendActorMessage(one, { query: "dice" }), { type: "actor_crash" });
  assert.match(String(on.faults[0]), /not pure: run twice it differs at .*topics/);
});

void test("another user's actor is not there", async () => {
  await using on = await kit();
  const hers = await on.startTestActor(assistant, { actor_id: "notes", user: "ada" });
  await on.sendActorMessage(hers, { query: "a" });
  await assert.rejects(on.sendActorMessage(hers, { query: "b" }, { user_id: "bob" }), { name: "PacketError" });
  assert.equal((await on.getActorState(hers)).conversation_history.length, 1);
});

void test("time moves when the test moves it: an actor ends after its timeout, or after its own #packet.end.timeout", async () => {
  await using on = await kit();
  const usual = await on.startTestActor(assistant);
  const long = await on.startTestActor(assistant, { options: { state_timeout: 90_000 } });
  for (const one of [usual, long]) await on.sendActorMessage(one, { query: "a" });
  await on.advance(59_999);
  await on.assertActorStateContains(usual, { conversation_history: [{ query: "a" }] });
  await on.advance(1);
  await assert.rejects(on.getActorState(usual), { name: "PacketError", type: "actor_not_found" });
  await on.assertActorStateContains(long, { conversation_history: [{ query: "a" }] });
  assert.deepEqual(await on.sendActorMessage(usual, { query: "b" }), { answered: 1 });
  const [first] = (await on.getActorState(usual)).conversation_history;
  assert.equal(first?.at, on.clock.now());
});

void test("effects are asserted by what was declared, by name and by sort, with what else must hold #packet.implied.10-effects", async () => {
  await using on = await kit();
  const none = await complaint(() => on.assertEffectExecuted("research.requested"));
  assert.match(none.message, /No effect 'research.requested'. There was none at all.\nDeclare it under effects/);
  const one = await on.startTestActor(assistant);
  await on.sendActorMessage(one, { query: "a" }, { trace_id: "t1" });
  await assert.rejects(on.sendActorMessage(one, { query: "crash" }));
  on.assertEffectExecuted(auditLog("info", "research.requested"));
  on.assertEffectExecuted("research.requested", { actor_id: "test-1", trace_id: "t1", user_id: "tester", error: undefined });
  on.assertEffectExecuted("audit_log", { error: "actor_crash" });
  on.assertMetricEmitted("research.queries", { value: 1, capability_id: "research_assistant" });
  assert.equal(on.effects.length, 4);
  assert.match((await complaint(() => on.assertEffectExecuted(auditLog("error", "research.requested")))).message, /level: 'info'/);
  const elsewhere = await complaint(() => on.assertMetricEmitted("research.queries", { actor_id: "test-2" }));
  assert.match(elsewhere.message, /No metric 'research.queries' where \{ actor_id: 'test-2' \}. There were 4:\n[^]*test-1/);
  await complaint(() => on.assertMetricEmitted("research.requested"));
  await complaint(() => on.assertEffectExecuted("research.queries", { trace_id: "t1", error: "actor_crash" }));
});

void test("a JSON-RPC error is a response, and what broke is among the faults", async () => {
  await using on = await kit();
  const lacking = await on.executeMcpRequest(on.mcpToolCall("user_transform"));
  assert.deepEqual(lacking.error, {
    code: -32602,
    message: "Invalid params",
    data: { capability_error: "Missing required field: user_id" },
  });
  assert.equal(lacking.result, undefined);
  const broken = await on.executeMcpRequest(on.mcpToolCall("user_transform", { user_id: "broken" }));
  assert.equal(broken.result?.isError, true);
  assert.deepEqual(on.faults, [new RangeError("The belt broke.")]);
  on.assertMetricEmitted("transform.ms", { error: "execution_failed" });
  const listed = await on.executeMcpRequest({ jsonrpc: "2.0", id: "list", method: "tools/list" });
  assert.equal(listed.id, "list");
  assert.match(JSON.stringify(listed.result), /"user_transform"/);
});

void test("a tool call speaks to its user's own actor #packet.security.authorization", async () => {
  await using on = await kit();
  await on.executeMcpRequest(on.mcpToolCall("research_assistant", { query: "a" }), { user: "ada" });
  const hers = await on.startTestActor(assistant, { actor_id: "research_assistant:ada", user: "ada" });
  await on.assertActorStateContains(hers, { conversation_history: [{ query: "a" }] });
});

for (const persistence of ["disk", "distributed"] as const)
  void test(`with a store, actors that are ${persistence} keep their state beyond their end #packet.actor.persistence #packet.phase.3-persistence #packet.forward.backends #packet.implied.6-survives`, async () => {
    const counting = actorCapability("counting", {
      intent: "Counts",
      initialState: { count: 0 },
      persistence,
      messages: {
        up: {
          run({ state }) {
            state.count += 1;
          },
        },
      },
    });
    await assert.rejects(packetTest({ capabilities: [counting] }), { code: "ENGINE_MISSING", message: /memoryStore\(\) of troupe\/store/ });
    await using store = memoryStore();
    await using on = await packetTest({ capabilities: [counting], store });
    const one = await on.startTestActor(counting);
    await on.sendActorMessage(one, {});
    await on.flow.actors.terminateActor("counting", one.actor_id, "enough", { principal: one.user, scopes: [] });
    await on.sendActorMessage(one, {});
    await on.assertActorStateContains(one, { count: 2 });
  });

void test("close ends pending calls, and may be called again", async () => {
  const slow = actorCapability("slow", {
    intent: "Waits",
    initialState: {},
    messages: { wait: { work: ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(new Error("Aborted.")))) } },
  });
  const on = await packetTest({ capabilities: [slow] });
  const waiting = on.sendActorMessage(await on.startTestActor(slow), {});
  const ended = assert.rejects(waiting, { name: "PacketError" });
  await on.close();
  await on.close();
  await ended;
  await assert.rejects(on.startTestActor(slow), { name: "PacketError" });
});

void test("a reply that does not arrive in time is an actor_timeout, once time has advanced", async () => {
  const slow = actorCapability("slow", {
    intent: "Waits",
    initialState: {},
    messages: { wait: { work: () => new Promise<null>(() => undefined) } },
  });
  await using on = await packetTest({ capabilities: [slow], actors: { replyMs: 2_000 } });
  const timedOut = assert.rejects(on.sendActorMessage(await on.startTestActor(slow), {}), {
    name: "PacketError",
    type: "actor_timeout",
    details: { actor_id: "test-1", timeout_ms: 2_000, code: "ACTOR_TIMEOUT", applied: false },
  });
  await on.advance(2_000);
  await timedOut;
});

test("a tool call may take longer than a minute", async () => {
  const slow = actorCapability("slow", {
    intent: "Waits",
    initialState: {},
    policy: { workMs: 200_000 },
    messages: { wait: { work: () => new Promise<null>((done) => void on.clock.after(90_000, () => done(null))) } },
  });
  await using on = await packetTest({ capabilities: [slow], actors: { replyMs: 100_000 }, toolTimeoutMs: 100_000 });
  const { flow } = on;
  const direct = on.executeMcpRequest(on.mcpToolCall("slow"));
  await on.advance(90_000);
  assert.equal((await direct).result?.isError, false);
  const packet = { version: "1.0", type: "mcp_request", payload: { mcp_message: on.mcpToolCall("slow") } };
  const carried = flow.open({ caller: { principal: "tester", scopes: [] } }).receive(JSON.stringify(packet));
  await on.advance(90_000);
  assert.equal((await carried).type, "capability_response");
});

test("actors with searchable fields are searched as on a server", async () => {
  const notes = actorCapability("notes", {
    intent: "Keeps notes",
    initialState: { n: 0 },
    persistence: "disk",
    search: ["payload:text"],
    messages: {
      add: {
        run({ state }) {
          state.n += 1;
        },
      },
    },
  });
  await using on = await packetTest({ capabilities: [notes], store: memoryStore() });
  const one = await on.startTestActor(notes);
  await on.sendActorMessage(one, { text: "a dark night" });
  const { result } = await on.executeMcpRequest(on.mcpToolCall("notes_search", { query: "night" }));
  const { hits } = Object(result?.structuredContent);
  assert.deepEqual([hits.length, hits[0].actor_id], [1, one.actor_id]);
});

test("two runs of the same test see the same ids and times", async () => {
  const run = async (): Promise<unknown> => {
    await using on = await kit();
    const one = await on.startTestActor(assistant);
    await on.sendActorMessage(one, { query: "a" });
    return [await on.getActorState(one), on.effects.map(({ at, trace_id }) => [at, trace_id])];
  };
  assert.deepEqual(await run(), await run());
});
