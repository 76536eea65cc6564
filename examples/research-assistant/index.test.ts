import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { packetClient } from "troupe/packet";
import { packetTest } from "troupe/packet-testing";
import { memoryStore } from "troupe/store";
import { connect } from "../../test/clients.ts";
import { serveChild } from "../../test/serve-child.ts";
import { researchAssistant } from "./index.ts";

const note = (text: string, topic?: string) => ({ message_type: "note", text, ...(topic !== undefined && { topic }) });
const say = (message: string) => ({ message_type: "conversation", message });

const startKit = () => packetTest({ capabilities: [researchAssistant], store: memoryStore() });

test("recall returns all notes, or those of one topic", async () => {
  await using kit = await startKit();
  const assistant = await kit.startTestActor(researchAssistant);
  assert.deepEqual(await kit.sendActorMessage(assistant, note("Users leave in week two.", "retention")), { noted: 1 });
  assert.deepEqual(await kit.sendActorMessage(assistant, note("  Ask ten more. ")), { noted: 2 });
  const at = kit.clock.now();
  const [first, second] = [
    { text: "Users leave in week two.", topic: "retention", at },
    { text: "Ask ten more.", topic: "general", at },
  ];
  const recalled = (topic?: string) => kit.sendActorMessage(assistant, { message_type: "recall", ...(topic !== undefined && { topic }) });
  assert.deepEqual(await recalled(), { notes: [first, second], conversation: [] });
  assert.deepEqual(await recalled("retention"), { notes: [first], conversation: [] });
  assert.deepEqual(await recalled("weather"), { notes: [], conversation: [] });
});

test("a question is answered with matching notes, and stored", async () => {
  await using kit = await startKit();
  const assistant = await kit.startTestActor(researchAssistant);
  await kit.sendActorMessage(assistant, note("Revenue grows.", "money"));
  await kit.sendActorMessage(assistant, note("Users leave in week two.", "retention"));
  await kit.sendActorMessage(assistant, note("User interviews: retention is about habits.", "habits"));
  assert.deepEqual(await kit.sendActorMessage(assistant, say("What did we discuss about user retention?")), {
    answer: "habits: User interviews: retention is about habits.\nretention: Users leave in week two.",
    asked_before: 0,
  });
  assert.deepEqual(await kit.sendActorMessage(assistant, say("And the weather?")), {
    answer: "Nothing is noted about that yet.",
    asked_before: 1,
  });
  await kit.assertActorStateContains(assistant, {
    conversation_history: [{ message: "What did we discuss about user retention?" }, { message: "And the weather?" }],
  });
  kit.assertMetricEmitted("research.messages", { actor_id: assistant.actor_id });
});

test("forget removes the notes of one topic, or all of them", async () => {
  await using kit = await startKit();
  const assistant = await kit.startTestActor(researchAssistant);
  for (const topic of ["money", "retention", "money"]) await kit.sendActorMessage(assistant, note("A note.", topic));
  await kit.sendActorMessage(assistant, say("Hello?"));
  assert.deepEqual(await kit.sendActorMessage(assistant, { message_type: "forget", topic: "money" }), { forgotten: 2 });
  await kit.assertActorStateContains(assistant, { notes: [{ topic: "retention" }] });
  assert.deepEqual(await kit.sendActorMessage(assistant, { message_type: "forget" }), { forgotten: 1 });
  await kit.assertActorStateContains(assistant, { notes: [], conversation_history: [{ message: "Hello?" }] });
});

test("the last hundred notes and messages are stored, also the largest", async () => {
  await using kit = await startKit();
  const assistant = await kit.startTestActor(researchAssistant);
  const largest = (text: string): string => text.padEnd(2_000, "\u0001");
  for (let index = 0; index <= 100; index += 1) {
    await kit.sendActorMessage(assistant, note(largest(`Note ${index}`)));
    await kit.sendActorMessage(assistant, say(largest(`Message ${index}`)));
  }
  const { notes, conversation_history } = await kit.getActorState(assistant);
  assert.deepEqual([notes.length, notes[0]?.text, notes.at(-1)?.text], [100, largest("Note 1"), largest("Note 100")]);
  assert.deepEqual([conversation_history.length, conversation_history[0]?.message], [100, largest("Message 1")]);
});

test("a message of an unknown type or without text is refused, and changes nothing", async () => {
  await using kit = await startKit();
  const assistant = await kit.startTestActor(researchAssistant);
  for (const [payload, type] of [
    [{ text: "A note." }, "validation_failed"],
    [{ message_type: "shout" }, "validation_failed"],
    [note("   "), "no_handler"],
    [say("x".repeat(2_001)), "no_handler"],
  ] as const)
    await assert.rejects(kit.sendActorMessage(assistant, payload), { type });
  await kit.assertActorStateContains(assistant, { notes: [], conversation_history: [] });
});

test("each user has an assistant of their own, and cannot reach another user's", async () => {
  await using kit = await startKit();
  const call = (args: Parameters<typeof kit.mcpToolCall>[1], user: string) =>
    kit.executeMcpRequest(kit.mcpToolCall("research_assistant", args), { user });
  await call(note("Ada's secret."), "ada");
  const recalled = await call({ message_type: "recall" }, "bob");
  assert.deepEqual(recalled.result?.structuredContent, { notes: [], conversation: [] });
  await call({ ...note("Ada's other secret."), actor_id: "study" }, "ada");
  const foreign = await call({ message_type: "recall", actor_id: "study" }, "bob");
  assert.equal(foreign.result?.isError, true);
  assert.doesNotMatch(JSON.stringify(foreign), /secret/);
});

test("the served assistant is reached by packets and MCP, and survives a restart", { timeout: 60_000 }, async () => {
  const data = mkdtempSync(join(tmpdir(), "troupe-research-"));
  const serve = () => serveChild(["examples/research-assistant", "--packets", "--no-auth"], { data });
  const context = { user_id: "ada" };
  const clientOf = (http: string | undefined) => packetClient(new URL("/packets", http), { context });
  const texts = ({ hits }: Readonly<Record<string, unknown>>): readonly unknown[] =>
    Array.isArray(hits) ? hits.map(({ snippet }: { readonly snippet: string }) => snippet) : [];
  try {
    {
      await using served = await serve();
      using client = clientOf(served.ready.http);
      await client.request("research_assistant", note("Users leave in week two.", "retention"));
      await client.request("research_assistant", say("Why do they leave?"));
      assert.deepEqual(texts(await client.request("research_assistant_search", { query: "week" })), ["Users leave in week two."]);
      using other = packetClient(new URL("/packets", served.ready.http), { context: { user_id: "bob" } });
      assert.deepEqual(await other.request("research_assistant_search", { query: "week" }), { hits: [] });
      await using mcp = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
      const tools = (await mcp.tools()).map(({ name }) => name);
      assert.deepEqual(tools, ["research_assistant", "research_assistant_search"]);
      // An MCP client without a token is identified by its session, so it is another user than the guest ada.
      await mcp.call("research_assistant", note("Habits take two months.", "habits"));
      const found = await mcp.call("research_assistant_search", { query: "months" });
      assert.deepEqual(texts(Object(found.structured)), ["Habits take two months."]);
      assert.deepEqual((await mcp.call("research_assistant_search", { query: "week" })).structured, { hits: [] });
    }
    await using served = await serve();
    using client = clientOf(served.ready.http);
    assert.deepEqual(await client.request("research_assistant", say("When do users leave?")), {
      answer: "retention: Users leave in week two.",
      asked_before: 1,
    });
    const found = await client.request("research_assistant_search", { query: "leave" });
    assert.deepEqual(new Set(texts(found)), new Set(["When do users leave?", "Users leave in week two.", "Why do they leave?"]));
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});
