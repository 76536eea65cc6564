import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import { home, list, me } from "./index.ts";

const WEEK = 7 * 86_400_000;

test("a user is reminded of a list", async () => {
  await using server = await testServer([home, list, me]);
  const ann = server.client({ principal: "ann" });
  await ann.tools.open_list({ purpose: "party", shop: "market" });
  await ann.callTool("list__add", { purpose: "party", item: "cake" });
  await ann.callTool("list__remind", { purpose: "party", minutes: 30 });
  assert.equal(await ann.readText("me://notices"), "[]");
  await server.clock.advance(30 * 60_000);
  assert.equal(await ann.readText("me://notices"), '["On the list party: cake"]');
  const keyless = server.client({ principal: null });
  assertRefused(await keyless.callTool("list__remind", { purpose: "party", minutes: 30 }), "Sign in first.");
});

test("an item comes back every week", async () => {
  await using server = await testServer([home, list, me]);
  const ann = server.client({ principal: "ann" });
  await ann.tools.open_list({ purpose: "week", shop: "corner" });
  await ann.callTool("list__repeat", { purpose: "week", item: "milk" });
  for (let week = 1; week <= 2; week += 1) {
    await server.clock.advance(WEEK);
    assertToolResult(await ann.callTool("list__buy", { purpose: "week", item: "milk" }), "You bought milk.");
  }
});

test("prices are looked up one by one", async () => {
  await using server = await testServer([home, list, me]);
  const ann = server.client({ principal: "ann" });
  await ann.tools.open_list({ purpose: "party", shop: "market" });
  for (const item of ["cake", "tea"]) await ann.callTool("list__add", { purpose: "party", item });
  assertToolResult(await ann.callTool("list__prices", { purpose: "party" }, { progressToken: 1 }), "Everything costs 7 euros.");
  const { params } = await ann.notifications.first("notifications/progress");
  assert.deepEqual(params, { progressToken: 1, progress: 1, total: 2, message: "cake" });
});
