import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { memoryStreamStore } from "../../core/store/index.ts";
import { createServer } from "../../mcp/server/index.ts";
import { registry } from "../../mcp/source/index.ts";
import { testServer } from "../index.ts";
import { counterKind } from "./counter.fixture.ts";

const leaf = actor("leaf", {
  description: "One of many.",
  per: "link",
  state: z.object({ n: z.int().default(0) }),
  messages: {
    grow: {
      run({ send }) {
        send(tree.at("main").grown());
      },
    },
  },
});

const tree = actor("tree", {
  description: "Has leaves.",
  state: z.object({ leaves: z.int().default(0) }),
  tools: {
    spring: {
      description: "Leaves grow.",
      input: z.object({ leaves: z.int() }),
      run({ args, create, send }) {
        for (let n = 0; n < args.leaves; n += 1) {
          create(leaf.at(`${n}`));
          send(leaf.at(`${n}`).grow({}));
        }
      },
    },
    echo: { description: "Never rests.", run: ({ send, self }) => void send(self, "again") },
  },
  messages: {
    grown: { run: ({ state }) => void (state.leaves += 1) },
    again: { run: ({ send, self }) => void send(self, "again") },
  },
});

test("messages of a turn, and those they cause, have arrived when `advance` settles", async () => {
  await using server = await testServer([tree, leaf]);
  await server.client().callTool("spring", { leaves: 5_000 });
  await server.clock.advance(0);
  assert.equal(await server.engine.count({ kind: "leaf" }), 5_000);
  assert.deepEqual((await server.engine.read(tree.id("main")))?.state, { leaves: 5_000 });
});

test("actors that never come to rest end the wait with an error", async () => {
  const server = await testServer([tree, leaf]);
  await server.client().callTool("echo");
  await assert.rejects(server.clock.advance(0), /do not come to rest/);
  await server.engine.stop(tree.id("main"), "enough");
  await server[Symbol.asyncDispose]();
});

test("the engine of kinds is a LocalEngine", async () => {
  await using server = await testServer([tree]);
  assert.deepEqual(await server.engine.letters(), []);
  assert.deepEqual((await server.engine.prune({ before: server.clock.now() })).ended, []);
});

const session = async (server: Awaited<ReturnType<typeof testServer>>): Promise<string | undefined> => {
  const client = server.client({ listen: false });
  await client.initialize();
  return client.sessionId;
};

test("queued ids name the next sessions, then the sequence continues", async () => {
  await using server = await testServer([counterKind]);
  server.ids.queue("a", "b");
  assert.equal(await session(server), "a");
  assert.equal(await session(server), "b");
  const drawn = await session(server);
  assert.match(drawn ?? "", /^[0-9a-f]{32}$/);
  await using again = await testServer([counterKind]);
  assert.equal(await session(again), drawn);
});

test("queued ids are not used for actors", async () => {
  await using server = await testServer([counterKind]);
  server.ids.queue("a", "b");
  await server.client({ era: "modern", listen: false }).callTool("roll");
  await server.client({ era: "modern", listen: false }).callTool("add");
  assert.equal(await session(server), "a");
});

test("reset clears the queue and restarts the sequence", async () => {
  await using server = await testServer([counterKind]);
  const { ids } = server;
  // A server has drawn by now what it needs before its first client.
  ids.reset();
  const drawn = [ids.uuid(), ids.hex(16), ids.hex(4)];
  ids.queue("never");
  ids.reset();
  assert.deepEqual([ids.uuid(), ids.hex(16), ids.hex(4)], drawn);
});

test("an id that a header cannot contain is refused, and none of its call is queued", async () => {
  await using server = await testServer([counterKind]);
  for (const wrong of ["", "a b", "é", "a\n", "x".repeat(129)])
    assert.throws(() => server.ids.queue("good", wrong), /is no id a client could send back: queue 1 to 128 visible ASCII/);
  assert.notEqual(await session(server), "good");
});

test("an option that the served value has no use for is refused, and the error says where it belongs", async () => {
  await using gateway = createServer("own", "1.0.0");
  await using streams = memoryStreamStore();
  for (const [served, options, message] of [
    [() => gateway, { pageSize: 2 }, /pageSize.*the server that the function makes/],
    [() => gateway, { indexes: [] }, /indexes.*the server that the function makes/],
    [gateway, { receipts: true }, /receipts.*when you make it/],
    [gateway, { streams }, /streams.*when you make it/],
    [registry({}), { indexes: [] }, /indexes.*only kinds have indexes/],
  ] as const)
    await assert.rejects(testServer(served, options), { code: "BAD_OPTION", message });
  await using sure = await testServer(() => gateway, { seed: 2, now: 0, streams });
  assert.equal(sure.clock.now(), 0);
});
