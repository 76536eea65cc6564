// The console's pages of capabilities, packets and WebAssembly guests on a real server, in a real browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { packetClient, type PacketClient } from "../../src/bridges/packet/index.ts";
import type { JsonObject } from "../../src/core/contract/index.ts";
import { ConsoleFixture } from "./console.fixture.ts";

let server: ConsoleFixture;

const LOOKS = [
  ["light", 1440],
  ["dark", 360],
] as const;

const page = z.object({ items: z.array(z.record(z.string(), z.unknown())) });

/** A guest counts; what it cannot read pauses it or is ignored, as its manifest says. */
async function startGuests(names: readonly string[]): Promise<void> {
  const client = new Client({ name: "operator", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL("/theater", server.origin)));
  for (const name of names) {
    const started = await client.callTool({ name: "start_actor", arguments: { manifest: "counter/counter.toml", name } });
    assert.notEqual(started.isError, true, JSON.stringify(started));
    await client.callTool({ name: "request_message", arguments: { actor_id: name, data: "Pw==" } });
  }
  await client.close();
}

before(async () => {
  server = await ConsoleFixture.start({
    modules: ["examples/reading"],
    args: ["--packets", "--no-auth", "--theater", "--manifests", "examples/wasm"],
  });
  const context = { user_id: "ann" };
  const send = async (packets: PacketClient, capability_id: string, payload: JsonObject, actor_id?: string): Promise<string> =>
    (await packets.send({ type: "capability_request", capability_id, payload, context, ...(actor_id !== undefined && { actor_id }) })).type;
  using web = packetClient(new URL("/packets", server.origin));
  using socket = packetClient(new URL("/packets", server.origin.replace("http", "ws")));
  assert.equal(await send(web, "count_words", { text: "a torch and a rope" }), "capability_response");
  assert.equal(await send(web, "reading_list", { add: "The Odyssey" }, "mine"), "capability_response");
  assert.equal(await send(socket, "count_words", {}), "capability_error");
  await startGuests(["mine", "other"]);
});
after(() => server[Symbol.asyncDispose]());

test("capabilities are listed, and one links to its actors and packets", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/packets", { theme, width });
    const { page: tab } = console;
    const rows = tab.getByRole("region", { name: "Capabilities" }).locator("tbody tr");
    await rows.filter({ hasText: "reading_time" }).first().waitFor();
    await console.check(`packets-${theme}-${width}`);
    await tab.getByRole("searchbox").fill("list of books");
    await rows.filter({ hasText: "reading_list" }).first().getByRole("button").click();
    const panel = tab.getByRole("complementary", { name: "Capability" });
    await panel.getByRole("link", { name: /1 of reading-list/ }).waitFor();
    await console.check(`capability-${theme}-${width}`);
    await panel.getByRole("link", { name: "See its recent ones" }).click();
    await tab.waitForURL(/\/traffic\?transport=packets&search=reading_list/);
    await tab.getByRole("region", { name: "Requests" }).locator("tbody tr").filter({ hasText: "reading_list" }).first().waitFor();
  }
});

test("packets over each transport are in the traffic, and selected by it", async () => {
  await using console = await server.open("/packets?tab=recent");
  const { page: tab } = console;
  const recent = tab.getByRole("region", { name: "Recent packets" }).locator("tbody tr");
  await recent.nth(2).waitFor();
  await console.check("packets-recent-light-1440");
  await tab.goto(`${server.origin}/console/traffic`);
  await tab.getByLabel("Transport").selectOption("packets-websocket");
  await tab.waitForURL(/transport=packets-websocket/);
  const rows = tab.getByRole("region", { name: "Requests" }).locator("tbody tr");
  const row = rows.filter({ hasText: "count_words" }).first();
  await row.getByRole("button", { name: /capability_request/ }).click();
  const panel = tab.getByRole("complementary", { name: "Request" });
  await panel.getByText("VALIDATION_FAILED").first().waitFor();
  assert.match(await panel.innerText(), /packets over WebSocket/);
  await console.check("traffic-packet-light-1440");
});

test("a plan is found between fields, and a message by its words", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/packets?tab=plan&from=text&to=minutes", { theme, width });
    const { page: tab } = console;
    const steps = tab.getByRole("region", { name: "Steps" }).locator("tbody tr");
    await steps.nth(1).waitFor();
    assert.match((await steps.allInnerTexts()).join("\n"), /count_words[\s\S]*reading_time/);
    await console.check(`packets-plan-${theme}-${width}`);
    await tab.getByRole("tab", { name: "Search" }).click();
    await tab.getByRole("searchbox").fill("odyssey");
    const found = tab.getByRole("region", { name: "Found events" }).locator("tbody tr").first();
    await found.filter({ hasText: "The Odyssey" }).first().waitFor();
    await console.check(`packets-search-${theme}-${width}`);
  }
});

test("guests are listed with calls and memory; one is checked, restarted and stopped", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/guests", { theme, width });
    const { page: tab } = console;
    const rows = tab.getByRole("region", { name: "Guests" }).locator("tbody tr");
    await rows.nth(1).waitFor();
    await console.check(`guests-${theme}-${width}`);
    await rows.filter({ hasText: "mine" }).first().getByRole("button").click();
    const panel = tab.getByRole("complementary", { name: "Guest" });
    await panel.getByText("for each call").waitFor();
    await panel.getByRole("button", { name: "Check calls" }).click();
    await panel.getByText("All did what was recorded.").waitFor();
    await console.check(`guest-${theme}-${width}`);
  }
  await using console = await server.open("/guests?open=other");
  const { page: tab } = console;
  const panel = tab.getByRole("complementary", { name: "Guest" });
  await panel.getByRole("button", { name: "Restart" }).click();
  await tab.getByText("Restarted other.").waitFor();
  await panel.getByRole("button", { name: "Stop" }).click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("a test");
  await dialog.getByRole("button", { name: "Stop the guest" }).click();
  await tab.getByText("Stopped other.").waitFor();
  const { items } = await server.api("/guests?status=stopped", page);
  assert.deepEqual(
    items.map(({ key }) => key),
    ["other"],
  );
  await panel.getByRole("link", { name: "Open its actor" }).click();
  await tab.waitForURL(/\/actors\/guest\/other/);
});
