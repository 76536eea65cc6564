import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import { home, list, me, open } from "./index.ts";

test("there are many lists, and each call names one", async () => {
  await using server = await testServer([home, list, me]);
  const ann = server.client({ principal: "ann" });
  assertToolResult(await ann.tools.open_list({ purpose: "party", shop: "market" }), "The list party is open.");
  await ann.tools.open_list({ purpose: "week", shop: "corner" });
  assertToolResult(await ann.callTool("list__add", { purpose: "party", item: "cake" }), "cake is on the list.");
  assertToolResult(await ann.callTool("list__show", { purpose: "week" }), "The list is empty.");
  assertRefused(await ann.callTool("list__add", { purpose: "moon", item: "cheese" }), /./, "NO_ACTOR");
});

test("lists with something on them are found", async () => {
  await using server = await testServer([home, list, me], { indexes: [open] });
  const ann = server.client({ principal: "ann" });
  await ann.tools.open_list({ purpose: "party", shop: "market" });
  await ann.tools.open_list({ purpose: "week", shop: "corner" });
  await ann.callTool("list__add", { purpose: "party", item: "cake" });
  assert.deepEqual(JSON.parse(await ann.readText("lists://open")), {
    items: [{ id: "list/party", key: "party", shop: "market", items: ["cake"] }],
  });
  const found = await ann.callTool("find_lists", { where: { shop: "corner" } });
  assertToolResult(found, { items: [] });
});
