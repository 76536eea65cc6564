import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import { list } from "../src/index.ts";

test("an item is added once, and everyone sees it", async () => {
  await using server = await testServer([list]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  assertToolResult(await ann.tools.add({ item: "milk" }), "milk is on the list.");
  assertRefused(await bob.tools.add({ item: "milk" }), "milk is on the list already.");
  assertToolResult(await bob.tools.show(), "milk");
  assert.equal(await bob.readText("list://items"), '["milk"]');
});

test("only what is on the list can be removed", async () => {
  await using server = await testServer([list]);
  const ann = server.client();
  assertRefused(await ann.tools.remove({ item: "milk" }), "The list is empty.", "NOT_NOW");
  await ann.tools.add({ item: "milk" });
  assertRefused(await ann.tools.remove({ item: "bread" }), /bread|milk/);
  assertToolResult(await ann.tools.remove({ item: "milk" }), "milk is off the list.");
});
