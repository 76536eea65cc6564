// The console's page of queries in SQL on a real server, in a real browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as z from "zod";
import { csvOf, uniqueNames } from "../../console/src/pages/query/csv.ts";
import { EXAMPLES } from "../../console/src/pages/query/examples.ts";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

let server: ConsoleFixture;

const LOOKS = [
  ["light", 1440],
  ["dark", 360],
] as const;

const rows = z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) });

/** Replaces the query. */
async function write({ page }: ConsolePage, sql: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(sql);
}

before(async () => {
  server = await ConsoleFixture.start({ modules: ["test/console/delivery.ts"], args: ["--as", "rosa"] });
  const client = await server.connect();
  const { tools } = await client.listTools();
  const order = tools.find(({ name }) => name.endsWith("order"));
  assert.ok(order !== undefined);
  await client.callTool({ name: order.name, arguments: { item: "torch" } });
});
after(() => server[Symbol.asyncDispose]());

test("rows become CSV, and columns of one name get different ones", () => {
  const names = uniqueNames(["n", "n", "n 2", "text"]);
  assert.deepEqual(names, ["n", "n 2", "n 2 2", "text"]);
  assert.equal(
    csvOf(
      ["n", "text"],
      [
        [1, 'a "b", c'],
        [null, "line\nline"],
      ],
    ),
    'n,text\r\n1,"a ""b"", c"\r\n,"line\nline"\r\n',
  );
});

test("the examples run", async () => {
  for (const { title, sql } of EXAMPLES) {
    const { columns } = await server.api("/sql", rows, { sql });
    assert.ok(columns.length > 1, title);
  }
});

test("a query runs with the keyboard, its rows link to actors, and its address reopens it", async () => {
  for (const [theme, width] of LOOKS) {
    await using console = await server.open("/query", { theme, width });
    const { page } = console;
    await write(console, "SELECT id, kind, status, updated_at, state FROM actors ORDER BY id");
    await page.keyboard.press("Control+Enter");
    const table = page.getByRole("region", { name: "Rows" });
    await table.locator("tbody tr").first().waitFor();
    await page.waitForURL(/\/query\?sql=SELECT/);
    assert.match(await page.getByRole("region", { name: "Result" }).innerText(), /\d+ rows? in /);
    await console.check(`query-${theme}-${width}`);
    await table.getByRole("button", { name: "Row 1" }).click();
    const panel = page.getByRole("complementary", { name: "The row in full" });
    assert.match(await panel.innerText(), /state/i);
    await console.check(`query-row-${theme}-${width}`);
    await page.keyboard.press("Escape");
    await page.reload();
    await table.locator("tbody tr").first().waitFor();
    await table.getByRole("link").first().click();
    await page.waitForURL(/\/actors\/\w+\//);
  }
});

test("an error is displayed at its place, and an endless query can be cancelled", async () => {
  await using console = await server.open("/query");
  const { page } = console;
  const editor = page.locator(".cm-content");
  await write(console, "SELECT id FORM actors");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText(/near "actors": syntax error, at line 1, column 16/).waitFor();
  await console.check("query-error");
  await page.keyboard.type("x");
  assert.equal(await editor.innerText(), "SELECT id FORM x");
  await write(console, "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await write(console, "DELETE FROM actors");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText("Only SELECT is available here").waitFor();
});

test("views, examples, saved queries and history fill in the query", async () => {
  await using console = await server.open("/query", { theme: "dark" });
  const { page } = console;
  const editor = page.locator(".cm-content");
  await write(console, "SELECT count(*) FROM ");
  const side = page.getByRole("complementary", { name: "Views, examples and queries" });
  await side.getByText("letters", { exact: true }).click();
  await console.check("query-views-dark");
  await side.getByRole("button", { name: "Insert letters" }).click();
  await editor.filter({ hasText: "letters" }).waitFor();
  assert.equal(await editor.innerText(), "SELECT count(*) FROM letters");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByRole("region", { name: "Rows" }).waitFor();
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByLabel("Name of the query").fill("My letters");
  await page.keyboard.press("Enter");
  await side.getByRole("tab", { name: "Examples" }).click();
  await side.getByRole("button", { name: "Largest states that are stored" }).click();
  await editor.filter({ hasText: "octet_length" }).waitFor();
  await side.getByRole("tab", { name: "Saved" }).click();
  await side.getByRole("button", { name: "My letters", exact: true }).click();
  await editor.filter({ hasText: "letters" }).waitFor();
  assert.equal(await editor.innerText(), "SELECT count(*) FROM letters");
  await side.getByRole("tab", { name: "History" }).click();
  await side.getByRole("button", { name: "SELECT count(*) FROM letters" }).waitFor();
});
