// The console's overview, traffic, lists and doctor on a real server, in a real browser, while clients act.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

let server: ConsoleFixture;
let fast: Client;
let slow: Client;

const LOOKS = [
  ["light", 1440],
  ["dark", 360],
] as const;

/** The name of a tool, without its prefix. */
async function toolOf(client: Client, end: string): Promise<string> {
  const { tools } = await client.listTools();
  const found = tools.find(({ name }) => name.endsWith(end));
  assert.ok(found !== undefined, `no ${end} in ${tools.map(({ name }) => name).join(", ")}`);
  return found.name;
}

async function call(client: Client, end: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  return await client.callTool({ name: await toolOf(client, end), arguments: { ...args } });
}

const page = z.object({ items: z.array(z.unknown()) });

async function lettersAre(count: number): Promise<void> {
  for (const end = Date.now() + 60_000; ; await new Promise((later) => setTimeout(later, 50))) {
    const { items } = await server.api("/letters", page);
    if (items.length === count) return;
    assert.ok(Date.now() < end, `${items.length} dead letters`);
  }
}

before(async () => {
  server = await ConsoleFixture.start({ modules: ["test/console/delivery.ts"], args: ["--as", "rosa"] });
  fast = await server.connect("fast-client");
  slow = await server.connect("slow-client");
  // The first call loads code that the others find loaded.
  const first = await server.connect("first-client");
  for (const item of ["torch", "rope"]) await call(first, "order", { item });
  await call(fast, "count", { ms: 0 });
  await call(slow, "count", { ms: 1_500 });
  await lettersAre(2);
});
after(() => server[Symbol.asyncDispose]());

/** The slow client is marked, and listed before the fast one. */
function isSlower(rows: readonly string[]): void {
  const at = (name: string): number => rows.findIndex((text) => text.includes(name));
  assert.match(rows[at("slow-client")] ?? "", /slow\s+\d/);
  assert.ok(at("slow-client") < at("fast-client"), rows.join("\n"));
}

const textOf = async ({ page: tab }: ConsolePage, selector: string): Promise<string> => await tab.locator(selector).first().innerText();

test("the overview begins with what needs attention, and marks slow clients", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/", { theme, width });
    const { page: tab } = console;
    await tab.locator(".live-dot.open").waitFor();
    assert.match(await textOf(console, ".findings"), /2 messages could not be delivered/);
    const card = tab.locator(".figure").filter({ hasText: "Dead letters" });
    assert.match(await card.innerText(), /\b2\b/);
    const clients = await tab.getByRole("region", { name: "Clients by revision" }).locator("tbody tr").allInnerTexts();
    isSlower(clients);
    await tab.locator(".chart canvas").nth(1).waitFor();
    // The navigation marks pages with pending entries, and omits empty ones.
    await tab.getByRole("link", { name: "Dead letters 2", exact: true }).waitFor();
    assert.equal(await tab.getByRole("navigation").getByRole("link", { name: "Guests" }).count(), 0);
    // Kinds without actors are not listed.
    const kinds = tab.getByRole("region", { name: "Actors by kind" }).getByRole("row");
    const few = await kinds.count();
    await tab.getByRole("button", { name: /^Show .* without actors$/ }).click();
    await kinds.nth(few).waitFor();
    await console.check(`overview-${theme}-${width}`);
    // Kinds link to their actors.
    await tab.getByRole("region", { name: "Actors by kind" }).getByRole("link", { name: "shop" }).click();
    await tab.waitForURL(/\/actors\?kind=shop/);
  }
});

test("charts are drawn in a browser without a language, too", async () => {
  await using console = await server.open("/", { locale: "en-US@posix" });
  await console.page.locator(".chart canvas").nth(1).waitFor();
  const real: unknown = await console.page.evaluate("Object.getOwnPropertyDescriptor(Navigator.prototype, 'language').get.call(navigator)");
  assert.equal(real, "en-US@posix");
  await console.check("overview-posix");
});

test("sessions are sorted by what their clients wait for, and link to their requests", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/sessions", { theme, width });
    const { page: tab } = console;
    const rows = tab.getByRole("region", { name: "Sessions" }).locator("tbody tr");
    await rows.nth(1).waitFor();
    isSlower(await rows.allInnerTexts());
    await console.check(`sessions-${theme}-${width}`);
    await tab.getByRole("button", { name: "Client" }).click();
    await tab.waitForURL(/sort=client/);
    assert.match((await rows.allInnerTexts()).join("\n"), /fast-client[\s\S]*first-client[\s\S]*slow-client/);
    await tab.getByRole("link", { name: /slow-client/ }).click();
    await tab.waitForURL(/\/traffic\?session=/);
    await tab.getByRole("region", { name: "Requests" }).locator("tbody tr").filter({ hasText: "count" }).first().waitFor();
    assert.equal(await tab.locator("tbody tr").filter({ hasText: "order" }).count(), 0);
  }
});

test("traffic is paused while a request is read, and includes what was sent", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/traffic", { theme, width });
    const { page: tab } = console;
    const rows = tab.getByRole("region", { name: "Requests" }).locator("tbody tr");
    await tab.locator(".live-dot.open").waitFor();
    await call(fast, "count", { ms: 0 });
    const row = rows.filter({ hasText: "count" }).first();
    await row.getByRole("button", { name: /tools\/call/ }).click();
    const panel = tab.getByRole("complementary", { name: "Request" });
    await panel.getByText("Counted.").first().waitFor();
    await console.check(`traffic-${theme}-${width}`);
    const displayed = await rows.allInnerTexts();
    await call(fast, "count", { ms: 1 });
    await tab.locator(".live-dot.held").getByText("still while you read").waitFor();
    const announced = tab.getByRole("button", { name: /^\d+ new$/ });
    await announced.waitFor({ state: "attached" });
    assert.deepEqual(await rows.allInnerTexts(), displayed);
    await tab.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    // The list is also paused under the pointer.
    await tab.mouse.move(0, 0);
    await rows.filter({ hasText: "count" }).nth(1).waitFor();

    await assert.rejects(fast.callTool({ name: "no_such_tool", arguments: {} }));
    await tab.getByLabel("Status").selectOption("error");
    await tab.waitForURL(/status=error/);
    await rows.filter({ hasText: "no_such_tool" }).first().waitFor();
    assert.equal(await rows.filter({ hasText: "ok" }).count(), 0);
  }
});

test("a list stays where it is when the pointer enters it, whatever the width", async () => {
  for (const path of ["/log", "/traffic"])
    for (const width of [360, 600, 768, 1000, 1120, 1440]) {
      await using console = await server.open(path, { width });
      const { page: tab } = console;
      await tab.mouse.move(0, 0);
      await tab.locator(".live-dot.open").waitFor();
      const row = tab.locator("tbody tr").nth(1);
      await row.waitFor();
      const place = await row.boundingBox();
      await row.hover();
      await tab.locator(".live-dot.held").waitFor();
      assert.deepEqual(await row.boundingBox(), place, `${path} at ${width}`);
    }
});

test("the log lists what the server logged, and an entry links to its actor", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/log", { theme, width });
    const { page: tab } = console;
    await tab.locator(".live-dot.open").waitFor();
    const rows = tab.getByRole("region", { name: "Log" }).locator("tbody tr");
    await rows.filter({ hasText: "fault" }).first().waitFor();
    await tab.getByLabel("Level").selectOption("error");
    await tab.waitForURL(/level=error/);
    assert.ok((await rows.allInnerTexts()).every((text) => text.includes("error")));
    await console.check(`log-${theme}-${width}`);
    await rows.filter({ hasText: "printer" }).first().getByRole("button", { name: "fault" }).click();
    const entry = tab.getByRole("complementary", { name: "Log entry" });
    await entry.getByRole("link", { name: /^printer\// }).waitFor();
    await console.check(`log-entry-${theme}-${width}`);
    await tab.keyboard.press("Escape");
    await entry.waitFor({ state: "detached" });
    await tab.getByRole("searchbox").fill("no such entry");
    await tab.getByText("Nothing matches").waitFor();
  }
});

test("a dead letter has its reason and the call that caused it; letters are replayed together", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/letters", { theme, width });
    const { page: tab } = console;
    const rows = tab.getByRole("region", { name: "Dead letters" }).locator("tbody tr");
    await rows.nth(1).waitFor();
    assert.match(await tab.getByRole("region", { name: "Dead letters" }).innerText(), /Caused by[\s\S]*order/);
    await console.check(`letters-${theme}-${width}`);
    await rows.first().getByRole("button", { name: "print" }).click();
    const panel = tab.getByRole("complementary", { name: "Dead letter" });
    assert.match(await panel.innerText(), /CRASHED[\s\S]*order on shop\/\S+ by rosa/);
    await console.check(`letter-${theme}-${width}`);
    await panel.getByRole("link", { name: "See what caused it" }).click();
    await tab.waitForURL(/\/events\/[0-9a-f]+\/causes/);
  }
  await using console = await server.open("/letters");
  const { page: tab } = console;
  await tab.getByLabel("Select all of dead letters").check();
  const batch = tab.getByRole("group", { name: "Selected letters" });
  await batch.getByRole("button", { name: "Drop" }).click();
  const dialog = tab.getByRole("dialog");
  await console.check("letters-confirm");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await server.api("/letters", page)).items.length, 2);
  await call(fast, "repair");
  await batch.getByRole("button", { name: "Replay" }).click();
  await dialog.getByRole("button", { name: "Replay 2 letters" }).click();
  await tab.getByText("Replayed 2 letters.").waitFor();
  await tab.getByText("No dead letters").waitFor();
  await lettersAre(0);
});

test("timers are listed soonest first, with the event that set each", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/timers", { theme, width });
    const { page: tab } = console;
    const rows = tab.getByRole("region", { name: "Timers" }).locator("tbody tr");
    await rows.nth(1).waitFor();
    assert.match(await rows.first().innerText(), /in \d+ min[\s\S]*shop\/[\s\S]*ask 1/);
    assert.match(await tab.getByRole("region", { name: "Timers" }).innerText(), /Set by[\s\S]*tools\/order by rosa/);
    await tab.getByRole("link", { name: "tools/order" }).first().click();
    await tab.waitForURL(/\/events\/[0-9a-f]+$/);
    await tab.goBack();
    await rows.nth(1).waitFor();
    await console.check(`timers-${theme}-${width}`);
    await tab.getByLabel("Kind").selectOption("printer");
    await tab.getByText("No timers of printer are set").waitFor();
  }
});

test("a task that runs is cancelled after a question", async () => {
  const name = await toolOf(slow, "count");
  const post = async (method: string, params: object, headers: object = {}): Promise<Response> =>
    await fetch(`${server.origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const clientInfo = { name: "task-client", version: "1.0.0" };
  const begun = await post("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  const started = await post("tools/call", { name, arguments: { ms: 60_000 }, task: { ttl: 120_000 } }, session);
  assert.match(await started.text(), /"taskId"/);
  await using console = await server.open("/tasks");
  const { page: tab } = console;
  const row = tab.getByRole("region", { name: "Tasks" }).locator("tbody tr").first();
  await row.filter({ hasText: "working" }).waitFor();
  assert.match(await row.innerText(), /count/);
  await console.check("tasks-light-1440");
  await row.getByRole("button", { name: "Cancel" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Cancel the task" }).click();
  await row.filter({ hasText: "cancelled" }).waitFor();
  assert.equal(await row.getByRole("button", { name: "Cancel" }).count(), 0);
});

test("the outbox is empty when all is delivered, and the doctor explains what occurred", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/outbox", { theme, width });
    await console.page.getByText("Nothing is waiting").waitFor();
    await console.check(`outbox-${theme}-${width}`);
    await console.page.getByRole("link", { name: "Doctor" }).click();
    await console.page.locator(".findings, .calm").first().waitFor();
    await console.check(`doctor-${theme}-${width}`);
  }
});
