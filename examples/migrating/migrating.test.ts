// The guide's way from the official SDK, walked by clients of both eras.
import { test } from "node:test";
import { assertHasTools, assertToolResult, testServer } from "troupe/testing";
import { closed, mounted, moved, type Moving, ownTown } from "./index.ts";

const YES = { elicitation: [{ action: "accept", content: {} }] };

const walk = (make: () => Moving) =>
  testServer(() => {
    const moving = make();
    return { gateway: moving.server.gateway, [Symbol.asyncDispose]: () => closed(moving) };
  });

for (const era of ["legacy", "modern"] as const) {
  test(`${era}: what there is, is served`, async () => {
    await using town = await walk(mounted);
    const client = town.client({ era, answers: YES });
    assertHasTools(await client.listTools(), "weather", "demolish");
    assertToolResult(await client.callTool("weather", { city: "Rome" }), '{"celsius":4}');
    assertToolResult(await client.callTool("demolish", { house: "No. 7" }), "No. 7 is gone.");
    await client.readResource("houses://high/street/7");
  });

  test(`${era}: each principal has its own, under a name`, async () => {
    await using towns = await walk(ownTown);
    assertToolResult(await towns.client({ era, principal: "ada" }).callTool("town__weather", { city: "Oslo" }), '{"celsius":4}');
  });

  test(`${era}: what is moved answers as it did`, async () => {
    await using town = await walk(moved);
    const client = town.client({ era, answers: YES });
    assertHasTools(await client.listTools(), "weather", "build", "demolish");
    assertToolResult(await client.callTool("weather", { city: "Rome" }), '{"celsius":4}');
    assertToolResult(await client.callTool("build", { house: "No. 8" }), "No. 8 is built.");
  });
}
