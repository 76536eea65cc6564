// The playground, the command palette and signing in, in a real browser on a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

const start = (): Promise<ConsoleFixture> => ConsoleFixture.start({ modules: ["test/console/workshop.ts"] });

/** Calls the open tool, and waits for its outcome. */
async function call({ page }: ConsolePage, expected: RegExp): Promise<void> {
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").first().filter({ hasText: expected }).waitFor();
}

async function connected({ page }: ConsolePage): Promise<void> {
  await page.locator(".connection-state").filter({ hasText: "connected" }).waitFor();
  await page.locator(".offers-list li").first().waitFor();
}

test("the playground calls tools in both eras: forms, results, questions, progress, tasks, lists that change", async () => {
  await using server = await start();
  await using opened = await server.open(`/playground?tool=put&args=${encodeURIComponent('{"box":"bolts"}')}`);
  const { page } = opened;
  await connected(opened);
  assert.equal(await page.getByLabel(/^box/).inputValue(), "bolts", "the link fills in the form");
  await call(opened, /ok[\s\S]*bolts/);
  await opened.check("playground-result");

  // An invalid form is not sent.
  await page.getByLabel(/^box/).fill("");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".mistake").first().waitFor();
  assert.equal(await page.locator(".results > *").count(), 1);

  // The server prompts the user, and the call goes on.
  await page
    .locator(".offers-list")
    .getByRole("link", { name: /^label/ })
    .click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^text/).fill("Screws");
  await dialog.getByLabel(/^size/).selectOption("1");
  await opened.check("playground-question");
  await dialog.getByRole("button", { name: "Answer" }).click();
  await page.locator(".result").first().filter({ hasText: "A large box for Screws." }).waitFor();

  // A long call becomes a task, and can be cancelled.
  await page.goto(`${server.origin}/console/playground?tool=build&args=${encodeURIComponent('{"steps":2,"ms":150}')}`);
  await connected(opened);
  await call(opened, /completed[\s\S]*Built in 2 steps/);
  await page.getByLabel(/^ms/).fill("60000");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").first().filter({ hasText: /Task/ }).waitFor();
  await page.locator(".result").first().getByRole("button", { name: "Cancel" }).click();
  await page.locator(".result").first().filter({ hasText: "cancelled" }).waitFor();

  // Content is text and images, never HTML.
  await page.goto(`${server.origin}/console/playground?tool=picture`);
  await connected(opened);
  await call(opened, /The workshop <b>today<\/b>/);
  assert.equal(await page.locator(".result b").count(), 0);
  await page.locator(".result img").waitFor();
  await page.locator(".result").getByRole("link", { name: "boxes" }).click();
  await page.waitForURL(/resource=workshop/);

  // Sessions: the same in the other era, with the raw messages.
  await page.goto(`${server.origin}/console/playground?tool=label`);
  await connected(opened);
  await page.getByLabel("Protocol").selectOption("2025-11-25");
  await page.locator(".wire-rows summary").filter({ hasText: "initialize" }).first().waitFor();
  await connected(opened);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await dialog.getByRole("button", { name: "Decline" }).click();
  await page.locator(".result").first().filter({ hasText: "The box stays without a label." }).waitFor();
  // Calls of another client change the list here.
  const other = await server.connect();
  await other.callTool({ name: "close", arguments: {} });
  await page.locator(".offers-list").getByRole("link", { name: /^put/ }).waitFor({ state: "detached" });
  await page.getByRole("tab", { name: /^Calls/ }).click();
  await page.locator(".wire .log").first().waitFor();
  await opened.check("playground-session");
});

test("the playground reads, completes and follows resources, gets prompts, and saves calls; dark and narrow", async () => {
  await using server = await start();
  await using opened = await server.open(`/playground?resource=${encodeURIComponent("workshop://boxes")}`, { theme: "dark", width: 360 });
  const { page } = opened;
  await connected(opened);
  await page.getByRole("button", { name: "Subscribe" }).click();
  await page.locator(".result").first().filter({ hasText: "nails" }).waitFor();
  const other = await server.connect();
  await other.callTool({ name: "put", arguments: { box: "rivets", pieces: 7 } });
  await page.locator(".result").first().filter({ hasText: "rivets" }).waitFor();
  await opened.check("playground-resource-narrow");

  await page.goto(`${server.origin}/console/playground?resource=${encodeURIComponent("workshop://box/{name}")}`);
  await connected(opened);
  await page.getByLabel(/^name/).fill("scr");
  await page.locator("datalist option").filter({ hasText: "screws" }).waitFor({ state: "attached" });
  await page.getByLabel(/^name/).fill("screws");
  await page.getByRole("button", { name: "Read" }).click();
  await page.locator(".result").first().filter({ hasText: "30 pieces" }).waitFor();

  await page.goto(`${server.origin}/console/playground?prompt=plan`);
  await connected(opened);
  await page.getByLabel(/^box/).fill("nails");
  await page.getByRole("button", { name: "Get" }).click();
  await page.locator(".result").first().filter({ hasText: "I have 12 nails" }).waitFor();
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByLabel("Name of the saved call").fill("Plan with nails");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("tab", { name: /^Saved/ }).click();
  await page
    .locator(".offers-list")
    .getByRole("link", { name: /Plan with nails/ })
    .waitFor();
  await opened.check("playground-prompt-narrow");
});

test("the palette finds pages, actors, tools and actions by keyboard", async () => {
  await using server = await start();
  await using opened = await server.open("/playground");
  const { page } = opened;
  await connected(opened);
  await (await server.connect()).callTool({ name: "put", arguments: { box: "nails" } });
  // Keys follow at once, as a fast user types them.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("picture");
  const field = page.getByRole("combobox", { name: /Search pages/ });
  assert.equal(await field.inputValue(), "picture");
  await page.getByRole("option", { selected: true }).filter({ hasText: "picture" }).waitFor();
  await opened.check("palette");
  await page.keyboard.press("Enter");
  await page.waitForURL(/tool=picture/);
  await page.keyboard.press("Control+k");
  await field.fill("workshop/ma");
  await page.getByRole("option").filter({ hasText: "workshop/main" }).first().click();
  await page.waitForURL(/actors\/workshop\/main/);
  // Letters open pages, but not while someone types.
  await page.locator("main h1").first().waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.waitForURL(/\/console\/?$/);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard" });
  await help.waitFor();
  const pages = await page.locator("nav.side a").allInnerTexts();
  const keys = await help.locator("dd").allInnerTexts();
  assert.deepEqual(
    keys.slice(3, -1),
    pages.map((label) => label.replace(/\s*\d+$/, "")),
  );
  await opened.check("keyboard-help");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await field.fill("dark theme");
  await page.keyboard.press("Enter");
  await page.locator(":root[data-theme=dark]").waitFor();
});

test("Enter in the palette waits for what is still being found", async () => {
  await using server = await start();
  await using opened = await server.open("/actors");
  const { page } = opened;
  await (await server.connect()).callTool({ name: "put", arguments: { box: "nails" } });
  const pressed = Promise.withResolvers<void>();
  await page.route(/commands-.*\.js/, (route) => pressed.promise.then(() => route.continue()));
  await page.keyboard.press("Control+k");
  await page.keyboard.type("dark theme");
  await page.keyboard.press("Enter");
  pressed.resolve();
  await page.locator(":root[data-theme=dark]").waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("workshop/main");
  await page.keyboard.press("Enter");
  await page.waitForURL(/actors\/workshop\/main/);
});

test("signing out and in: a wrong token is refused, the printed link works, and an outage is announced", async () => {
  await using server = await start();
  await using opened = await server.open("/actors");
  const { page } = opened;
  await opened.setOffline(true);
  await page.locator(".search input, main input[type=search]").first().fill("x");
  await page.getByText("The server does not answer.").first().waitFor();
  await opened.check("outage");
  await opened.setOffline(false);
  await page.getByText("What you see is from before").waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
  await opened.check("sign-in");
  await page.getByLabel(/^Token, API key/).fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The server does not accept that token or key.").waitFor();
  await page.getByLabel(/^Token, API key/).fill(`${server.origin}/console#token=${server.token}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Actors" }).waitFor();
});
