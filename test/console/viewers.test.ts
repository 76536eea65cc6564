// Using actors as any user in a real browser: actors that have not started, and the playground as any user.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

const start = (): Promise<ConsoleFixture> => ConsoleFixture.start({ modules: ["test/console/notebook.ts"] });

test("in an empty server actors are opened, called and begun", async () => {
  await using server = await start();
  await using opened = await server.open("/actors");
  const { page } = opened;
  await page.getByText("No actors yet").waitFor();
  await opened.check("actors-none-light");

  await page.getByRole("link", { name: "lobby/main" }).click();
  await page.getByText("There is no such actor yet.").waitFor();
  await page.getByRole("button", { name: /^leave/ }).click();
  await page
    .getByText(/No one is here/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: /^enter/ }).click();
  await opened.check("actor-not-begun-light");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("Visit 1.").waitFor();
  await page.getByText("It has begun.").waitFor();
  await opened.check("actor-begun-light");
  await page.getByRole("button", { name: "Show its state and history" }).click();
  await page.getByRole("tab", { name: "State" }).waitFor();

  // A key that was never called, and that no search finds.
  await page.goto(`${server.origin}/console/actors?search=ann`);
  await page.getByText("No actor matches").waitFor();
  await page.getByRole("form", { name: "Open an actor" }).getByLabel("Kind").selectOption("notebook");
  await page.getByRole("form", { name: "Open an actor" }).getByLabel("Key").fill("ann");
  await page.keyboard.press("Enter");
  await page.waitForURL(/actors\/notebook\/ann/);
  await page.getByText("There is no such actor yet.").waitFor();
  await using narrow = await server.open("/actors/notebook/ann", { theme: "dark", width: 360 });
  await narrow.check("actor-not-begun-dark-360");
  // Reading starts no actor.
  assert.equal((await fetch(`${server.origin}/console/api/actors/notebook/ann`, { headers: auth(server) })).status, 404);

  await page.goto(`${server.origin}/console/actors/nothing/main`);
  await page.getByText("No module that is served defines the kind nothing.").waitFor();
  await opened.check("actor-no-kind");
});

const auth = ({ token }: ConsoleFixture) => ({ authorization: `Bearer ${token}` });

const connected = async ({ page }: ConsolePage, as: string): Promise<void> =>
  await page.locator(".connection-state").filter({ hasText: as }).filter({ hasText: "connected" }).waitFor();

async function write({ page }: ConsolePage, expected: string): Promise<void> {
  await page.getByLabel(/^line/).fill("hello");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").first().filter({ hasText: expected }).waitFor();
}

test("the playground acts as any user in both eras, with scopes and claims, and a link restores the user", async () => {
  await using server = await start();
  await using opened = await server.open("/playground?tool=write");
  const { page } = opened;
  await connected(opened, "connected");
  await page.getByLabel("Connect as").selectOption("viewer");
  await page.getByLabel("As principal").fill("ann");
  await page.getByRole("button", { name: "Connect as ann" }).click();
  await connected(opened, "as ann");
  await opened.check("playground-viewer-light");
  await write(opened, "Line 1 of ann.");
  // Without the claim it is disabled, and without the scope it is refused.
  assert.equal(
    await page
      .locator(".offers-list")
      .getByRole("link", { name: /^publish/ })
      .count(),
    1,
  );
  await page.getByRole("link", { name: /^erase/ }).click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").first().filter({ hasText: /scope/i }).waitFor();
  await page.getByRole("textbox", { name: "Scopes" }).fill("admin");
  await page.getByRole("textbox", { name: "Claims of its token" }).fill('{"role":"editor"}');
  await page.getByRole("button", { name: "Connect as ann" }).click();
  await connected(opened, "as ann");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").first().filter({ hasText: "ok" }).waitFor();
  await page.getByRole("link", { name: /^publish/ }).click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").first().filter({ hasText: "Published." }).waitFor();

  // Sessions too; and the choice stays while other pages are open.
  await page.locator(".connection").getByLabel("Protocol").selectOption("2025-11-25");
  await connected(opened, "as ann");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Actors" }).click();
  await page.getByRole("link", { name: "notebook/ann" }).waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Playground" }).click();
  await page.waitForURL(/as=ann/);
  assert.equal(await page.getByLabel("As principal").inputValue(), "ann");
  await page.getByRole("link", { name: /^write/ }).click();
  await write(opened, "Line 1 of ann.");

  // From an actor's offers for a user to acting as that user.
  await page.goto(`${server.origin}/console/actors/notebook/cy?as=cy&scopes=admin`);
  await page.getByRole("link", { name: "Playground as this user" }).click();
  await page.waitForURL(/by=viewer&as=cy&scopes=admin/);
  await connected(opened, "as cy");

  await using other = await server.open("/playground?by=viewer&as=bo&tool=write", { theme: "dark", width: 360 });
  await connected(other, "as bo");
  await write(other, "Line 1 of bo.");
  await other.check("playground-viewer-dark-360");
});
