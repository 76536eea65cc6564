// A parent supervises its children: it is notified of a failed one, and decides when to restart it.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { testServer, until } from "../../src/testing/index.ts";

let broken = true;
const worker = actor("worker", {
  description: "Works, or crashes.",
  per: "link",
  restart: { max: 1, withinMs: 60_000 },
  state: z.object({ done: z.number().default(0) }),
  tools: {
    work: {
      description: "Works.",
      run({ state }) {
        state.done += 1;
        if (broken && state.done > 1) throw new Error("It is broken.");
        return { done: state.done };
      },
    },
  },
});
const boss = actor("boss", {
  description: "Has a worker.",
  state: z.object({ failures: z.array(z.string()).default([]), hired: z.boolean().default(false) }),
  links: { worker: { kinds: ["worker"], to: ({ state }) => (state.hired ? worker.id("one") : undefined) } },
  tools: {
    hire: {
      description: "Hires a worker.",
      run({ state, create }) {
        state.hired = true;
        create(worker.at("one"));
      },
    },
  },
  messages: {
    failed: {
      run({ state, args, wake, messages }) {
        state.failures.push(args.why);
        wake("again", { afterMs: 5_000 * state.failures.length, message: messages.again({ child: "worker/one" }) });
      },
    },
    again: { input: z.object({ child: z.literal("worker/one") }), run: ({ args, restart }) => restart(args.child) },
  },
});

test("a child that crashes too often fails, and its notified parent restarts it with its last state", async () => {
  broken = true;
  await using server = await testServer([boss, worker]);
  const client = server.client();
  const { engine } = server;
  const failures = async (): Promise<unknown> => Object((await engine.read("boss/main"))?.state)["failures"];
  await client.callTool("hire");
  await server.clock.advance(0);
  assert.deepEqual((await client.callTool("worker__work")).structuredContent, { done: 1 });
  for (let crash = 0; crash < 2; crash += 1) assert.equal((await client.callTool("worker__work")).isError, true);
  await server.clock.advance(0);
  assert.deepEqual(await failures(), ["it crashed 2 times within 60000 ms"]);
  assert.equal((await engine.read("worker/one"))?.status, "failed");
  broken = false;
  await server.clock.advance(4_999);
  assert.equal((await engine.read("worker/one"))?.status, "failed", "it is not time yet");
  await server.clock.advance(1);
  await until("it is there again", async () => (await engine.read("worker/one"))?.status === "live");
  assert.deepEqual((await client.callTool("worker__work")).structuredContent, { done: 2 });
});
