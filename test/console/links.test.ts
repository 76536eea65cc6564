// From requests to events and back, why an offer is disabled, reverting a mistake, and searching everything, in a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { ConsoleFixture } from "./console.fixture.ts";

const Token = z.object({ token: z.string() });
const SAM = { principal: "sam", scopes: [], claims: { roles: ["responder"] } };

test("a reader finds the client behind an event and the reason for a refusal, and reverts a mistake", { timeout: 120_000 }, async () => {
  await using server = await ConsoleFixture.start({ modules: ["examples/incident-desk"] });
  const clientOf = async (name: string, viewer: object) => {
    const { token } = await server.api("/viewer-tokens", Token, viewer);
    return await server.connect(name, { authorization: `Bearer ${token}` });
  };
  const ben = await clientOf("ben-client", { principal: "ben", scopes: [] });
  const sam = await clientOf("pager", SAM);
  await ben.callTool({ name: "desk__report", arguments: { title: "The torch is lost", severity: 2 } }).catch(() => undefined);
  const { tools } = await ben.listTools();
  const tool = (end: string): string => tools.find(({ name }) => name.endsWith(end))?.name ?? end;
  await ben.callTool({ name: tool("report"), arguments: { title: "No light", severity: 2 } });
  const incident = "INC-1";
  await sam.callTool({ name: tool("acknowledge"), arguments: { incident } });
  await ben.callTool({ name: tool("comment"), arguments: { incident, text: "by mistake" } });

  // An event links to its request and client, and those link back to it.
  await using opened = await server.open(`/actors/incident/${incident}?tab=history`);
  const { page } = opened;
  const moment = page.getByRole("region", { name: "The event, and the state after it" });
  await moment.getByText("ben-client").waitFor();
  await opened.check("links-event-light-1440");

  // The reply came with a later event; the first event links to the request too.
  await page.goto(`${server.origin}/console/actors/incident/${incident}?tab=history&at=3`);
  await moment.getByRole("heading", { name: /tools\/acknowledge/ }).waitFor();
  await moment.getByText("pager").waitFor();
  await moment.getByText("Deferred: a later event of this actor sends it.").waitFor();
  await page.goto(`${server.origin}/console/actors/incident/${incident}?tab=history`);

  // Revert: what is dropped, what changes, and what is missing. Nothing follows the newest event.
  await moment.locator("button:disabled").filter({ hasText: "Revert to here" }).waitFor();
  await moment.getByRole("button", { name: "Revert to before it" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Give a reason").waitFor();
  await dialog
    .locator("button:disabled")
    .filter({ hasText: /^Revert to event \d/ })
    .waitFor();
  await dialog.getByText(/by mistake/).waitFor();
  await opened.check("links-revert-light-1440");
  await dialog.getByLabel("Reason").fill("The comment was a mistake");
  await dialog.getByRole("button", { name: /^Revert to event/ }).click();
  const first = page.locator("section.events tbody tr").first();
  await first.getByText("“The comment was a mistake”").waitFor();
  const text = await first.innerText();
  assert.match(text, /revert/);
  assert.match(text, /operator/);
  assert.equal(text.split("The comment was a mistake").length, 2, text);
  assert.doesNotMatch(text, /[0-9a-f]{20}/);

  await page.locator("section.events tbody tr").nth(1).click();
  await moment.getByRole("link", { name: /^tools\/call/ }).click();
  const request = page.getByRole("complementary", { name: "Request" });
  await request.getByRole("heading", { name: "Events it caused" }).waitFor();
  await opened.check("links-request-light-1440");
  await page.getByLabel("Principal").selectOption("sam");
  await page
    .getByLabel(/^Client/)
    .locator("option")
    .nth(2)
    .waitFor({ state: "attached" });
  await request.getByRole("link", { name: /^event \d+/ }).click();
  await page.waitForURL(/tab=history&at=/);

  // Why is it disabled for ben, with ben's actual scopes?
  await page.goto(`${server.origin}/console/actors/incident/${incident}?tab=offers&offer=tools%2Facknowledge`);
  await page.getByRole("group", { name: "Principals seen here" }).getByRole("button", { name: "ben" }).click();
  await page.getByText("it needs the role responder").first().waitFor();
  await page.getByText("With the scopes and claims with which ben called last. It has no role here.").waitFor();
  await opened.check("links-why-light-1440");
  await page.getByRole("button", { name: "sam", exact: true }).click();
  await page.getByText("Its roles here: responder.").waitFor();
  await page.getByLabel("As principal").fill("zoe");
  await page.getByText("The server has not seen zoe call").waitFor();
  await page.locator(".call-bar select").selectOption("operator");
  await page.getByRole("button", { name: /as operator$/ }).waitFor();

  // What does a client see?
  await page.goto(`${server.origin}/console/sessions`);
  await page.getByRole("row").filter({ hasText: "pager" }).getByRole("link", { name: "what it sees" }).click();
  await page.waitForURL(/tab=offers&as=sam/);

  // Everything is searched.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Search pages/ }).fill("no light");
  await page.getByRole("option", { name: /Search events and states/ }).click();
  await page.waitForURL(/\/search\?text=no\+light|\/search\?text=no%20light/);
  const found = page.getByRole("region", { name: "What was found" });
  await found
    .getByRole("row")
    .filter({ hasText: `incident/${incident}` })
    .first()
    .waitFor();
  await found.locator("mark").first().waitFor();
  await opened.check("links-search-light-1440");
  await page.getByRole("link", { name: "Show query" }).click();
  await page
    .getByRole("cell", { name: `incident/${incident}` })
    .first()
    .waitFor();
  await using narrow = await server.open(`/actors/incident/${incident}?tab=history`, { theme: "dark", width: 360 });
  await narrow.check("links-event-dark-360");
});
