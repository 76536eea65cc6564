import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsolePage, ConsoleFixture } from "./console.fixture.ts";

/** A desk with incidents of severities 1, 2 and 3, in turn. */
async function desk(incidents: number): Promise<ConsoleFixture> {
  const at = await ConsoleFixture.start({ modules: ["examples/incident-desk"] });
  const client = await at.connect();
  for (let n = 0; n < incidents; n += 1)
    await client.callTool({ name: "report", arguments: { title: `Incident ${n + 1}`, severity: (n % 3) + 1 } });
  return at;
}

const rowsOf = async ({ page }: ConsolePage): Promise<readonly string[]> => await page.locator("main tbody .id").allInnerTexts();

test("actors are found by id, kind, status and index, and many are stopped at once", async () => {
  await using at = await desk(7);
  await using opened = await at.open("/actors");
  const { page } = opened;
  await page.getByRole("link", { name: "incident/INC-7" }).waitFor();
  assert.ok((await rowsOf(opened)).includes("desk/main"));
  await opened.check("actors-light-1440");

  await page.getByLabel("Search ids").fill("inc-3");
  await page.getByText("1 row", { exact: true }).waitFor();
  assert.deepEqual(await rowsOf(opened), ["incident/INC-3"]);
  assert.match(page.url(), /[?&]search=inc-3/);
  await page.getByRole("button", { name: "Clear", exact: true }).click();

  await page.getByLabel("Kind").selectOption("incident");
  await page.getByText("7 rows").waitFor();
  await page.getByLabel("By contents").selectOption("incidents-open");
  await page.getByRole("columnheader", { name: "severity" }).waitFor();
  await page.getByRole("button", { name: "Add a condition" }).click();
  await page.getByLabel("Field").selectOption("severity");
  await page.getByLabel("Condition on severity", { exact: true }).selectOption("gte");
  await page.getByLabel("Value of severity", { exact: true }).fill("2");
  await page.getByText("4 rows").waitFor();
  assert.deepEqual((await rowsOf(opened)).toSorted(), ["incident/INC-2", "incident/INC-3", "incident/INC-5", "incident/INC-6"]);
  await page.getByLabel(/Order by severity/).selectOption("desc");
  await page
    .locator("main tbody .id")
    .first()
    .filter({ hasText: /INC-[36]$/ })
    .waitFor();
  await opened.check("actors-index-light-1440");

  // A link opens the same rows.
  await using again = await at.open(new URL(page.url()).pathname.replace("/console", "") + new URL(page.url()).search, {
    theme: "dark",
    width: 360,
  });
  await again.page.getByText("4 rows").waitFor();
  await again.check("actors-index-dark-360");

  await page.getByRole("checkbox", { name: /INC-2$/ }).check();
  await page.getByRole("checkbox", { name: /INC-5$/ }).check();
  await page.getByRole("region", { name: "Operations on the selected actors" }).getByRole("button", { name: "Stop" }).click();
  await opened.check("actors-stop-light-1440");
  await page.getByRole("dialog").getByLabel("Reason, for their last events").fill("by mistake");
  await page.getByRole("dialog").getByRole("button", { name: "Stop 2 actors" }).click();
  await page.getByText("2 stopped.").waitFor();
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await page.getByLabel("Status").selectOption("stopped");
  // Two others were listed before.
  await page
    .locator("main tbody .id")
    .nth(1)
    .filter({ hasText: /INC-5$/ })
    .waitFor();
  await page.getByText("2 rows").waitFor();
  assert.deepEqual(await rowsOf(opened), ["incident/INC-2", "incident/INC-5"]);
});

test("an actor's page states why an offer is disabled for a viewer, and calls it", async () => {
  await using at = await desk(1);
  await using opened = await at.open("/actors/incident/INC-1");
  const { page } = opened;
  await page.getByRole("tab", { name: "Tools and access" }).click();
  // Typed key by key: none is lost while the offers update.
  await page.getByLabel("As principal").focus();
  await page.keyboard.type("bob");
  await page.getByLabel("Search tools, resources and prompts").fill("acknow");
  const panel = page.getByRole("region", { name: "acknowledge", exact: true });
  await panel.getByText("Off for bob: Only responders may do this.").waitFor();
  await panel.getByText('By its rule "allow"').waitFor();
  await opened.check("offers-off-light-1440");
  await using narrow = await at.open(new URL(page.url()).pathname.replace("/console", "") + new URL(page.url()).search, {
    theme: "dark",
    width: 360,
  });
  await narrow.page.getByText("Off for bob: Only responders may do this.").waitFor();
  await narrow.check("offers-off-dark-360");

  await panel.getByRole("button", { name: "Call anyway" }).click();
  await panel.getByText("refused: NOT_NOW").waitFor();
  await page.getByLabel("Claims of its token").fill('{"roles":["responder"]}');
  await panel.getByText("on", { exact: true }).waitFor();
  await panel.getByRole("button", { name: "Call", exact: true }).click();
  await panel.getByText("Acknowledged.", { exact: true }).waitFor();
  await panel.getByRole("heading", { name: "Events it caused" }).waitFor();
  // The reply came with a later event: all events of the call are listed.
  await panel.getByText("tools/acknowledge", { exact: true }).waitFor();
  await panel.getByText("Off for bob: The incident is acknowledged.").waitFor();
  await panel.getByText('By its rule "enabled"').waitFor();
  await panel.getByText("The same call with").click();
  const snippet = panel.locator("pre");
  assert.match(await snippet.innerText(), /curl .*\/console\/api\/actors\/incident\/INC-1\/call/);
  await panel.getByRole("button", { name: "CLI" }).click();
  assert.match(await snippet.innerText(), /troupe call incident\/INC-1 tools\/acknowledge[\s\S]+--as bob[\s\S]+--claim roles=responder/);
  await panel.getByRole("button", { name: "TypeScript" }).click();
  assert.match(await snippet.innerText(), /client\.callTool\(\{ name: "acknowledge"/);
  await opened.check("offers-called-light-1440");

  // A form with its errors, and the event of a call.
  await page.getByLabel("Search tools, resources and prompts").fill("comment");
  const comment = page.getByRole("region", { name: "comment", exact: true });
  await comment.getByRole("button", { name: "Call", exact: true }).click();
  await comment.getByText("Required.").waitFor();
  await comment.getByRole("textbox", { name: /^text/ }).fill("<b>seen</b>");
  await comment.getByRole("textbox", { name: /^text/ }).press("Control+Enter");
  await comment.getByText("done", { exact: true }).waitFor();
  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("treeitem", { name: /text: "<b>seen<\/b>"/ }).waitFor();
});

test("a tool's question is answered on the actor's page, and the call goes on", async () => {
  await using at = await desk(1);
  await using opened = await at.open("/actors/incident/INC-1?tab=offers");
  const { page } = opened;
  await page.getByLabel("As principal").fill("bob");
  await page.getByLabel("Claims of its token").fill('{"roles":["responder"]}');
  const call = async (tool: string): Promise<void> => {
    await page.getByLabel("Search tools, resources and prompts").fill(tool);
    const panel = page.getByRole("region", { name: tool, exact: true });
    await panel.getByText("on", { exact: true }).waitFor();
    await panel.getByRole("button", { name: "Call", exact: true }).click();
  };
  await call("acknowledge");
  await page.getByText("Acknowledged.", { exact: true }).waitFor();
  await call("resolve");
  const question = page.getByRole("dialog");
  await question.getByText('Resolve "Incident 1"?').waitFor();
  await opened.check("question-light-1440");
  await question.getByRole("button", { name: "Decline" }).click();
  await page.getByText(/^refused: /).waitFor();
  await call("resolve");
  await question.getByRole("combobox", { name: "confirm" }).selectOption("true");
  await question.getByRole("button", { name: "Answer" }).click();
  await page.getByText("done", { exact: true }).waitFor();
  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("treeitem", { name: /status: "resolved"/ }).waitFor();
});

test("an actor's latest events link to their causes, across actors", async () => {
  await using at = await desk(1);
  await using opened = await at.open("/actors/incident/INC-1?tab=causes");
  const { page } = opened;
  const graph = page.getByRole("region", { name: /^Causes of / });
  await graph.getByText("Started by").waitFor();
  await graph.getByText("on 2 actors").waitFor();
  await opened.check("causes-tab-light-1440");
  await page.getByRole("region", { name: "Latest events" }).getByRole("button").last().click();
  await page.waitForURL(/of=[0-9a-f]{64}/);
  await graph.waitFor();
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("link", { name: "Causes of event 1" }).click();
  await graph.getByText("Started by").waitFor();
  await opened.check("causes-tab-first-light-1440");
  await using dark = await at.open("/actors/incident/INC-1?tab=causes", { theme: "dark", width: 360 });
  await dark.page.getByRole("region", { name: /^Causes of / }).waitFor();
  await dark.check("causes-tab-dark-360");
});

test("an actor's state follows its changes, is searched with the keyboard, and edited with a reason", async () => {
  await using at = await desk(1);
  await using opened = await at.open("/actors/incident/INC-1");
  const { page } = opened;
  const tree = page.getByRole("tree", { name: "the state" });
  await tree.getByRole("treeitem", { name: /severity: 1/ }).waitFor();
  const client = await at.connect();
  await client.callTool({ name: "incident__comment", arguments: { incident: "INC-1", text: "Live" } });
  await tree.getByRole("treeitem", { name: /text: "Live"/ }).waitFor();
  assert.ok((await tree.locator("li.changed").count()) > 0);
  await opened.check("state-light-1440");

  await tree.getByRole("treeitem").first().focus();
  await page.keyboard.press("ArrowLeft");
  const title = tree.getByRole("treeitem", { name: /title/ });
  await title.waitFor({ state: "detached" });
  await page.keyboard.press("ArrowRight");
  await title.waitFor();
  await page.keyboard.press("ArrowDown");
  await page.locator("li:focus").filter({ hasText: "title" }).waitFor();
  await page.getByLabel("Search in the state").fill("live");
  await tree.getByRole("treeitem", { name: /text: "Live"/ }).waitFor();
  assert.equal(await tree.getByText("severity").count(), 0);

  await page.getByRole("button", { name: "Edit …" }).click();
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("ControlOrMeta+A");
  const state = { title: "No lights at all", severity: 3, status: "open", reporter: "rita", comments: [] };
  await page.keyboard.type(JSON.stringify({ ...state, severity: "high" }));
  await page.getByLabel("Reason, for its history").fill("It was reported twice");
  const write = async (): Promise<void> => {
    await page.getByRole("button", { name: "Write the edit …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Write the edit" }).click();
  };
  await write();
  await page.getByRole("alert").getByText("severity").waitFor();
  await editor.locator(".cm-misfit").getByText("high").waitFor();
  await opened.check("edit-misfit-light-1440");
  await editor.click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(JSON.stringify(state));
  await page.getByRole("region", { name: "What changes" }).getByText("No lights at all").waitFor();
  await opened.check("edit-light-1440");
  await write();
  await tree.getByRole("treeitem", { name: /title: "No lights at all"/ }).waitFor();
  await using dark = await at.open("/actors/incident/INC-1", { theme: "dark", width: 360 });
  await dark.page.getByRole("treeitem", { name: /No lights at all/ }).waitFor();
  await dark.check("state-dark-360");
});

test("an actor's relations link to others, and it is forked, restarted and stopped", async () => {
  await using at = await desk(1);
  await using opened = await at.open("/actors/incident/INC-1?tab=relations");
  const { page } = opened;
  await page.getByRole("region", { name: "Timers" }).getByText("unacknowledged").waitFor();
  await opened.check("relations-light-1440");
  await using dark = await at.open("/actors/incident/INC-1?tab=relations", { theme: "dark", width: 360 });
  await dark.page.getByRole("region", { name: "Timers" }).getByText("unacknowledged").waitFor();
  await dark.check("relations-dark-360");
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restart it" }).click();
  await page.getByText("incident/INC-1 was restarted.").waitFor();
  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByLabel("Key of the new incident").fill("50% of a/b");
  await page.getByRole("dialog").getByRole("button", { name: "Fork it" }).click();
  await page.getByRole("heading", { name: "50% of a/b" }).waitFor();
  await page.getByText("muted fork").waitFor();
  // Parameters in the address leave its key as it is.
  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("tab", { name: "Relations" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "50% of a/b" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("It is over");
  await page.getByRole("dialog").getByRole("button", { name: "Stop it" }).click();
  await page.getByText("stopped", { exact: true }).waitFor();
  await page.getByRole("navigation", { name: "Where this is" }).getByRole("link", { name: "Actors" }).click();
  await page.getByRole("link", { name: "incident/50% of a/b" }).waitFor();
});
