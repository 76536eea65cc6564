// Messages of a fork are not delivered. Its callers get a reply nevertheless.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { type ActorId, actor } from "troupe";
import * as z from "zod";
import { forkEntry } from "../../src/core/chain/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { settle, SimulatedClock, SimulatedEntropy } from "../../src/testing/index.ts";
import { chainOf } from "../../src/testing/conformance/index.ts";

const stock = actor("stock", {
  description: "Counts what is reserved.",
  per: "link",
  autoStart: true,
  state: z.object({ reserved: z.int().default(0) }),
  messages: { reserve: { output: z.int(), run: ({ state }) => (state.reserved += 1) } },
});

const order = actor("order", {
  description: "Needs the stock.",
  per: "link",
  autoStart: true,
  state: z.object({ tries: z.int().default(0), heard: z.array(z.string()).default([]) }),
  messages: {
    count: { run: ({ state }) => (state.tries += 1) },
    pass: {
      run({ state, forward }) {
        state.tries += 1;
        return forward(stock.at("main").reserve());
      },
    },
    request: { run: ({ request }) => request(stock.at("main").reserve(), "reserved") },
    settle: {
      run({ send, settled }) {
        send(stock.at("main").reserve());
        return settled("Sent.");
      },
    },
  },
  replies: {
    reserved: {
      of: stock.message("reserve"),
      run: ({ reply }) => reply,
      refused({ state, refused }) {
        state.heard.push(refused.code);
      },
    },
  },
});

const clerk = actor("clerk", {
  description: "Asks for the tries of an order.",
  per: "link",
  autoStart: true,
  state: z.object({}),
  messages: {
    ask: { input: z.object({ order: z.string() }), run: ({ args, forward }) => forward(order.at(args.order).count()) },
    pass: { input: z.object({ order: z.string() }), run: ({ args, forward }) => forward(order.at(args.order).pass()) },
    settle: { input: z.object({ order: z.string() }), run: ({ args, forward }) => forward(order.at(args.order).settle()) },
  },
});

test("a fork that needs another actor's reply is refused it at once, and nothing waits #chain.fork", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  await using engine = await LocalEngine.start({ kinds: [stock, order, clerk], store, clock, entropy: new SimulatedEntropy(1) });
  assert.deepEqual(await engine.call(order.at("origin").count()), { ok: 1 });
  const stamped = { messageId: "m", at: clock.now(), seed: "0".repeat(32) };
  const fork: ActorId = order.id("fork");
  await store.commit(fork, forkEntry(await chainOf(engine, order.id("origin")), { to: fork, origin: {}, life: randomUUID(), ...stamped }));

  const why = "This actor is a fork: what it sends to others is recorded, but not delivered, so none of them replies.";
  const refusal = { refused: { code: "MUTED", message: why } };
  assert.deepEqual(await engine.call(order.at("fork").pass()), refusal);
  assert.deepEqual(await engine.call(order.at("fork").request()), refusal);
  assert.deepEqual(await engine.call(order.at("fork").settle()), { ok: "Sent." });
  // Another actor that waits for the fork gets its reply.
  assert.deepEqual(await engine.call(clerk.at("main").ask({ order: "fork" })), { ok: 3 });
  assert.deepEqual(await engine.call(clerk.at("main").pass({ order: "fork" })), refusal);
  assert.deepEqual(await engine.call(clerk.at("main").settle({ order: "fork" })), { ok: "Sent." });
  await settle(20);
  assert.deepEqual((await engine.read(fork))?.state, { tries: 4, heard: ["MUTED"] });
  assert.equal(await engine.read(stock.id("main")), undefined);
  assert.deepEqual([(await store.load(fork))?.row.pending, await store.undelivered(10), await engine.letters()], [{}, [], []]);
});
