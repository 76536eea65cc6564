import assert from "node:assert/strict";
import { test } from "node:test";
import { assertHasTools, assertToolResult, testServer } from "troupe/testing";
import { converter } from "../src/server.ts";

test("temperatures are converted, and impossible ones refused", async () => {
  await using server = await testServer((wires) => converter(wires));
  const client = server.client();
  assertHasTools(await client.listTools(), "convert", "count_down");
  assertToolResult(await client.callTool("convert", { celsius: 100, to: "fahrenheit" }), { value: 212 });
  for (const celsius of [-300, 1e308]) assert.equal((await client.callTool("convert", { celsius, to: "fahrenheit" }))["isError"], true);
});

test("each step of the count is reported", async () => {
  await using server = await testServer((wires) => converter(wires));
  const client = server.client();
  assertToolResult(await client.callTool("count_down", { from: 3 }, { progressToken: 1 }), "Zero.");
  assert.equal((await client.notifications.first("notifications/progress")).params?.["message"], "3 …");
  assert.equal(await client.readText("converter://units"), '["kelvin","fahrenheit"]');
});
