// The recipes of docs/recipes work as their pages say. test/recipe-pages.test.ts compares the pages with this file.
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import { actor } from "troupe";
import { LocalEngine } from "troupe/engine";
import { createServer } from "troupe/server";
import { prefix } from "troupe/source";
import { memoryStore } from "troupe/store";
import { assertHasTools, assertRefused, assertToolResult, testServer, toolText } from "troupe/testing";
import { memory } from "./agent-memory.ts";
import { release } from "./approval.ts";
import { trip } from "./ask-the-user.ts";
import { account, auditLog } from "./audit.ts";
import { channel, inbox } from "./broadcast.ts";
import { garden } from "./call-a-server.ts";
import { ballot, tally } from "./counters.ts";
import { diary, eraseStopped, forget, guestbook } from "./delete-personal-data.ts";
import { draft } from "./expire.ts";
import { avatar } from "./files.ts";
import { handler } from "./lambda.ts";
import { archive } from "./limit-the-model.ts";
import { sensor } from "./live-updates.ts";
import { job } from "./long-jobs.ts";
import { list, shopper } from "./many-of-a-kind.ts";
import { contact } from "./migrations.ts";
import { mounted } from "./mount-a-server.ts";
import { notes } from "./new-id.ts";
import { ledger } from "./nightly-job.ts";
import { addOperations } from "./openapi.ts";
import { start } from "./proxy.ts";
import { painter } from "./rate-limits.ts";
import { author, board } from "./read-your-writes.ts";
import { wallet } from "./retries.ts";
import { shop } from "./roles.ts";
import { flights, hotel, journey } from "./saga.ts";
import { available, book, library } from "./search.ts";
import { mail } from "./secrets.ts";
import { checkout } from "./state-machine.ts";
import { member, workspace } from "./tenants.ts";
import { shelf } from "./undo.ts";
import { profile, username } from "./unique-names.ts";
import { cart } from "./user-state.ts";
import { order, webhook } from "./webhook.ts";

test("a note is read by the id that its tool returned", async () => {
  await using server = await testServer([notes]);
  const ann = server.client({ principal: "ann" });
  const { structuredContent: note } = await ann.tools.add_note({ text: "Buy milk" });
  assert.ok(note !== undefined);
  assert.equal(await ann.readText(`note://${note.id}`), "Buy milk");
  await assert.rejects(ann.readText("note://other"), /Resource not found/);
});

test("each call names the list that it is about", async () => {
  await using server = await testServer([shopper, list]);
  const ann = server.client({ principal: "ann" });
  const { structuredContent: food } = await ann.tools.new_list({ title: "Food" });
  const { structuredContent: tools } = await ann.tools.new_list({ title: "Tools" });
  assert.ok(food !== undefined && tools !== undefined);
  await ann.callTool("list__add", { list: food.list, item: "Milk" });
  await ann.callTool("list__add", { list: tools.list, item: "Saw" });
  assert.equal(await ann.readText(`list://${food.list}/items`), '["Milk"]');

  const bob = server.client({ principal: "bob" });
  assertRefused(await bob.callTool("list__add", { list: food.list, item: "Tea" }), undefined, "INVALID");
});

test("only managers change the hours", async () => {
  await using server = await testServer([shop]);
  const guest = server.client({ principal: "gil" });
  const manager = server.client({ principal: "mia", claims: { roles: ["manager"] } });
  assertRefused(await guest.tools.set_hours({ hours: "always" }), "Only managers may do this.", "NOT_NOW");
  await manager.tools.set_hours({ hours: "8 to 6" });
  assertToolResult(await guest.tools.hours(), "8 to 6");
});

test("a second person approves, within a day", async () => {
  await using server = await testServer([release]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  await ann.tools.propose({ version: "1.1.0" });
  assertRefused(await server.client({ principal: null }).tools.approve(), "Sign in first.", "NOT_NOW");
  assertRefused(await ann.tools.approve(), "Somebody else must approve your proposal.", "NOT_NOW");
  assertToolResult(await bob.tools.approve(), "Version 1.1.0 is live.");

  await ann.tools.propose({ version: "1.2.0" });
  await server.clock.advance(86_400_000);
  assertRefused(await bob.tools.approve(), "Nothing is proposed.");
});

test("members are notified, and read what was published", async () => {
  await using server = await testServer([channel, inbox]);
  const ann = server.client({ principal: "ann" });
  await ann.tools.join();
  await ann.subscribe("inbox://mine");
  await server.client({ principal: "bob" }).tools.publish({ text: "Lunch!" });
  await ann.notifications.first("notifications/resources/updated");
  assert.equal(await ann.readText("inbox://mine"), '["Lunch!"]');
});

test("a name belongs to one user, and is free again when that user takes another", async () => {
  await using server = await testServer([profile, username]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  assertToolResult(await ann.tools.choose_name({ name: "ace" }), "You are ace.");
  assertRefused(await bob.tools.choose_name({ name: "ace" }), "The name ace is taken.", "TAKEN");
  await ann.tools.choose_name({ name: "annie" });
  await server.clock.advance(0);
  assertToolResult(await bob.tools.choose_name({ name: "ace" }), "You are ace.");
});

test("a hundred users vote at once, and each vote counts once", async () => {
  await using server = await testServer([ballot, tally]);
  const voters = Array.from({ length: 100 }, (_, n) => server.client({ principal: `user-${n}`, listen: false }));
  await Promise.all(voters.map((voter, n) => voter.tools.vote({ choice: n < 60 ? "tea" : "coffee" })));
  const [first] = voters;
  assertRefused(await first?.callTool("vote", { choice: "coffee" }), "You voted for tea.");
  assert.equal(await first?.readText("poll://result"), '{"tea":60,"coffee":40}');
});

test("a client reads on the board what it has just posted", async () => {
  await using server = await testServer([author, board]);
  const ann = server.client({ principal: "ann" });
  for (let n = 1; n <= 20; n += 1) {
    assertToolResult(await ann.tools.post({ text: `Text ${n}` }), "It is on the board.");
    assert.match(await ann.readText("board://all"), new RegExp(`"Text ${n}"`));
  }
});

test("the tools of another MCP server are listed next to one's own", async () => {
  const weather = createServer("weather", "1.0.0");
  weather.tools.register({ name: "now", description: "The weather." }, () => ({ celsius: 21 }));
  const { http } = await weather.listen({ http: { port: 0 } });

  await using source = mounted(http.url);
  await using server = await testServer(() => createServer("garden", "1.0.0", { sources: [prefix("weather", source)] }));
  const client = server.client();
  assertHasTools(await client.listTools(), "weather__now");
  assertToolResult(await client.callTool("weather__now"), { celsius: 21 });
  await weather.close();
  assert.match(toolText(await client.callTool("weather__now")), /closed its connection/);
});

test("a tool calls another MCP server, and refuses if that is away", async () => {
  const weather = createServer("weather", "1.0.0");
  weather.tools.register({ name: "weather", description: "The weather." }, () => ({ celsius: 21 }));
  const { http } = await weather.listen({ http: { port: 0 } });
  process.env["WEATHER_MCP"] = http.url;

  await using server = await testServer([garden]);
  const client = server.client();
  assertToolResult(await client.tools.measure(), { celsius: 21 });
  await weather.close();
  assertRefused(await client.tools.measure(), /does not answer/, "UNAVAILABLE");
  delete process.env["WEATHER_MCP"];
});

test("operations of an OpenAPI description become tools", async () => {
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  const lang = { name: "lang", in: "query", schema: { type: "string" } };
  const get = { operationId: "get_pet", summary: "Get a pet.", parameters: [id, lang] };
  const description = { openapi: "3.1.0", paths: { "/pets/{id}": { get } } };
  const service = async (url: string) => new Response(`At ${url}`, { status: url.includes("/7") ? 200 : 404 });

  await using server = await testServer((wires) => {
    const own = createServer("pets", "1.0.0", wires);
    addOperations(own, description, "https://pets.example", service);
    return own;
  });
  const client = server.client();
  assertToolResult(await client.callTool("get_pet", { id: "7", lang: "en" }), "At https://pets.example/pets/7?lang=en");
  assertRefused(await client.callTool("get_pet", { id: "8" }), /answered 404/, "HTTP");
  assertRefused(await client.callTool("get_pet", { id: ".." }), "That is no id.");
});

test("a call that is repeated under its key is applied once", async () => {
  await using server = await testServer([wallet]);
  const ann = server.client({ principal: "ann" });
  const rent = { to: "bob", amount: 30 };
  assertToolResult(await ann.tools.pay(rent, { key: "rent-may" }), "Paid 30 to bob. 70 left.");
  assertToolResult(await ann.tools.pay(rent, { key: "rent-may" }), "Paid 30 to bob. 70 left.");
  assertToolResult(await ann.tools.pay(rent), "Paid 30 to bob. 40 left.");
  assert.match(toolText(await ann.tools.pay({ to: "eve", amount: 30 }, { key: "rent-may" })), /give this one a key of its own/);
});

test("the caller's last change is taken back", async () => {
  await using server = await testServer([shelf]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  await ann.tools.put({ item: "Lamp" });
  await bob.tools.put({ item: "Vase" });
  await ann.callTool("undo");
  assert.equal(await ann.readText("shelf://items"), '["Vase"]');

  await ann.tools.clear();
  await bob.tools.put({ item: "Clock" });
  assertRefused(await ann.callTool("undo"), undefined, "NOT_NOW");
});

test("the user is asked, and may decline", async () => {
  await using server = await testServer([trip]);
  const elicitation = [{ action: "accept", content: { seat: "window" } }, { action: "decline" }];
  const ann = server.client({ principal: "ann", answers: { elicitation } });
  assertToolResult(await ann.tools.book(), "A seat at the window is booked.");
  assertRefused(await ann.tools.cancel());
  assert.match(JSON.stringify(ann.asked), /Give up your seat at the window\?/);

  const without = server.client({ principal: "bob" });
  assertRefused(await without.tools.book(), /cannot ask you/);
});

test("what a model may call depends on the state and on its token", async () => {
  await using server = await testServer([archive]);
  const model = server.client({ principal: "ann" });
  assertHasTools(await model.listTools(), "list", "remove", "lock");
  assertRefused(await model.tools.remove({ title: "Payroll" }), undefined, "INVALID");
  await assert.rejects(model.tools.lock(), { code: -31403 });

  await server.client({ principal: "root", scopes: ["archive:admin"] }).tools.lock();
  assertRefused(await model.tools.remove({ title: "Plan" }), "The archive is locked.", "NOT_NOW");
  const names = (await model.listTools()).map(({ name }) => name);
  assert.ok(!names.includes("remove"));
});

test("books are found by words and by year, without those that are lent", async () => {
  await using server = await testServer([library, book], { indexes: [available] });
  const client = server.client();
  await client.tools.add({ title: "Dune", year: 1965, about: "A desert planet" });
  await client.tools.add({ title: "The Martian", year: 2011, about: "Alone on a planet" });
  await client.tools.add({ title: "Emma", year: 1815, about: "A matchmaker" });
  await client.callTool("book__lend", { book: "B1" });
  const found = await client.callTool("find_books", { text: "planet", where: { year: { gte: 1900 } } });
  assert.match(toolText(found), /^\{"items":\[\{"title":"The Martian"[^{]*"key":"B2"\}\]\}$/);

  const page = await server.engine.query(available, { where: { year: { lte: 1900 } }, count: true });
  assert.deepEqual([page.items[0]?.title, page.count], ["Emma", 1]);
});

test("a job goes on after its call has returned", async () => {
  await using server = await testServer([job]);
  const ann = server.client({ principal: "ann" });
  assertToolResult(await ann.tools.start({ texts: ["One", "Two", "Three"] }), /^Started/);
  await server.clock.advance(0);
  assertToolResult(await ann.tools.status(), { waiting: 0, summaries: ["One …", "Two …", "Three …"] });
});

test("a picture is uploaded, displayed and read", async () => {
  await using server = await testServer([avatar]);
  const ann = server.client({ principal: "ann" });
  assertRefused(await ann.tools.upload({ png: "R0lGODdh" }), "That is not a PNG file.");
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await ann.tools.upload({ png });
  assert.deepEqual((await ann.tools.show()).content[1], { type: "image", data: png, mimeType: "image/png" });
  assert.equal((await ann.readResource("avatar://mine")).contents[0]?.["blob"], png);
});

test("a state that version 1 wrote is read and changed by version 3", async () => {
  const store = memoryStore();
  const rename = { description: "Rename.", run: ({ state }: { state: { name: string } }) => void (state.name = "Ada King Lovelace") };
  const old = actor("contact", { description: "A contact.", initial: () => ({ name: "" }), tools: { rename } });
  {
    await using engine = await LocalEngine.start({ kinds: [old], store });
    await engine.call({ to: old.id("main"), action: "tools/rename", args: {}, start: null });
  }
  await using engine = await LocalEngine.start({ kinds: [contact], store });
  await engine.call({ to: contact.id("main"), action: "tools/tag", args: { tag: "math" } });
  const { state } = (await engine.read(contact.id("main"))) ?? {};
  assert.deepEqual(state, { first: "Ada", last: "King Lovelace", tags: ["math"] });
});

test("a person's actors are removed with their history", async () => {
  await using server = await testServer([diary, guestbook]);
  const { engine, clock } = server;
  await server.client({ principal: "ann" }).tools.write({ text: "Dear diary" });
  await clock.advance(0);
  await forget(engine, "ann");
  assert.deepEqual((await engine.read(guestbook.id("main")))?.state, { entries: [] });

  await clock.advance(2 * 86_400_000);
  await eraseStopped(engine, clock.now() - 86_400_000);
  assert.equal(await engine.read(diary.id("ann")), undefined);
  for await (const event of engine.history(diary.id("ann"))) assert.fail(`${event.id} is still there`);
});

test("each user gets three pictures an hour", async () => {
  await using server = await testServer([painter]);
  const ann = server.client({ principal: "ann" });
  for (const pet of ["a cat", "a dog", "a hen"]) assertToolResult(await ann.tools.paint({ of: pet }), `A picture of ${pet}.`);
  await server.clock.advance(20 * 60_000);
  assertRefused(await ann.tools.paint({ of: "a fox" }), "Wait 40 minutes.", "QUOTA");
  assertToolResult(await server.client({ principal: "bob" }).tools.paint({ of: "a fox" }), /fox/);
  await server.clock.advance(40 * 60_000);
  assertToolResult(await ann.tools.paint({ of: "a fox" }), /fox/);
});

test("the server answers to the name that clients use, and to no other", async () => {
  await using actors = await start(0, "mcp.example", createHash("sha256").update("secret").digest("hex"));
  const statusFor = async (host: string): Promise<number | undefined> => {
    const sent = request(new URL("/healthz", actors.url), { headers: { host } }).end();
    const [response] = await once(sent, "response");
    response.resume();
    return response.statusCode;
  };
  assert.equal(await statusFor("mcp.example"), 200);
  assert.equal(await statusFor("evil.example"), 403);
  assert.equal((await fetch(actors.url, { method: "POST", body: "{}" })).status, 401);
});

test("the function answers a call that an HTTP API has authorized", async () => {
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
  const params = { name: "feels_like", arguments: { celsius: 3 }, _meta: meta };
  const headers = {
    host: "abc.execute-api.eu-central-1.amazonaws.com",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "feels_like",
  };
  const http = { method: "POST", path: "/mcp", sourceIp: "192.0.2.2" };
  const jwt = { claims: { iss: "https://login.example", sub: "ann" }, scopes: null };
  const event = { version: "2.0", rawPath: "/mcp", rawQueryString: "", headers, isBase64Encoded: false };
  const requestContext = { domainName: headers.host, http, stage: "$default", requestId: "1" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });

  const known = await handler({ ...event, body, requestContext: { ...requestContext, authorizer: { jwt } } });
  assert.match(known.body, /ann feels cold/);
  assert.equal((await handler({ ...event, body, requestContext })).statusCode, 401);
});

test("the books are closed every night at three", async () => {
  await using server = await testServer([ledger], { now: Date.UTC(2026, 0, 1, 12) });
  const client = server.client();
  await server.engine.call({ ...ledger.at("main").schedule(), start: null });
  await client.tools.sell({ amount: 20 });
  await server.clock.advance(14 * 3_600_000);
  await client.tools.sell({ amount: 5 });
  await server.clock.advance(24 * 3_600_000);
  assert.equal(await client.readText("ledger://days"), "[20,5]");
});

test("a secret argument is not in the history", async () => {
  await using server = await testServer([mail]);
  assertToolResult(await server.client({ principal: "ann" }).tools.connect({ token: "tok_12345" }), "Connected account-9.");
  let history = "";
  for await (const event of server.engine.history(mail.id("ann"))) history += JSON.stringify(event);
  assert.ok(history.includes("[redacted]") && !history.includes("tok_12345"));
});

test("only members enter a workspace", async () => {
  await using server = await testServer([member, workspace]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  const { structuredContent: acme } = await ann.tools.create_workspace();
  assert.ok(acme !== undefined);
  const note = { ...acme, text: "Plan" };
  assertRefused(await bob.callTool("workspace__add_note", note), undefined, "INVALID");
  await ann.callTool("workspace__invite", { ...acme, user: "bob" });
  await bob.callTool("workspace__add_note", note);
  assert.equal(await ann.readText(`workspace://${acme.workspace}/notes`), '["Plan"]');
});

test("each user has a cart, in all of the user's sessions", async () => {
  await using server = await testServer([cart]);
  await server.client({ principal: "ann" }).tools.add({ item: "Tea" });
  const again = server.client({ principal: "ann", era: "modern" });
  assert.equal(await again.readText("cart://mine"), '{"Tea":1}');
  assertRefused(await server.client({ principal: "bob" }).tools.check_out(), "The cart is empty.", "NOT_NOW");
});

test("a subscriber is notified of what it would read", async () => {
  for (const era of ["legacy", "modern"] as const) {
    await using server = await testServer([sensor]);
    const screen = server.client({ principal: "screen", era });
    await screen.subscribe("sensor://temperature");
    await server.client({ principal: "device" }).tools.report({ celsius: 30, battery: 99 });
    const { params } = await screen.notifications.first("notifications/resources/updated");
    assert.equal(params?.["uri"], "sensor://temperature");
    assert.equal(await screen.readText("sensor://temperature"), '{"celsius":30,"warm":true}');
  }
});

test("a draft is marked, then removed", async () => {
  await using server = await testServer([draft]);
  const ann = server.client({ principal: "ann" });
  await ann.tools.write({ text: "Dear Bob" });
  await server.clock.advance(20 * 3_600_000);
  assert.equal(await ann.readText("draft://mine"), "Dear Bob (expires soon)");
  // The timer's message counts as a change, too.
  await server.clock.advance(25 * 3_600_000);
  assert.equal((await server.engine.read(draft.id("ann")))?.status, "stopped");
});

test("the log says who did what, and when", async () => {
  await using server = await testServer([account], { now: Date.UTC(2026, 0, 1) });
  await server.client({ principal: "ann" }).tools.deposit({ amount: 5 });
  assert.deepEqual(await auditLog(server.engine, "main"), ['2026-01-01T00:00:00.000Z ann tools/deposit {"amount":5}']);
});

test("a signed event changes its order, once", async () => {
  await using server = await testServer([order]);
  const send = async (body: string, secret: string): Promise<number> => {
    const headers = { "x-signature": createHmac("sha256", secret).update(body).digest("hex") };
    return (await webhook(server.engine, "shared", new Request("https://shop.example/webhook", { method: "POST", body, headers }))).status;
  };
  const paid = JSON.stringify({ id: "evt-1", order: "A-7", status: "paid" });
  assert.deepEqual([await send(paid, "shared"), await send(paid, "shared"), await send(paid, "other")], [204, 204, 401]);
  assert.deepEqual((await server.engine.read(order.id("A-7")))?.state, { status: "paid", seen: ["evt-1"] });
});

test("an agent remembers facts in its next session, of its own user only", async () => {
  await using server = await testServer([memory]);
  const ann = server.client({ principal: "ann" });
  await ann.tools.remember({ fact: "Ann likes green tea." });
  await ann.tools.remember({ fact: "Ann has a dog." });
  const next = server.client({ principal: "ann" });
  assertToolResult(await next.tools.recall({ words: "tea coffee" }), { facts: [["F1", "Ann likes green tea."]] });
  await next.tools.forget({ id: "F1" });
  assertRefused(await next.tools.forget({ id: "F1" }), undefined, "INVALID");
  assert.equal(await server.client({ principal: "bob" }).readText("memory://facts"), "{}");
});

test("a client sees the tools of its step, and the reason for the others", async () => {
  await using server = await testServer([checkout]);
  const ann = server.client({ principal: "ann" });
  const visible = async () => (await ann.listTools()).map(({ name }) => name);
  assert.deepEqual(await visible(), ["add_item"]);
  assertRefused(await ann.tools.pay(), "Set the address first.", "NOT_NOW");
  await ann.tools.add_item({ item: "Tea" });
  await ann.tools.close_cart();
  assert.deepEqual(await visible(), ["set_address"]);
  await ann.tools.set_address({ address: "Main Street 1" });
  assert.deepEqual(await visible(), ["set_address", "pay"]);
});

test("a flight is cancelled if there is no room", async () => {
  await using server = await testServer([journey, flights, hotel]);
  assertToolResult(await server.client({ principal: "ann" }).tools.book(), "Booked.");
  assertRefused(await server.client({ principal: "bob" }).tools.book(), "The hotel is full.");
  await server.clock.advance(0);
  assert.match(JSON.stringify(await server.engine.read(flights.id("main"))), /"bookings":\["[^"]+"\]/);
});
