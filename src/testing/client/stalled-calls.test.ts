// slow: it needs a process in which nothing else is under way
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { assertToolResult, testServer } from "../index.ts";

const buzzer = actor("buzzer", {
  description: "A buzzer.",
  state: z.object({ waiting: z.string().default("") }),
  tools: {
    wait: {
      description: "Waits until it rings.",
      run({ state, message, later, wake, messages }) {
        state.waiting = message.id;
        wake("ring", { afterMs: 900_000, message: messages.rung() });
        return later();
      },
    },
    ring: {
      description: "Rings now.",
      run({ state, answer }) {
        answer(state.waiting, "Rung by hand.");
      },
    },
    hang: { description: "Waits for what never comes.", work: () => new Promise<string>(() => undefined) },
  },
  messages: {
    rung: { run: ({ state, answer }) => answer(state.waiting, "Rung.") },
  },
});

test("a call that waits for an actor's timer rejects with its name, and says how to move time", async () => {
  await using server = await testServer([buzzer]);
  await assert.rejects(server.client().tools.wait(), {
    message:
      "tools/call wait cannot finish until simulated time passes or another call ends it. " +
      'The timer "ring" of buzzer/main fires in 900_000 ms. ' +
      "Make the call without `await`, move time (await server.clock.advance(900_000)), then await the call.",
  });
});

test("a call that is awaited after time was moved is not rejected", async () => {
  await using server = await testServer([buzzer]);
  const client = server.client();
  const first = client.tools.wait();
  await server.clock.advance(900_000);
  assertToolResult(await first, "Rung.");
  const second = client.tools.wait();
  await server.clock.advance(0);
  await client.tools.ring();
  assertToolResult(await second, "Rung by hand.");
});

test("while the process waits for something real, a call is not rejected", async () => {
  await using server = await testServer([buzzer]);
  const call = server.client().tools.wait();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await server.clock.advance(900_000);
  assertToolResult(await call, "Rung.");
});

test("a call that waits for nothing visible causes a warning with the next timer, and continues", async () => {
  await using server = await testServer([buzzer]);
  const warned = once(process, "warning");
  const call = server.client().tools.hang();
  const [warning] = await warned;
  assert.match(String(warning), /tools\/call hang has no reply yet.*await server\.clock\.advance\([\d_]+\) reaches the next timer/);
  await server.clock.advance(60_000);
  assert.equal((await call).isError, true);
});
