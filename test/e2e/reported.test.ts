// A call that is answered by a later turn reports its progress to its client, over every transport.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { testServer } from "../../src/testing/index.ts";

const oven = actor("oven", {
  description: "An oven.",
  state: z.object({ of: z.string().default(""), minutes: z.number().default(0) }),
  tools: {
    bake: {
      description: "Bakes for three minutes.",
      run({ state, message, wake, messages, later }) {
        state.of = message.id;
        wake("tick", { afterMs: 60_000, everyMs: 60_000, message: messages.tick() });
        return later();
      },
    },
  },
  messages: {
    tick: {
      run({ state, report, answer, cancel }) {
        state.minutes += 1;
        report(state.of, state.minutes, 3, `${state.minutes} of 3 minutes`);
        if (state.minutes < 3) return;
        cancel("tick");
        answer(state.of, "It is done.");
      },
    },
  },
});

for (const era of ["legacy", "modern"] as const)
  test(`C8 progress reported by turns reaches only its requester, before the reply (${era})`, async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era });
    const other = server.client({ era });
    await other.listTools();
    const baked = client.callTool("bake", {}, { progressToken: "p" });
    for (let minute = 1; minute <= 3; minute += 1) {
      await server.clock.advance(60_000);
      await client.notifications.first(({ method, params }) => method === "notifications/progress" && params["progress"] === minute);
    }
    const { content } = await baked;
    assert.deepEqual(content, [{ type: "text", text: "It is done." }]);
    const steps = client.notifications.all.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
    assert.deepEqual(
      steps.map(({ progressToken, progress, total, message }) => [progressToken, progress, total, message]),
      [1, 2, 3].map((minute) => ["p", minute, 3, `${minute} of 3 minutes`]),
    );
    assert.ok(!other.notifications.methods.includes("notifications/progress"));
  });

test("a turn may report progress that no caller requested or waits for", async () => {
  await using server = await testServer([oven]);
  const client = server.client();
  const baked = client.callTool("bake");
  for (let minute = 1; minute <= 4; minute += 1) await server.clock.advance(60_000);
  assert.equal((await baked).content.length, 1);
  assert.deepEqual(server.faults, []);
  assert.ok(!client.notifications.methods.includes("notifications/progress"));
});
