import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testActor, type TestClient, testServer } from "troupe/testing";
import { lobby, mentions, room } from "./index.ts";

const DAY = 86_400_000;

const chat = () => testServer([lobby, room, mentions], { now: Date.UTC(2026, 0, 5, 12) });

const read = async (client: Pick<TestClient, "readText">, uri: string): Promise<unknown> => JSON.parse(await client.readText(uri));

test("only members of a room can post", async () => {
  await using server = await chat();
  const ada = server.client({ principal: "ada" });
  const bob = server.client({ principal: "bob" });
  assertToolResult(await ada.tools.open_room({ name: "tea" }), "The room tea is open.");
  assertRefused(await ada.callTool("room__post", { room: "tea", text: "Hello" }), "Join the room first.", "NOT_NOW");
  for (const one of [ada, bob]) await one.callTool("room__join", { room: "tea" });
  const anonymous = server.client({ principal: null, era: "modern" });
  assertRefused(await anonymous.callTool("room__join", { room: "tea" }), "Sign in first.");
  await ada.callTool("room__post", { room: "tea", text: "Hello, @bob" });
  await server.clock.advance(0);
  assert.deepEqual(await read(bob, "mentions://mine"), [{ room: "tea", by: "ada", text: "Hello, @bob" }]);
  assert.deepEqual(await read(ada, "mentions://mine"), []);
});

test("mentions match whole names, and the last 200 are stored", async () => {
  await using server = await chat();
  const [ann, anna, ops] = ["ann", "anna", "ops@example.org"].map((principal) => server.client({ principal }));
  assert.ok(ann !== undefined && anna !== undefined && ops !== undefined);
  await ann.tools.open_room({ name: "tea" });
  for (const one of [ann, anna, ops]) await one.callTool("room__join", { room: "tea" });
  for (const text of ["@anna, and @ops@example.org!", "@annabel", "x@"]) await ann.callTool("room__post", { room: "tea", text });
  await server.clock.advance(0);
  assert.deepEqual(await read(ann, "mentions://mine"), []);
  const [first, ...others] = Object.values(Object(await read(anna, "mentions://mine")));
  assert.deepEqual([Object(first)["text"], others], ["@anna, and @ops@example.org!", []]);
  assert.deepEqual(await read(ops, "mentions://mine"), [first]);
  for (let i = 0; i < 201; i += 1) await anna.callTool("room__post", { room: "tea", text: `@ann ${i}` });
  await server.clock.advance(0);
  const list = await read(ann, "mentions://mine");
  assert.ok(Array.isArray(list));
  assert.deepEqual([list.length, list.at(0)?.text, list.at(-1)?.text], [200, "@ann 1", "@ann 200"]);
});

test("a subscriber is notified of the subscribed room only", async () => {
  await using server = await chat();
  const ada = server.client({ principal: "ada" });
  for (const name of ["tea", "cups"]) {
    await ada.tools.open_room({ name });
    await ada.callTool("room__join", { room: name });
  }
  await ada.subscribe("room://tea/messages");
  await ada.callTool("room__post", { room: "cups", text: "Not here" });
  await ada.callTool("room__post", { room: "tea", text: "Here" });
  await ada.notifications.first("notifications/resources/updated");
  const updated = [...ada.notifications].filter(({ method }) => method === "notifications/resources/updated");
  assert.deepEqual(
    updated.map(({ params }) => params?.["uri"]),
    ["room://tea/messages"],
  );
});

test("a room that does not exist cannot be joined", async () => {
  await using server = await chat();
  assertRefused(await server.client().callTool("room__join", { room: "none" }), /nothing to choose from/, "INVALID");
});

test("the nightly timer deletes messages older than a week", async () => {
  await using server = await chat();
  const ada = server.client({ principal: "ada" });
  await ada.tools.open_room({ name: "tea" });
  await ada.callTool("room__join", { room: "tea" });
  await ada.callTool("room__post", { room: "tea", text: "Old" });
  await server.clock.advance(6 * DAY);
  await ada.callTool("room__post", { room: "tea", text: "New" });
  await server.clock.advance(2 * DAY);
  const left = await read(ada, "room://tea/messages");
  assert.ok(Array.isArray(left));
  assert.deepEqual(
    left.map(({ text }) => text),
    ["New"],
  );
});

test("a room has at most a thousand members, and the lobby a thousand rooms", () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `n${n}`);
  const full = testActor(room, { key: "tea", viewer: { principal: "zoe", scopes: [] }, state: { members: names, messages: [] } });
  assertRefused(full.turn("tools/join"), "The room is full.");
  const rooms = testActor(lobby, { state: { rooms: names } });
  assertRefused(rooms.turn("tools/open_room", { name: "one-more" }), "There are enough rooms: join one of them.");
  assert.deepEqual(rooms.turn("tools/open_room", { name: "n7" }).reply, { ok: "The room n7 is open." });
});

test("a room and the mentions hold 200 of the largest messages", async () => {
  await using server = await chat();
  const ada = server.client({ principal: "ada" });
  await ada.tools.open_room({ name: "tea" });
  await ada.callTool("room__join", { room: "tea" });
  const text = "\u0001".repeat(1_996) + "@ada";
  for (let n = 0; n < 201; n += 1) assertToolResult(await ada.callTool("room__post", { room: "tea", text }), "Done.");
  await server.clock.advance(0);
  const list = await read(ada, "mentions://mine");
  assert.equal(Array.isArray(list) && list.length, 200);
  assert.deepEqual(server.faults, []);
});
