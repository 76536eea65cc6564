import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId } from "troupe";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import * as z from "zod";
import { customer, payments, stock } from "./index.ts";

const price = { tea: 4, cup: 12 };

async function shop() {
  const server = await testServer([customer, payments, stock]);
  const stateOf = async (id: ActorId) => (await server.engine.read(id))?.state;
  return { server, ada: server.client({ principal: "ada" }), stateOf, [Symbol.asyncDispose]: () => server.close() };
}

test("an order is reserved and paid before the reply", async () => {
  await using at = await shop();
  const { ada, stateOf } = at;
  const { structuredContent } = await ada.tools.order({ item: "tea", count: 2 });
  assert.deepEqual(z.object({ item: z.string(), amount: z.number() }).parse(structuredContent), { item: "tea", amount: 8 });
  assert.deepEqual(await stateOf(stock.id("main")), { left: { tea: 18, cup: 3 }, price });
  assert.deepEqual(await stateOf(payments.id("main")), { total: 8 });
});

test("a declined payment releases the reservation, and the customer gets the reason", async () => {
  await using at = await shop();
  const { ada, stateOf, server } = at;
  assertRefused(await ada.tools.order({ item: "tea", count: 20 }), "A payment of 80 was declined.", "DECLINED");
  await server.clock.advance(0);
  assert.deepEqual(await stateOf(stock.id("main")), { left: { tea: 20, cup: 3 }, price });
});

test("an item that is out of stock is refused, and nothing is charged", async () => {
  await using at = await shop();
  const { ada, stateOf } = at;
  assertRefused(await ada.tools.order({ item: "cup", count: 4 }), "There are only 3 left of cup.");
  assertToolResult(await ada.callTool("order", { item: "cup", count: 3 }), /36/);
  assertRefused(await ada.tools.order({ item: "cup", count: 1 }), "There is no cup left.");
  assert.deepEqual(await stateOf(payments.id("main")), { total: 36 });
});
