import assert from "node:assert/strict";
import { test } from "node:test";
import { counterKind } from "./counter.fixture.ts";
import { testServer } from "../index.ts";

const session = async (server: Awaited<ReturnType<typeof testServer>>): Promise<string | undefined> => {
  const client = server.client({ listen: false });
  await client.initialize();
  return client.sessionId;
};

test("what is queued names the next sessions, then come the same as ever", async () => {
  await using server = await testServer([counterKind]);
  server.ids.queue("a", "b");
  assert.equal(await session(server), "a");
  assert.equal(await session(server), "b");
  const drawn = await session(server);
  assert.match(drawn ?? "", /^[0-9a-f]{32}$/);
  await using again = await testServer([counterKind]);
  assert.equal(await session(again), drawn);
});

test("a queued id is the server's to give, never an actor's", async () => {
  await using server = await testServer([counterKind]);
  server.ids.queue("a", "b");
  await server.client({ era: "modern", listen: false }).callTool("roll");
  await server.client({ era: "modern", listen: false }).callTool("add");
  assert.equal(await session(server), "a");
});

test("reset forgets what is queued and begins again", async () => {
  await using server = await testServer([counterKind]);
  const { ids } = server;
  // A server has drawn by now what it needs before its first client.
  ids.reset();
  const drawn = [ids.uuid(), ids.hex(16), ids.hex(4)];
  ids.queue("never");
  ids.reset();
  assert.deepEqual([ids.uuid(), ids.hex(16), ids.hex(4)], drawn);
});

test("an id no header could carry is refused, with what may be queued, and none of them is", async () => {
  await using server = await testServer([counterKind]);
  for (const wrong of ["", "a b", "é", "a\n", "x".repeat(129)])
    assert.throws(() => server.ids.queue("good", wrong), /is no id a client could send back: queue 1 to 128 visible ASCII/);
  assert.notEqual(await session(server), "good");
});
