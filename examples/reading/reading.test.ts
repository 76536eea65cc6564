import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { packetClient } from "troupe/packet";
import { packetTest } from "troupe/packet-testing";
import { memoryStore } from "troupe/store";
import { serveChild } from "../../test/serve-child.ts";
import { checkDigit } from "./check-digit.ts";
import { countWords, isbn, readingList, readingTime } from "./index.ts";
import { find } from "./plan.ts";

const DAY = 24 * 3_600_000;
const stage = () => packetTest({ capabilities: [countWords, readingTime, readingList, isbn], store: memoryStore() });

test("a list stores books between messages, and while it sleeps", async () => {
  await using on = await packetTest({ capabilities: [readingList], store: memoryStore() });
  const { startTestActor, sendActorMessage, getActorState, assertActorStateContains, assertEffectExecuted, advance } = on;

  const list = await startTestActor(readingList);
  await sendActorMessage(list, { add: "Emma" });
  await sendActorMessage(list, { add: "Ulysses" });
  await assertActorStateContains(list, { books: [{ title: "Emma" }, { title: "Ulysses" }] });
  assertEffectExecuted("reading", { actor_id: list.actor_id });

  await advance(8 * DAY);
  assert.equal((await getActorState(list)).books.length, 2);
});

test("a tool call runs the capability", async () => {
  await using on = await packetTest({ capabilities: [countWords] });
  const response = await on.executeMcpRequest(on.mcpToolCall("count_words", { text: "It was a dark night" }));
  assert.equal(response.result?.isError, false);
  assert.deepEqual(response.result.structuredContent, { words: 5 });
});

test("a list refuses duplicates and empty titles, and starts empty after it was ended", async () => {
  await using on = await stage();
  const list = await on.startTestActor(readingList);
  assert.deepEqual(await on.sendActorMessage(list, { add: " Emma " }), { books: 1 });
  await assert.rejects(on.sendActorMessage(list, { add: "Emma" }), { type: "execution_failed", details: { code: "ALREADY" } });
  await assert.rejects(on.sendActorMessage(list, { add: "" }), { type: "no_handler" });
  assert.deepEqual(await on.sendActorMessage(list, { list: true }), { books: ["Emma"], waiting: 0 });
  on.assertEffectExecuted("reading", { error: undefined });
  assert.deepEqual(await on.sendActorMessage(list, { done: true }), { left: 1 });
  await assert.rejects(on.getActorState(list), { type: "actor_not_found" });
  assert.deepEqual(await on.sendActorMessage(list, { list: true }), { books: [], waiting: 0 });
});

test("a full list refuses another book", async () => {
  await using on = await stage();
  const list = await on.startTestActor(readingList);
  for (let index = 1; index <= 100; index += 1) await on.sendActorMessage(list, { add: `Book ${index}` });
  await assert.rejects(on.sendActorMessage(list, { add: "Dune" }), { details: { code: "FULL" } });
});

test("a daily timer counts the books that wait for more than a month", async () => {
  await using on = await stage();
  const list = await on.startTestActor(readingList);
  await on.sendActorMessage(list, { add: "Emma" });
  await on.advance(30 * DAY);
  await on.assertActorStateContains(list, { waiting: 0 });
  await on.sendActorMessage(list, { add: "Dune" });
  await on.advance(DAY);
  await on.assertActorStateContains(list, { waiting: 1 });
});

test("a chain turns a text into minutes", async () => {
  await using on = await stage();
  const text = "word ".repeat(500);
  const viewer = { principal: "ada", scopes: [] };
  assert.deepEqual(await find(on.flow, { text }, ["minutes"], viewer), { text, words: 500, minutes: 3 });
  await assert.rejects(find(on.flow, { text }, ["weather"], viewer), /Nothing leads from text to weather/);
  on.assertMetricEmitted("words.counted", { capability_id: "count_words" });
});

test("arguments of a wrong type are refused", async () => {
  await using on = await stage();
  const run = (id: string, payload: object) =>
    on.flow.running.run(id, { ...payload }, { viewer: { principal: "ada", scopes: [] }, context: {} });
  for (const [id, payload] of [
    ["count_words", {}],
    ["count_words", { text: 1 }],
    ["reading_time", { words: "many" }],
    ["isbn", { tool: "isbn_check", parameters: {} }],
    ["isbn", { tool: "isbn_check", parameters: { isbn: 9780141439 } }],
  ] as const)
    await assert.rejects(run(id, payload), { type: "validation_failed" });
});

test("an ISBN is checked and completed by tools", async () => {
  assert.equal(checkDigit("978014143958"), "7");
  await using on = await stage();
  const call = async (name: string, number: string): Promise<unknown> =>
    (await on.executeMcpRequest(on.mcpToolCall(name, { isbn: number }))).result?.structuredContent;
  assert.deepEqual(await call("isbn_complete", "978014143958"), { isbn: "9780141439587" });
  assert.deepEqual(await call("isbn_check", "9780141439587"), { valid: true });
  assert.deepEqual(await call("isbn_check", "9780141439588"), { valid: false });
  assert.deepEqual(await call("isbn_check", "978014143958"), { valid: false });
});

test("borrow calls the library, another MCP server from the configuration", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-reading-"));
  try {
    const config = join(folder, "servers.yaml");
    const text = readFileSync(join(import.meta.dirname, "servers.yaml"), "utf8");
    writeFileSync(config, text.replace("data/library", join(folder, "library")));
    const options = ["--packets", "--no-auth", "--packet-config", config];
    await using served = await serveChild(["examples/reading", ...options], { data: join(folder, "data") });
    using client = packetClient(new URL("/packets", served.ready.http), { context: { user_id: "ada" } });
    const ask = (payload: Parameters<typeof client.request>[1]) => client.request("reading_list", payload);
    await assert.rejects(ask({ borrow: true }), { type: "execution_failed", details: { code: "EMPTY" } });
    await ask({ add: "Emma" });
    await ask({ add: "Ulysses" });
    assert.deepEqual(await ask({ borrow: true }), { borrowed: "Emma" });
    await assert.rejects(ask({ borrow: true }), { type: "execution_failed" });
    assert.deepEqual(await ask({ list: true }), { books: ["Ulysses"], waiting: 0 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
