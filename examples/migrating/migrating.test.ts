// Clients of both eras, at each step of the migration guide.
import { test } from "node:test";
import { assertHasTools, assertToolResult, testServer } from "troupe/testing";
import { close, type Migration, mounted, mountedPerPrincipal, moved } from "./index.ts";

const YES = { elicitation: [{ action: "accept", content: {} }] };

const serve = (make: () => Migration) =>
  testServer(() => {
    const migration = make();
    return { gateway: migration.server.gateway, [Symbol.asyncDispose]: () => close(migration) };
  });

for (const era of ["legacy", "modern"] as const) {
  test(`${era}: the mounted server is served`, async () => {
    await using town = await serve(mounted);
    const client = town.client({ era, answers: YES });
    assertHasTools(await client.listTools(), "weather", "demolish");
    assertToolResult(await client.callTool("weather", { city: "Rome" }), '{"celsius":4}');
    assertToolResult(await client.callTool("demolish", { house: "No. 7" }), "No. 7 is gone.");
    await client.readResource("houses://high/street/7");
  });

  test(`${era}: each principal has its own mounted server, with prefixed names`, async () => {
    await using towns = await serve(mountedPerPrincipal);
    assertToolResult(await towns.client({ era, principal: "ada" }).callTool("town__weather", { city: "Oslo" }), '{"celsius":4}');
  });

  test(`${era}: moved tools answer as before`, async () => {
    await using town = await serve(moved);
    const client = town.client({ era, answers: YES });
    assertHasTools(await client.listTools(), "weather", "build", "demolish");
    assertToolResult(await client.callTool("weather", { city: "Rome" }), '{"celsius":4}');
    assertToolResult(await client.callTool("build", { house: "No. 8" }), "No. 8 is built.");
  });
}
