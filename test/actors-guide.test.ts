// The guide to actors is true: its code is code that is tested, and does what the page says of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import * as z from "zod";
import { actor } from "../src/core/actor/index.ts";
import { readBody } from "../src/core/chain/index.ts";
import { LocalEngine } from "../src/core/engine/index.ts";
import { assertToolResult, testActor, testServer, toolText, until } from "../src/testing/index.ts";
import { chainOf } from "../src/testing/conformance/index.ts";
import { createServer } from "../src/mcp/server/index.ts";
import { memoryStore } from "../src/core/store/index.ts";
import { hotel, room } from "./guide/create.fixture.ts";
import { garden } from "./guide/elsewhere.fixture.ts";
import { guest, kitchen } from "./guide/later.fixture.ts";
import { desk, expense } from "./guide/links.fixture.ts";
import { draft } from "./guide/sample.fixture.ts";
import { account } from "./guide/secrets.fixture.ts";
import { order } from "./guide/shared-turn.fixture.ts";
import { root } from "./serve-child.ts";

for (const [title, file] of [
  ["Tools, messages and views", "shared-turn"],
  ["Links", "links"],
  ["Links by argument", "links-by-argument"],
  ["What starts when, and whose child it is", "create"],
  ["Timers", "timers"],
  ["Actors that talk to each other", "later"],
  ["Calling other MCP servers", "elsewhere"],
  ["Asking the person", "sample"],
  ["Secrets and records", "secrets"],
] as const)
  test(`the guide's code of ${title} is the code that is tested here`, () => {
    const [, section = ""] = readFileSync(join(root, "docs/guide/actors.md"), "utf8").split(`\n## ${title}\n`);
    const [, code = ""] = /```ts\n([\s\S]*?)\n```/.exec(section) ?? [];
    assert.ok(code.length > 200);
    assert.ok(readFileSync(join(import.meta.dirname, `guide/${file}.fixture.ts`), "utf8").includes(code));
  });

test("a state of an older version has what is new by its schema's defaults, as the guide has it", async () => {
  const store = memoryStore();
  const add = { description: "Adds.", run: ({ state }: { state: { n: number } }) => (state.n += 1) };
  const kind = { description: "A counter.", per: "shared", tools: { add } } as const;
  const before = actor("counter", { ...kind, state: z.object({ n: z.int().default(0) }) });
  const State = z.object({ n: z.int().default(0), log: z.array(z.string()).default([]) });
  const later = actor("counter", { ...kind, state: State, version: 2, migrate: ({ state }) => State.parse(state) });
  const message = { to: before.id("main"), action: "tools/add", args: {}, start: null };
  {
    await using engine = await LocalEngine.start({ kinds: [before], store });
    assert.deepEqual(await engine.call(message), { ok: 1 });
  }
  await using engine = await LocalEngine.start({ kinds: [later], store });
  assert.deepEqual(await engine.call(message), { ok: 2 });
  assert.deepEqual((await engine.read(before.id("main")))?.state, { n: 2, log: [] });
  const told = "where all that is new has defaults, `version: 2` and `migrate: ({ state }) => State.parse(state)` do";
  assert.ok(readFileSync(join(root, "docs/guide/actors.md"), "utf8").includes(told));
});

test("a function that turns share is one of each, as the guide has it", () => {
  const stage = testActor(order, { key: "o1" });
  stage.turn("tools/pay");
  stage.turn("again");
  assert.deepEqual(
    stage.sent.map(({ to, action, args }) => [to, action, args]),
    [
      ["bank/main", "charge", { order: "o1" }],
      ["bank/main", "charge", { order: "o1" }],
    ],
  );
  assert.deepEqual(stage.state, { tries: 2, paid: false });
});

test("an actor creates a child and learns of its end, as the guide has it", async () => {
  await using server = await testServer([hotel, room]);
  const { engine } = server;
  const rooms = async (): Promise<unknown> => Object(await engine.read(hotel.id("main"))).state.rooms;
  await server.client().callTool("open_room", { number: "7", beds: 2 });
  await until("the room is open", async () => (await engine.read(room.id("7"))) !== undefined);
  assert.deepEqual([(await engine.read(room.id("7")))?.state, await rooms()], [{ beds: 2 }, ["room/7"]]);
  await engine.call(room.at("7").close());
  await until("the hotel knows", async () => JSON.stringify(await rooms()) === "[]");
});

test("who was told later is told what another actor said, as the guide has it", async () => {
  await using server = await testServer([guest, kitchen]);
  const client = server.client();
  assert.equal(toolText(await client.callTool("order", { dish: "Soup" })), "Soup is served.");
  const late = await client.callTool("order", { dish: "Pie" });
  assert.deepEqual([late["isError"], toolText(late)], [true, "Nothing is left."]);
});

test("work asks another MCP server, and refuses where it cannot be had, as the guide has it", async () => {
  const weather = createServer("weather", "1.0.0");
  weather.tools.register({ name: "weather", output: z.object({ celsius: z.number() }) }, () => ({ celsius: 21 }));
  const { http } = await weather.listen({ http: { port: 0 } });
  process.env["WEATHER_URL"] = http.url;
  await using server = await testServer([garden]);
  const client = server.client();
  assertToolResult(await client.callTool("measure"), { celsius: 21 });
  await weather.close();
  const late = await client.callTool("measure");
  assert.deepEqual([late.isError, toolText(late)], [true, "The weather cannot be had now."]);
  const last = (await chainOf(server.engine, garden.id("main"))).at(-1);
  assert.match(JSON.stringify(last && readBody(last)?.["record"]), /"failed":"/);
  assert.deepEqual(server.faults, []);
});

test("the client's model is asked, and what it says is kept, as the guide has it", async () => {
  await using server = await testServer([draft]);
  const sampling = [{ role: "assistant", model: "m", content: [{ type: "text", text: "Dark." }] }];
  await server.client({ answers: { sampling } }).callTool("summarize");
  assert.deepEqual((await server.engine.read(draft.id("tester")))?.state, { text: "It was a dark and stormy night.", summary: "Dark." });
  assert.equal(toolText(await server.client().callTool("summarize")), "Your client has no model to lend.");
});

test("a secret argument is in no event, neither in its record, as the guide has it", async () => {
  await using engine = await LocalEngine.start({ kinds: [account], store: memoryStore() });
  await engine.call({ to: account.id("a"), action: "tools/sign_in", args: { name: "ada", password: "hunter22" }, start: null });
  const [event] = await chainOf(engine, account.id("a"));
  const told = JSON.stringify(event && readBody(event));
  assert.ok(told.includes('{"tried":"ada:[redacted]"}') && told.includes('"password":"[redacted]"'), told);
  assert.ok(!told.includes("hunter22"));
});

describe("links, as the guide has them", () => {
  for (const era of ["legacy", "modern"] as const)
    it(`refuses with the link's reason, joins under its prefix and begins a place (${era})`, async () => {
      await using server = await testServer([expense, desk]);
      const client = server.client({ principal: "ann", era });
      const early = await client.callTool("desk__queue", {});
      assert.deepEqual([early["isError"], toolText(early)], [true, "Submit it first."]);
      assert.match(JSON.stringify(early["_meta"]), /"NOT_NOW"/);
      await client.callTool("submit", { title: "Train" });
      const waits = async (): Promise<boolean> => toolText(await client.callTool("desk__queue", {})) === '{"waiting":["Train"]}';
      await until("the expense waits", waits);
    });

  it("takes a handle where nobody is known", async () => {
    await using server = await testServer([expense, desk]);
    const client = server.client({ principal: null, era: "modern" });
    const names = (await client.listTools()).map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ["desk__queue", "end_expense", "start_expense", "submit"]);
    assert.deepEqual(
      (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate),
      ["expense://{handle}/state"],
    );
  });
});
