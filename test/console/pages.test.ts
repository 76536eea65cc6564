// Every page of the console and every tab of an actor, on one server that clients use: in both themes, at 360, 1440 and 2560 pixels.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { NAVIGATION } from "../../console/src/navigation.ts";
import { packetClient } from "../../src/bridges/packet/index.ts";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

// Colours do not depend on the width, nor widths on the theme.
const LOOKS = [
  ["light", 1440],
  ["dark", 2560],
  ["dark", 360],
] as const;

let server: ConsoleFixture;
let acknowledged = "";

async function call(client: Client, name: string, args: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { isError, content } = await client.callTool({ name, arguments: { ...args } });
  assert.ok(isError !== true, `${name}: ${JSON.stringify(content)}`);
}

async function useEverything(): Promise<void> {
  const reporter = await server.connectAs({ principal: "ann" }, "support-portal");
  const responder = await server.connectAs({ principal: "ben", claims: { roles: ["responder"] } }, "pager");
  await call(reporter, "report", { title: "Mail is down", severity: 2 });
  await call(reporter, "incident__comment", { incident: "INC-1", text: "Nothing arrives." });
  await call(responder, "incident__acknowledge", { incident: "INC-1" });
  const player = await server.connectAs({ principal: "rosa" }, "mud-client");
  await call(player, "choose_name", { name: "Rosalind" });
  await call(player, "move", { direction: "north" });
  await call(player, "say", { text: "Is anybody here?" });
  await call(player, "order", { item: "rope" });
  using packets = packetClient(new URL("/packets", server.origin));
  await packets.send({
    type: "capability_request",
    capability_id: "count_words",
    payload: { text: "a torch and a rope" },
    context: { user_id: "ann" },
  });
  const theater = new Client({ name: "operator", version: "1.0.0" });
  await theater.connect(new StreamableHTTPClientTransport(new URL("/theater", server.origin)));
  await call(theater, "start_actor", { manifest: "counter/counter.toml", name: "mine" });
  await theater.close();
  await startTask();
}

/** A call of `count` that outlives its reply. */
async function startTask(): Promise<void> {
  const post = async (method: string, params: object, headers: object = {}): Promise<Response> =>
    await fetch(`${server.origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const clientInfo = { name: "task-client", version: "1.0.0" };
  const begun = await post("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  const started = await post("tools/call", { name: "count", arguments: { ms: 60_000 }, task: { ttl: 600_000 } }, session);
  assert.match(await started.text(), /"taskId"/);
}

before(async () => {
  server = await ConsoleFixture.start({
    modules: ["examples/mud", "examples/incident-desk", "test/console/delivery.ts", "examples/reading"],
    args: ["--packets", "--no-auth", "--theater", "--manifests", "examples/wasm"],
  });
  await useEverything();
  const { items } = await server.api(
    "/actors/incident/INC-1/events",
    z.object({ items: z.array(z.object({ id: z.string(), type: z.string() })) }),
  );
  acknowledged = items.find(({ type }) => type === "tools/acknowledge")?.id ?? assert.fail("It was not acknowledged.");
});
after(() => server[Symbol.asyncDispose]());

/** The expected text of each page of the navigation after the clients' calls. */
const FACTS: ReadonlyMap<string, RegExp> = new Map([
  ["Overview", /1 message could not be delivered/],
  ["Doctor", /1 message could not be delivered/],
  ["Log", /fault[\s\S]*printer/],
  ["Actors", /incident\/INC-1/],
  ["Guests", /mine[\s\S]*counter/],
  ["Query", /Views/],
  ["Playground", /incident__comment/],
  ["Traffic", /support-portal[\s\S]*incident__comment|incident__comment[\s\S]*support-portal/],
  ["Sessions", /mud-client/],
  ["Tasks", /count[\s\S]*(?:working|completed)|(?:working|completed)[\s\S]*count/],
  ["Packets", /count_words/],
  ["Dead letters", /print[\s\S]*The paper jams/],
  ["Timers", /incident\/INC-1[\s\S]*escalate|shop\/main[\s\S]*ask 1/],
  ["Outbox", /Nothing is waiting/],
]);

const incident = "/actors/incident/INC-1";
const views = (): readonly (readonly [name: string, path: string, fact: RegExp])[] => [
  ...NAVIGATION.map(({ label, path }) => [label, path, FACTS.get(label) ?? assert.fail(`No fact of ${label}.`)] as const),
  ["Query with rows", "/query?sql=SELECT+id%2C+kind+FROM+actors+ORDER+BY+id", /incident\/INC-1/],
  ["Packets, recent", "/packets?tab=recent", /count_words/],
  ["State", `${incident}?tab=state`, /Mail is down/],
  ["Tools and access", `${incident}?tab=offers`, /acknowledge[\s\S]*comment/],
  ["History", `${incident}?tab=history&at=4`, /tools\/acknowledge[\s\S]*Nothing arrives\./],
  ["Causes", `${incident}?tab=causes`, /tools\/acknowledge/],
  ["Relations", `${incident}?tab=relations`, /desk\/main/],
  ["Players", "/actors?kind=player", /player\/[\s\S]*live/],
  ["Event", `/events/${acknowledged}`, /tools\/acknowledge/],
  ["Causes of an event", `/events/${acknowledged}/causes`, /inbox\/ann/],
];

const firstPaint = async ({ page }: ConsolePage): Promise<number> =>
  z.number().parse(await page.evaluate("Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)"));

test("every view shows what clients did, in both themes and from a phone to a large screen", async (t) => {
  await using opened = await server.open();
  const { page } = opened;
  const tabs = new Set<string>();
  for (const [name, path, fact] of views()) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(`${server.origin}/console${path === "/" ? "" : path}`);
    await page.locator("main").filter({ hasText: fact }).waitFor();
    t.diagnostic(`${name}: first contentful paint after ${await firstPaint(opened)} ms`);
    if (path.startsWith(`${incident}?`)) for (const tab of await page.locator("[role=tab]").allInnerTexts()) tabs.add(tab);
    for (const [theme, width] of LOOKS) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 900 });
      await opened.check(`${name.toLowerCase().replaceAll(/\W+/g, "-")}-${theme}-${width}`);
    }
  }
  const opens = new Set(views().map(([name]) => name));
  for (const tab of ["State", "Tools and access", "History", "Causes", "Relations"]) assert.ok(opens.has(tab) && tabs.has(tab), tab);
});
