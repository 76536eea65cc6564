import { test } from "node:test";
import { assertHasTools, assertRefused, assertToolResult, testServer } from "troupe/testing";
import { list } from "./list.ts";

test("an item is added once, and bought once", async () => {
  await using server = await testServer([list]);
  const client = server.client();
  assertToolResult(await client.tools.add({ item: "milk" }), "milk is on the list.");
  assertRefused(await client.tools.add({ item: "milk" }), "milk is on the list already.");
  assertToolResult(await client.tools.buy({ item: "milk" }), "You bought milk.");
  assertRefused(await client.tools.buy({ item: "milk" }), "The list is empty.", "NOT_NOW");
});

test("the tools follow from the list", async () => {
  await using server = await testServer([list]);
  const client = server.client();
  assertHasTools(await client.listTools(), "add", "show");
  await client.tools.add({ item: "milk" });
  await client.notifications.first("notifications/tools/list_changed");
  assertHasTools(await client.listTools(), "add", "buy", "show");
});
