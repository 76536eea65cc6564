// From what needs attention to what explains it: crashes, calls that run long, and clients that wait for them, in a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { ConsoleFixture } from "./console.fixture.ts";

const Page = z.object({ items: z.array(z.unknown()) });

async function call(client: Client, end: string, args: Readonly<Record<string, unknown>>, onprogress?: () => void): Promise<void> {
  const { tools } = await client.listTools();
  const name = tools.find((tool) => tool.name.endsWith(end))?.name ?? end;
  await client.callTool({ name, arguments: { ...args } }, onprogress === undefined ? {} : { onprogress });
}

test("an operator is led from crashes and slow calls to their causes", { timeout: 180_000 }, async () => {
  await using server = await ConsoleFixture.start({ modules: ["test/console/delivery.ts"] });
  const slow = await server.connect("nightly-report");
  const quick = await server.connect("front-desk");
  await call(quick, "order", { item: "torch" });
  for (let n = 0; n < 3; n += 1) {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const long = call(slow, "count", { ms: 1_300 }, begin);
    await begun;
    await Promise.all([long, call(quick, "count", { ms: 0 })]);
  }
  for (const end = Date.now() + 60_000; (await server.api("/letters", Page)).items.length === 0;) {
    assert.ok(Date.now() < end, "no dead letter");
    await new Promise((later) => setTimeout(later, 50));
  }

  await using console = await server.open("/");
  const { page } = console;
  await page.getByText(/Calls of \S*count by nightly-report \S+ run up to 1\.\d s \(p95 of 3 calls/).waitFor();
  await console.check("findings-light-1440");
  await page.getByRole("link", { name: /^Open: printer\/main crashed in print: .*The paper jams at <b>torch<\/b>/ }).click();
  const log = page.getByRole("region", { name: "Log" }).locator("tbody tr");
  await log.filter({ hasText: "The paper jams" }).first().waitFor();
  // Three crashes, and the dead letter.
  assert.equal(await log.count(), 4);
  await log.first().getByRole("link", { name: "printer/main" }).click();
  const failed = page.getByRole("region", { name: "Its start failed" });
  await failed.getByText(/3 faults since the server started/).waitFor();
  assert.match(await failed.innerText(), /The paper jams at <b>torch<\/b>/);
  await console.check("failed-start-light-1440");
  await failed.getByRole("link", { name: "Dead letters" }).click();
  const letter = page.getByRole("region", { name: "Dead letters" }).locator("tbody tr").first();
  await letter.getByText(/by front-desk/).waitFor();
  await console.check("letters-caused-light-1440");
  await page.getByRole("link", { name: "Outbox" }).click();
  await page.getByText("Some could not be delivered").waitFor();

  await page.getByRole("link", { name: "Sessions" }).click();
  const sessions = page.getByRole("region", { name: "Sessions" }).locator("tbody tr");
  await sessions.filter({ hasText: "nightly-report" }).getByText("slow", { exact: true }).waitFor();
  await console.check("sessions-waited-light-1440");
  await page.getByRole("link", { name: "Traffic" }).click();
  const waited = page
    .getByRole("region", { name: "Requests" })
    .locator("tbody tr")
    .filter({ hasText: /front-desk[\s\S]*waited 1\.\d s of/ });
  await waited.first().waitFor();
  assert.match(await waited.first().innerText(), /shop\/main/);

  await using narrow = await server.open("/actors/printer/main", { theme: "dark", width: 360 });
  await narrow.page.getByRole("region", { name: "Its start failed" }).waitFor();
  await narrow.check("failed-start-dark-360");
});
