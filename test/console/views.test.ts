// Views that are saved under a name, and traffic that is saved as a file and opened elsewhere, in a real browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

const start = (): Promise<ConsoleFixture> => ConsoleFixture.start({ modules: ["test/console/workshop.ts"] });

async function saveView({ page }: ConsolePage, title: string): Promise<void> {
  await page.getByRole("button", { name: /^Views/ }).click();
  await page.getByLabel("Name of the view that is open").fill(title);
  await page.getByRole("button", { name: "Save this view" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test("views of actors, traffic and a history are saved, found in the palette, and removed", async () => {
  await using server = await start();
  const client = await server.connect();
  await client.callTool({ name: "put", arguments: { box: "nails" } });
  await using opened = await server.open("/actors?status=live&search=shop");
  const { page } = opened;
  await page.getByRole("link", { name: "workshop/main" }).waitFor();
  await saveView(opened, "Live shops");
  await page.goto(`${server.origin}/console/traffic?method=tools%2Fcall&open=1`);
  await page.getByLabel(/^Method/).waitFor();
  await saveView(opened, "Calls");
  await page.goto(`${server.origin}/console/actors/workshop/main?tab=history&type=tools%2Fput`);
  await page.getByLabel("Type of event").waitFor();
  await saveView(opened, "What was put");

  // They remain when the page is reloaded; each page lists its own.
  await page.goto(`${server.origin}/console/actors`);
  await page.getByRole("button", { name: "Views (1) …" }).click();
  assert.equal(await page.getByRole("dialog").getByRole("link").count(), 1);
  await opened.check("views-light-1440");
  await page.getByRole("dialog").getByRole("link", { name: "Live shops" }).click();
  await page.waitForURL(/\/actors\?status=live&search=shop$/);
  const open = async (title: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /Search pages/ }).fill(title);
    await page.getByRole("option", { selected: true }).filter({ hasText: title }).waitFor();
    await page.keyboard.press("Enter");
  };
  await open("What was put");
  await page.waitForURL(/\/actors\/workshop\/main\?tab=history&type=tools%2Fput$/);
  await open("Calls");
  // Which message was open is not part of the view.
  await page.waitForURL(/\/traffic\?method=tools%2Fcall$/);
  await page.getByRole("button", { name: "Views (1) …" }).click();
  await page.getByRole("button", { name: "Remove the view Calls" }).click();
  await page.getByRole("dialog").getByRole("link").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Views …" }).waitFor();
});

test("traffic is saved as a file with all messages, and opened where it is only read", async () => {
  await using server = await start();
  const client = await server.connect("recorded-client");
  await client.callTool({ name: "put", arguments: { box: "<b>nails</b>", pieces: 3 } });
  await client.callTool({ name: "take", arguments: { box: "nails", pieces: 99 } });
  await using opened = await server.open("/traffic");
  const { page } = opened;
  const files: Promise<string>[] = [];
  page.on("download", (download) => files.push(download.path()));
  await page.getByLabel(/^Method/).selectOption("tools/call");
  await page.getByRole("button", { name: /tools\/call take/ }).waitFor();
  await page.getByRole("button", { name: "Save …" }).click();
  await page.waitForFunction("true");
  await page.getByRole("button", { name: "Save …" }).waitFor();
  for (; files.length === 0;) await page.evaluate("new Promise((done) => setTimeout(done, 50))");
  const [path = ""] = await Promise.all(files);
  const text = readFileSync(path, "utf8");
  const { troupeTraffic, server: from, items } = Object(JSON.parse(text));
  assert.deepEqual([troupeTraffic, from.split(" ")[0], items.length], [1, "workshop", 2]);
  assert.match(text, /<b>nails<\/b>/);

  // On another server, with other traffic.
  await using other = await ConsoleFixture.start({ modules: ["test/console/notebook.ts"] });
  await using elsewhere = await other.open("/traffic", { theme: "dark" });
  const give = async (name: string, contents: string): Promise<void> =>
    await elsewhere.page.locator("input[type=file]").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(contents) });
  for (const wrong of ["", "[]", '{"troupeTraffic":1,"items":[{"n":1}]}', '{"troupeTraffic":2,"items":[]}']) {
    await give("wrong.json", wrong);
    await elsewhere.page
      .locator(".toast")
      .last()
      .filter({ hasText: /That file (has no traffic|is damaged|was saved by a newer)/ })
      .waitFor();
  }
  await give("bug-7.json", text);
  await elsewhere.page.getByText("bug-7.json").waitFor();
  await elsewhere.page.getByRole("button", { name: /tools\/call put/ }).click();
  await elsewhere.page.getByRole("complementary", { name: "Request" }).getByText("recorded-client 1.0.0").first().waitFor();
  await elsewhere.check("traffic-file-dark-1440");
  await elsewhere.page.getByRole("searchbox").fill("TOO_FEW");
  await elsewhere.page.getByRole("button", { name: /tools\/call put/ }).waitFor({ state: "detached" });
  await elsewhere.page.getByRole("button", { name: "Close the file" }).click();
  await elsewhere.page.getByRole("button", { name: "Save …" }).waitFor();
});
