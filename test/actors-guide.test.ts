// The code of the pages on actors is tested here, and does what the pages say.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { LocalEngine } from "../src/core/engine/index.ts";
import { readBody } from "../src/core/chain/index.ts";
import { assertRefused, assertToolResult, testActor, testServer, toolText, until } from "../src/testing/index.ts";
import { chainOf } from "../src/testing/conformance/index.ts";
import { createServer } from "../src/mcp/server/index.ts";
import { memoryStore } from "../src/core/store/index.ts";
import { reader } from "../examples/library/index.ts";
import { poll } from "./guide/actors.fixture.ts";
import { hotel, room } from "./guide/create.fixture.ts";
import { garden } from "./guide/elsewhere.fixture.ts";
import { pump, station } from "./guide/failures.fixture.ts";
import { guest, kitchen } from "./guide/later.fixture.ts";
import { desk, expense } from "./guide/links.fixture.ts";
import { parcel, writer } from "./guide/long-work.fixture.ts";
import { inbox, leave, news } from "./guide/messages.fixture.ts";
import { pantry } from "./guide/questions.fixture.ts";
import { reader as bookReader } from "./guide/resources.fixture.ts";
import { draft } from "./guide/sample.fixture.ts";
import { account } from "./guide/secrets.fixture.ts";
import { order } from "./guide/shared-turn.fixture.ts";
import { game, note, noteWithTags } from "./guide/state.fixture.ts";
import { visit } from "./guide/time.fixture.ts";
import { shelf, wallet } from "./guide/tools.fixture.ts";
import { box } from "./guide/undo.fixture.ts";
import { board, diary, incident } from "./guide/users.fixture.ts";
import * as z from "zod";
import { unformatted } from "./guide-code.ts";
import { root } from "./serve-child.ts";

const PAGES =
  "concepts actors state tools resources-and-prompts users links messages lifecycle time long-work questions secrets undo failures settings".split(
    " ",
  );

const tested = globSync(["test/guide/*.fixture.ts", "examples/{library,incident-desk}/index.ts", "test/actors-guide.test.ts"], {
  cwd: root,
})
  .map((file) => unformatted(readFileSync(join(root, file), "utf8")))
  .join("\n");

for (const page of PAGES)
  test(`the page ${page} is short, states its purpose and contains only tested code`, () => {
    const text = readFileSync(join(root, `docs/guide/${page}.md`), "utf8");
    assert.match(text, /^# .+\n\nAfter reading this page you [^\n]+\.\n/);
    assert.ok(text.split("\n").length <= 210);
    for (const [, code = ""] of text.matchAll(/```ts\n([\s\S]*?)\n```/g)) assert.ok(tested.includes(unformatted(code)), code);
  });

test("a poll closes an hour after the last vote", async () => {
  await using server = await testServer([poll]);
  const ann = server.client({ principal: "ann" });
  assertToolResult(await ann.tools.vote({ dish: "soup" }), "You voted for soup.");
  assertRefused(await ann.callTool("vote", { dish: "stone" }), /stone|dish/, "INVALID");
  assertToolResult(await ann.tools.result(), { open: true, votes: { ann: "soup" } });
  await server.clock.advance(60 * 60_000);
  assertRefused(await ann.tools.vote({ dish: "pizza" }), "The poll is closed.", "NOT_NOW");
  assert.match(JSON.stringify(await ann.getPrompt("decide")), /soup, pizza\?/);
  assert.deepEqual(JSON.parse(await ann.readText("poll://dishes")), ["soup", "pizza"]);
});

test("one actor is tested without a server", () => {
  const ada = testActor(reader, { key: "ada" });
  ada.turn("tools/borrow", { title: "Emma" });
  assert.equal(ada.sent[0]?.to, "shelf/main");
  ada.reply(ada.sent[0], { ok: "Emma" });
  assert.deepEqual(ada.view("resources/books"), { ok: ["Emma"] });
});

test("a state of an older version gets new fields from the schema's defaults", async () => {
  const store = memoryStore();
  {
    await using engine = await LocalEngine.start({ kinds: [note], store });
    await engine.call({ to: note.id("ann"), action: "tools/write", args: { text: "Hello" } });
  }
  await using engine = await LocalEngine.start({ kinds: [noteWithTags], store });
  await engine.call({ to: note.id("ann"), action: "tools/tag", args: { tag: "new" } });
  assert.deepEqual((await engine.read(note.id("ann")))?.state, { text: "Hello", edits: 1, tags: ["new"] });
});

test("initial receives the key, the time and a source of randomness", () => {
  const { player, startedAt, dice } = testActor(game, { key: "ann" }).state;
  assert.deepEqual([player, Number.isFinite(startedAt), dice.length], ["ann", true, 2]);
  assert.ok(dice.every((die) => die >= 1 && die <= 6));
});

test("tools reply, refuse and are unavailable", async () => {
  await using server = await testServer([wallet]);
  const ann = server.client();
  assertRefused(await ann.tools.spend({ coins: 1 }), "Your wallet is empty.", "NOT_NOW");
  assertToolResult(await ann.tools.earn({ coins: 3 }), "You have 3 coins.");
  assertRefused(await ann.tools.spend({ coins: 5 }), "You have only 3 coins.", "REFUSED");
  assertRefused(await ann.tools.earn({ coins: 0 }), /coins/, "INVALID");
  assertToolResult(await ann.tools.spend({ coins: 1 }), "You have 2 coins left.");
  const balance = await ann.tools.balance();
  assert.deepEqual([balance.structuredContent, toolText(balance)], [{ coins: 2 }, '{"coins":2}']);
  const listed = (await ann.listTools()).find(({ name }) => name === "balance");
  assert.equal(Object(listed?.["annotations"]).readOnlyHint, true);
});

test("choices are listed and checked, and a tool asks for a confirmation", async () => {
  await using server = await testServer([shelf]);
  const ann = server.client({ answers: { elicitation: [{ action: "decline" }, { action: "accept", content: { confirm: true } }] } });
  assert.match(JSON.stringify(await ann.listTools()), /"enum":\["Dune","Emma"\]/);
  assertRefused(await ann.callTool("give_away", { title: "Ulysses" }), /title/, "INVALID");
  assertToolResult(await ann.tools.give_away({ title: "Dune" }), "Done.");
  assertToolResult(await ann.tools.surprise(), "Emma");
  assertRefused(await ann.tools.clear(), /./, "NOT_CONFIRMED");
  assertToolResult(await ann.tools.clear(), "Done.");
  assertToolResult(await ann.tools.surprise(), "You have no books.");
});

test("resources are listed, completed and notified; prompts read the state", async () => {
  await using server = await testServer([bookReader]);
  const ann = server.client();
  assert.deepEqual(
    (await ann.listResources()).map(({ uri }) => uri),
    ["books://mine", "books://mine/Dune", "books://mine/Emma"],
  );
  assert.equal(await ann.readText("books://mine/Dune"), "Arrakis is dry.");
  await ann.subscribe("books://mine");
  await ann.tools.visit();
  await ann.tools.add({ title: "Ulysses", text: "Long." });
  const { params } = await ann.notifications.first("notifications/resources/updated");
  assert.deepEqual(params, { uri: "books://mine" });
  assert.match(JSON.stringify(await ann.getPrompt("next", { mood: "well" })), /Dune, Emma, Ulysses\. I feel well/);
});

test("each user has a diary, all share a board, and roles come from claims", async () => {
  await using server = await testServer([diary, board, incident]);
  const ann = server.client({ principal: "ann", claims: { roles: ["responder"] } });
  const bob = server.client({ principal: "bob" });
  await ann.tools.write({ text: "Dear diary" });
  assert.deepEqual([await ann.readText("diary://mine"), await bob.readText("diary://mine")], ['["Dear diary"]', "[]"]);
  await bob.tools.pin({ text: "Hello" });
  assert.deepEqual((await server.engine.read(board.id("main")))?.state, { notes: [{ by: "bob", text: "Hello" }] });
  assertRefused(await bob.tools.acknowledge(), /^Only responders may do this\./, "NOT_NOW");
  assertToolResult(await ann.tools.acknowledge(), "Done.");
});

test("an anonymous client passes a handle, and a visit expires", async () => {
  await using server = await testServer([diary, visit]);
  const nameless = server.client({ principal: null, era: "modern" });
  const { handle } = z.object({ handle: z.string() }).parse((await nameless.callTool("start_diary")).structuredContent);
  await nameless.callTool("write", { handle, text: "Dear diary" });
  assert.equal(await nameless.readText(`diary://${handle}/mine`), '["Dear diary"]');
  const ann = server.client({ principal: "ann" });
  const visiting = z.object({ handle: z.string() }).parse((await ann.callTool("start_visit")).structuredContent);
  await ann.callTool("see", { ...visiting, picture: "Mona Lisa" });
  await server.clock.advance(8 * 3_600_000 + 60_000);
  assertRefused(await ann.callTool("see", { ...visiting, picture: "Nike" }), /start_visit/, "HANDLE");
});

test("a message reaches many before the caller gets its reply", async () => {
  await using server = await testServer([inbox, news]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  await ann.tools.follow();
  await bob.tools.follow();
  assertToolResult(await bob.tools.publish({ text: "Rain" }), "Sent to 2 followers.");
  assert.equal(await ann.readText("inbox://mine"), '["Welcome.","Rain"]');
});

test("a caller gets its reply once another user has decided", async () => {
  await using server = await testServer([leave]);
  const request = server.client({ principal: "ann" }).tools.request({ day: "Monday" });
  const boss = server.client({ principal: "bob" });
  await until("the request waits", async () => JSON.stringify((await server.engine.read(leave.id("main"))) ?? {}).includes("Monday"));
  await boss.tools.approve({ day: "Monday" });
  assertToolResult(await request, "You are free on Monday.");
});

test("work reports progress, and so does a call that replies later", async () => {
  await using server = await testServer([writer, parcel]);
  const ann = server.client();
  assertToolResult(await ann.callTool("make", { pages: 2 }, { progressToken: 1 }), "2 pages are ready.");
  assert.match(JSON.stringify(await ann.notifications.first("notifications/progress")), /"message":"Page 1"/);
  const tracked = ann.tools.track();
  await until("it is tracked", async () =>
    JSON.stringify((await server.engine.read(parcel.id("tester")))?.state ?? {}).includes('"caller":"'),
  );
  await server.clock.advance(4 * 60_000);
  assertToolResult(await tracked, "It has arrived.");
});

test("the user is asked in the middle of a call", async () => {
  await using server = await testServer([pantry]);
  const elicitation = [{ action: "accept", content: { name: "Bob" } }, { action: "decline" }];
  const ann = server.client({ answers: { elicitation } });
  assertToolResult(await ann.tools.give_jar(), "You gave honey to Bob.");
  assertRefused(await ann.tools.give_jar(), "Nobody was named.");
  assertRefused(await server.client().tools.give_jar(), /./, "CAPABILITY");
});

test("undo restores the state, runs another tool, or is refused", async () => {
  await using server = await testServer([box]);
  const ann = server.client();
  const items = async (): Promise<unknown> => Object(await server.engine.read(box.id("main"))).state.items;
  await ann.tools.put_back({ item: "cup" });
  assertRefused(await ann.callTool("undo"), /./, "NOT_NOW");
  await ann.tools.rename({ from: "cup", to: "mug" });
  await ann.callTool("undo");
  assert.deepEqual(await items(), ["cup"]);
  await ann.tools.take({ item: "cup" });
  await ann.callTool("undo");
  assert.deepEqual(await items(), ["cup"]);
});

test("an actor that crashes too often fails, and its parent restarts it", async () => {
  await using server = await testServer([station, pump]);
  const ann = server.client();
  await ann.tools.pump_up({ litres: -1 });
  await ann.tools.pump_up({ litres: -1 });
  await ann.tools.pump_up({ litres: 2 });
  const states = async (): Promise<readonly unknown[]> =>
    await Promise.all([station.id("main"), pump.id("1")].map(async (id) => (await server.engine.read(id))?.state));
  for (let n = 0; n < 60 && !JSON.stringify(await states()).includes('"litres":2'); n += 1) await server.clock.advance(500);
  const [{ failures }, { litres }] = z.tuple([z.object({ failures: z.int() }), z.object({ litres: z.number() })]).parse(await states());
  assert.deepEqual([failures > 0, litres], [true, 2]);
});

test("a function shared by several turns works in each of them, as in the guide", () => {
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

test("an actor creates a child and is notified of its end, as in the guide", async () => {
  await using server = await testServer([hotel, room]);
  const { engine } = server;
  const rooms = async (): Promise<unknown> => Object(await engine.read(hotel.id("main"))).state.rooms;
  await server.client().callTool("open_room", { number: "7", beds: 2 });
  await until("the room is open", async () => (await engine.read(room.id("7"))) !== undefined);
  assert.deepEqual([(await engine.read(room.id("7")))?.state, await rooms()], [{ beds: 2 }, ["room/7"]]);
  await engine.call(room.at("7").close());
  await until("the hotel knows", async () => JSON.stringify(await rooms()) === "[]");
});

test("a deferred reply passes on another actor's answer, as in the guide", async () => {
  await using server = await testServer([guest, kitchen]);
  const client = server.client();
  assert.equal(toolText(await client.callTool("order", { dish: "Soup" })), "Soup is served.");
  const second = await client.callTool("order", { dish: "Pie" });
  assert.deepEqual([second["isError"], toolText(second)], [true, "Nothing is left."]);
});

test("work calls another MCP server, and refuses if that is unreachable, as in the guide", async () => {
  const weather = createServer("weather", "1.0.0");
  weather.tools.register({ name: "weather", output: z.object({ celsius: z.number() }) }, () => ({ celsius: 21 }));
  const { http } = await weather.listen({ http: { port: 0 } });
  process.env["WEATHER_URL"] = http.url;
  await using server = await testServer([garden]);
  const client = server.client();
  assertToolResult(await client.callTool("measure"), { celsius: 21 });
  await weather.close();
  const unreachable = await client.callTool("measure");
  assert.deepEqual([unreachable.isError, toolText(unreachable)], [true, "The weather cannot be had now."]);
  const last = (await chainOf(server.engine, garden.id("main"))).at(-1);
  assert.match(JSON.stringify(last && readBody(last)?.["record"]), /"failed":"/);
  assert.deepEqual(server.faults, []);
});

test("the output of the client's model is stored, as in the guide", async () => {
  await using server = await testServer([draft]);
  const sampling = [{ role: "assistant", model: "m", content: [{ type: "text", text: "Dark." }] }];
  await server.client({ answers: { sampling } }).callTool("summarize");
  assert.deepEqual((await server.engine.read(draft.id("tester")))?.state, { text: "It was a dark and stormy night.", summary: "Dark." });
  assert.equal(toolText(await server.client().callTool("summarize")), "Your client has no model to lend.");
});

test("a secret argument is in no event and no record, as in the guide", async () => {
  await using engine = await LocalEngine.start({ kinds: [account], store: memoryStore() });
  await engine.call({ to: account.id("a"), action: "tools/sign_in", args: { name: "ada", password: "hunter22" }, start: null });
  const [event] = await chainOf(engine, account.id("a"));
  const stored = JSON.stringify(event && readBody(event));
  assert.ok(stored.includes('{"tried":"ada:[redacted]"}') && stored.includes('"password":"[redacted]"'), stored);
  assert.ok(!stored.includes("hunter22"));
});

describe("links, as in the guide", () => {
  for (const era of ["legacy", "modern"] as const)
    it(`refuses with the link's reason, lists under its prefix and starts a shared actor (${era})`, async () => {
      await using server = await testServer([expense, desk]);
      const client = server.client({ principal: "ann", era });
      const early = await client.callTool("desk__queue", {});
      assert.deepEqual([early["isError"], toolText(early)], [true, "Submit it first."]);
      assert.match(JSON.stringify(early["_meta"]), /"NOT_NOW"/);
      await client.callTool("submit", { title: "Train" });
      const waits = async (): Promise<boolean> => toolText(await client.callTool("desk__queue", {})) === '{"waiting":["Train"]}';
      await until("the expense waits", waits);
    });

  it("requires a handle from anonymous callers", async () => {
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
