import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import { list, me } from "./index.ts";

test("the list says who added an item, and only parents clear it", async () => {
  await using server = await testServer([list, me]);
  const ann = server.client({ principal: "ann", claims: { roles: ["parent"] } });
  const bob = server.client({ principal: "bob" });
  await bob.tools.add({ item: "candy" });
  assertToolResult(await ann.tools.show(), "candy (bob)");
  assertRefused(await bob.tools.clear(), /^Only parents may clear the list\./, "NOT_NOW");
  await ann.tools.clear();
  assertToolResult(await bob.tools.show(), "The list is empty.");
});

test("each user has favourites of their own", async () => {
  await using server = await testServer([list, me]);
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });
  await ann.tools.like({ item: "tea" });
  assert.equal(await ann.readText("me://favourites"), '["tea"]');
  assert.equal(await bob.readText("me://favourites"), "[]");
});
