// The history of an actor, one event, and causes, in a real browser against a real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as z from "zod";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

const EventIds = z.object({ items: z.array(z.object({ id: z.string(), seq: z.number(), type: z.string() })) });
const ACTOR = "/actors/hall/main";
const NOTES = 70;

let fixture: ConsoleFixture;

before(async () => {
  fixture = await ConsoleFixture.start({ modules: ["test/console/torch"], args: ["--as", "ana"] });
  const client = await fixture.connect();
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<void> => {
    const { isError } = await client.callTool({ name, arguments: args });
    assert.ok(isError !== true, name);
  };
  await call("open");
  for (let at = 0; at < NOTES; at += 1) await call("note", { text: `Note ${at}` });
  await call("take", { item: "torch" });
  await call("alarm");
});

after(async () => {
  await fixture[Symbol.asyncDispose]();
});

const newest = async (): Promise<{ readonly id: string; readonly seq: number; readonly type: string }> => {
  const { items } = await fixture.api(`${ACTOR}/events?order=desc&limit=1`, EventIds);
  assert.ok(items[0]);
  return items[0];
};

const shows = async ({ page }: ConsolePage, text: string | RegExp): Promise<void> => await page.getByText(text).first().waitFor();

test("a history shows who did what, and verifies its hashes in the page", async () => {
  await using tab = await fixture.open(`${ACTOR}?tab=history`);
  const { page } = tab;
  const { seq } = await newest();
  await shows(tab, "✓ verified");
  await shows(tab, `${seq} events, hashes computed in this page`);
  await tab.check("history-light-1440");

  // Who took the torch, and when?
  await page.getByLabel("Text", { exact: true }).fill("torch");
  await page
    .getByText(/Events \d+–\d+/)
    .first()
    .waitFor({ state: "detached" });
  const row = page.locator("section.events tbody tr");
  assert.equal(await row.count(), 1);
  assert.match(await row.innerText(), /tools\/take.*item: "torch"[\s\S]*ana[\s\S]*\d+:\d+:\d+/);
  await row.click();
  await page.getByRole("heading", { name: /^#\d+ tools\/take/ }).waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await row.nth(20).waitFor();
});

test("the time slider goes through all events, by keyboard, buttons and address", async () => {
  const { seq } = await newest();
  await using tab = await fixture.open(`${ACTOR}?tab=history&at=10&show=state`, { theme: "dark" });
  const { page } = tab;
  const slider = page.getByRole("slider", { name: "Event" });
  await slider.waitFor();
  assert.equal(await slider.inputValue(), "10");
  await shows(tab, "Note 8");
  await tab.check("history-dark-1440");
  await slider.focus();
  await slider.press("ArrowRight");
  assert.equal(await slider.inputValue(), "11");
  await page.waitForURL(/at=11/);
  await slider.press("End");
  await page.waitForURL(/^(?!.*at=)/);
  assert.equal(await slider.inputValue(), String(seq));
  await page.getByRole("button", { name: "Previous event" }).click();
  assert.equal(await slider.inputValue(), String(seq - 1));
  await page.getByRole("tab", { name: "Compared with now" }).click();
  await shows(tab, "alarms");
  await page.getByRole("button", { name: "First event" }).click();
  await page.waitForURL(/at=1(?:&|$)/);
  await page.getByRole("button", { name: "Play" }).click();
  await shows(tab, /Event [3-9] of/);
  await page.getByRole("button", { name: "Pause" }).click();
});

test("a narrow history has everything", async () => {
  await using tab = await fixture.open(`${ACTOR}?tab=history&at=20`, { theme: "dark", width: 360, height: 740 });
  const { page } = tab;
  await shows(tab, "✓ verified");
  await page.getByRole("heading", { name: "#20 tools/note" }).waitFor();
  await tab.check("history-dark-360");
});

test("a receipt is compared with the chain, and the server verifies, too", async () => {
  const { id, seq } = await newest();
  await using tab = await fixture.open(`${ACTOR}?tab=history`);
  const { page } = tab;
  await page.getByRole("button", { name: "Check a receipt" }).click();
  const field = page.getByLabel(/Receipt/);
  await field.fill(JSON.stringify({ _meta: { receipt: { actor: "hall/main", seq, head: id } } }));
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await shows(tab, "✓ as the receipt says");
  await field.fill(JSON.stringify({ actor: "hall/main", seq: seq - 1, head: id }));
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await shows(tab, "not as the receipt says");
  await page.getByRole("button", { name: "Verify on the server" }).click();
  await shows(tab, /by the server: \d+ events/);
  await page.getByRole("button", { name: /^Run \d+ events again/ }).click();
  await shows(tab, "with the same result each");
  await tab.check("history-verified");
});

test("an event's page has its caller, cause and changes, and checks its hashes", async () => {
  const { items } = await fixture.api(`${ACTOR}/events?type=tools/take`, EventIds);
  await using tab = await fixture.open(`/events/${items[0]?.id ?? ""}`);
  const { page } = tab;
  await shows(tab, "✓ hashes match");
  await shows(tab, "test-client 1.0.0");
  await shows(tab, '{item: "torch"}');
  await shows(tab, "holder");
  await tab.check("event-light-1440");
  await page.setViewportSize({ width: 360, height: 740 });
  await tab.check("event-light-360");
  await page.getByText("Header, as it was hashed").click();
  await shows(tab, '{"actor":"hall/main"');
  await page.getByRole("link", { name: "The state after it" }).click();
  await page.waitForURL(/tab=history.*at=/);
});

test("causes link a dead letter to the tool call that caused it", async () => {
  const { items } = await fixture.api(`${ACTOR}/events?type=tools/alarm`, EventIds);
  const path = `/events/${items[0]?.id ?? ""}/causes`;
  await using tab = await fixture.open(path);
  const { page } = tab;
  await shows(tab, "Started by");
  await shows(tab, "tool call alarm");
  const letters = page.getByRole("list", { name: "Dead letters" });
  await letters.waitFor();
  assert.match(await letters.innerText(), /ring to bell\/tower/);
  await tab.check("causes-sequence-light-1440");

  // One selection for all views.
  await letters.getByRole("button", { name: "ring" }).click();
  const detail = page.getByRole("complementary", { name: "The selected event" });
  await detail.getByText("Dead letter.").waitFor();
  assert.match(await detail.innerText(), /Caused by\s*tools\/alarm hall\/main/);
  await page.getByRole("tab", { name: "Graph" }).click();
  await page.locator("svg [data-node].selected.bad").waitFor();
  await tab.check("causes-graph-light-1440");
  await page.locator("svg [data-node].selected").focus();
  await page.keyboard.press("ArrowLeft");
  await detail.getByRole("heading", { name: "tools/alarm" }).waitFor();
  for (const key of ["+", "-", "0", "Shift+ArrowLeft"]) await page.keyboard.press(key);
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.locator(".timeline .step.selected").waitFor();
  await tab.check("causes-timeline-light-1440");
  await page.locator(".timeline .step.selected").focus();
  await page.keyboard.press("End");
  await detail.getByText("Dead letter.").waitFor();
  await page.getByText("The same as a table").click();
  await page.getByRole("region", { name: "Waits and durations" }).waitFor();
  await tab.check("causes-table");
});

test("causes fit a narrow, dark screen", async () => {
  const { items } = await fixture.api(`${ACTOR}/events?type=tools/alarm`, EventIds);
  for (const view of ["sequence", "graph", "timeline"]) {
    await using tab = await fixture.open(`/events/${items[0]?.id ?? ""}/causes?view=${view}`, { theme: "dark", width: 360, height: 740 });
    await shows(tab, "tool call alarm");
    await tab.page
      .locator(view === "graph" ? "svg [data-node]" : "[data-step]")
      .first()
      .waitFor();
    await tab.check(`causes-${view}-dark-360`);
  }
});

test("an actor is forked at an event, and reverted with a reason although it sent messages", async () => {
  const { seq } = await newest();
  await using tab = await fixture.open(`${ACTOR}?tab=history&at=${seq - 2}`);
  const { page } = tab;
  await page.getByRole("button", { name: "Fork here …" }).click();
  await page.getByLabel("Key of the new actor").fill("copy");
  await tab.check("fork");
  await page.getByRole("button", { name: "Fork", exact: true }).last().click();
  await page.waitForURL(/\/actors\/hall\/copy/);
  await shows(tab, "muted fork");
  await page.goBack();

  await page.getByRole("button", { name: "Revert to here …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/messages were sent since/).waitFor();
  const go = dialog.getByRole("button", { name: `Revert to event ${seq - 2}` });
  assert.equal(await go.isEnabled(), false);
  await dialog.getByLabel("Reason").fill("The alarm was a mistake");
  assert.equal(await go.isEnabled(), false);
  await dialog.getByLabel(/Revert although messages were sent/).check();
  await tab.check("revert");
  await go.click();
  await shows(tab, `hall/main is as it was at event ${seq - 2}.`);
  await shows(tab, "The alarm was a mistake");
  assert.equal((await newest()).seq, seq + 1);
});
