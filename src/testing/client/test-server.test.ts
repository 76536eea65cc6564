import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { testServer } from "../index.ts";

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

test("what a turn sent, and what that set off, has arrived when time that was moved settles, however much it is", async () => {
  await using server = await testServer([tree, leaf]);
  await server.client().callTool("spring", { leaves: 5_000 });
  await server.clock.advance(0);
  assert.equal(await server.engine.count({ kind: "leaf" }), 5_000);
  assert.deepEqual((await server.engine.read(tree.id("main")))?.state, { leaves: 5_000 });
});

test("actors that never come to rest end the wait, and are told of", async () => {
  const server = await testServer([tree, leaf]);
  await server.client().callTool("echo");
  await assert.rejects(server.clock.advance(0), /do not come to rest/);
  await server.engine.stop(tree.id("main"), "enough");
  await server[Symbol.asyncDispose]();
});

test("the engine of kinds is a local one, with all it has", async () => {
  await using server = await testServer([tree]);
  assert.deepEqual(await server.engine.letters(), []);
  assert.deepEqual((await server.engine.prune({ before: server.clock.now() })).ended, []);
});
