// Owns: what a fork has of its origin. Does not own: the command's words (test/cli/chain.test.ts), what a fork may send (core/engine).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import type { ActorId } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { fork } from "./chain-operations.ts";

const order = actor("order", {
  description: "An order.",
  per: "link",
  autoStart: true,
  owner: "starter",
  expireMs: 3_600_000,
  state: z.object({ items: z.array(z.string()).default([]) }),
  tools: {
    put: { description: "Put.", run: ({ state, viewer }) => void state.items.push(viewer.principal ?? "") },
    end: { description: "End.", run: ({ stop }) => stop("over") },
  },
});
const ORIGIN: ActorId = order.id("1");

async function orders() {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const engine = await LocalEngine.start({ kinds: [order], store, clock });
  const put = (principal: string, key = "1", tool = "put"): Promise<unknown> =>
    engine
      .call({ to: order.id(key), action: `tools/${tool}`, args: {}, viewer: { principal, scopes: [] } })
      .catch((error: unknown) => Object(error).code);
  return { clock, store, engine, put, [Symbol.asyncDispose]: () => engine.close() };
}

test("the fork of one user's actor exists for that user only, and expires like it", async () => {
  await using at = await orders();
  await at.put("ann");
  await fork(at.store, ORIGIN, order.id("copy"), undefined, { clock: at.clock });
  assert.equal(await at.put("bob", "copy"), "NO_ACTOR");
  assert.deepEqual(await at.put("ann", "copy"), { ok: null });
  assert.deepEqual((await at.engine.read(order.id("copy")))?.state, { items: ["ann", "ann"] });
  await at.clock.advance(2 * 3_600_000);
  assert.equal((await at.engine.read(order.id("copy")))?.status, "stopped");
});

test("the fork of an earlier life is for its own starter", async () => {
  await using at = await orders();
  await at.put("ann");
  await at.put("ann", "1", "end");
  await at.put("bob");
  await fork(at.store, ORIGIN, order.id("copy"), 1, { clock: at.clock });
  assert.equal(await at.put("bob", "copy"), "NO_ACTOR");
  assert.deepEqual(await at.put("ann", "copy"), { ok: null });
});

test("the fork of an earlier life that began as a fork is for the owner of its origin, not for the operator", async () => {
  await using at = await orders();
  await at.put("ann");
  const by = { clock: at.clock, principal: "operator" };
  await fork(at.store, ORIGIN, order.id("first"), undefined, by);
  await at.put("ann", "first", "end");
  await at.put("bob", "first");
  await fork(at.store, order.id("first"), order.id("second"), 1, by);
  assert.equal(await at.put("operator", "second"), "NO_ACTOR");
  assert.deepEqual(await at.put("ann", "second"), { ok: null });
});
