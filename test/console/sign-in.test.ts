// Signing in to the console in a real browser: links with a token, keys with and without the scope, and sessions that expire.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { consoleData, consoleFor, recordLive } from "../../src/bridges/console/index.ts";
import { consoleFiles } from "../../src/cli/console-parts.ts";
import { actor } from "../../src/core/actor/index.ts";
import { sha256Hex } from "../../src/core/platform/index.ts";
import { serveActors } from "../../src/mcp/server/index.ts";
import { authenticator, serveHttp } from "../../src/mcp/transport/index.ts";
import { SimulatedClock } from "../../src/testing/index.ts";
import { launchBrowser, type Page } from "../browser/playwright.ts";
import { ConsolePage } from "./console.fixture.ts";

const note = actor("note", {
  description: "A note.",
  per: "shared",
  persistence: "memory",
  state: z.object({ text: z.string().default("") }),
  tools: { write: { description: "Write.", input: z.object({ text: z.string() }), run: ({ state, args }) => (state.text = args.text) } },
});

const TOKENS = ["first-token-0123456789abcdefghijklmnopqrstu", "second-token-123456789abcdefghijklmnopqrstu"] as const;
const KEYS = { operator: "operators-key-0123456789", short: "short-lived-key-01234567", reader: "readers-key-0123456789ab" };
const HOUR = 3_600_000;

interface Served extends AsyncDisposable {
  readonly port: number;
}

/** A server with one actor. `token`: the token of its link; without it callers have keys. */
async function serve({ token, clock, port = 0 }: { readonly token?: string; readonly clock?: SimulatedClock; readonly port?: number }) {
  const scopes = ["troupe:operate"];
  const auth =
    clock === undefined
      ? undefined
      : await authenticator({
          clock,
          keys: [
            { name: "operator", sha256: sha256Hex(KEYS.operator), scopes },
            { name: "short", sha256: sha256Hex(KEYS.short), scopes, expiresAt: clock.now() + HOUR },
            { name: "reader", sha256: sha256Hex(KEYS.reader), scopes: ["read"] },
          ],
        });
  const assets = await consoleFiles(() => undefined);
  assert.ok(assets !== undefined);
  await using opened = new AsyncDisposableStack();
  const live = opened.use(recordLive());
  const served = opened.use(await serveActors({ kinds: [note], observer: live.observer, ...(auth !== undefined && { auth }) }));
  await served.engine.call({ to: note.id("main"), action: "tools/write", args: { text: "hello" }, start: null });
  const listener = await serveHttp({
    gateway: live.gateway(served.server.gateway, "http"),
    port,
    endpoints: consoleFor({ ...consoleData({ ...served, kinds: [note], live }), assets, ...(token !== undefined && { token }) }),
    ...(auth !== undefined && { auth }),
  });
  opened.defer(() => listener.close({ graceMs: 0 }));
  const own = opened.move();
  return { port: listener.port, [Symbol.asyncDispose]: () => own.disposeAsync() } satisfies Served;
}

const signIn = async (page: Page, secret: string): Promise<void> => {
  await page.getByLabel(/^Token, API key/).fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
};

/** A path of the console with state in it, and how to check that the page has it. */
const PATH = "/console/actors?search=note&status=live";

async function isOnItsPage(page: Page): Promise<void> {
  await page.getByRole("link", { name: "note/main" }).waitFor();
  assert.match(page.url(), /\/console\/actors\?search=note&status=live$/);
  assert.equal(await page.getByLabel("Search ids").inputValue(), "note");
}

const LOOK = { viewport: { width: 1440, height: 900 }, colorScheme: "light", reducedMotion: "reduce", locale: "en-GB" } as const;

test("a server without authentication is used with the link of its start", { timeout: 180_000 }, async () => {
  const browser = await launchBrowser();
  const tabs = await browser.newContext(LOOK);
  tabs.setDefaultTimeout(30_000);
  try {
    const { port, ...first } = await serve({ token: TOKENS[0] });
    const origin = `http://127.0.0.1:${port}`;
    const page = await tabs.newPage();
    const checked = new ConsolePage(page, tabs, origin);
    await page.goto(origin + PATH);
    await page.getByText("Open the console with the link that the server printed").waitFor();
    await checked.check("sign-in-no-token");
    await page.goto(`${origin}/console#token=wrong`);
    await page.getByText("The server does not accept that token or key.").waitFor();
    await page.goto(origin + PATH);
    await signIn(page, `${origin}/console#token=${TOKENS[0]}`);
    await isOnItsPage(page);
    assert.doesNotMatch(await page.evaluate("document.documentElement.outerHTML + location.href").then(String), /first-token/);

    // After a restart the page explains what to do, and waits.
    await first[Symbol.asyncDispose]();
    await using _ = await serve({ token: TOKENS[1], port });
    await page.getByText("the server was started anew and printed a new link").waitFor();
    await checked.check("sign-in-restarted");
    // The new link, opened in another tab, also signs in this one, which is where it was.
    const other = await tabs.newPage();
    await other.goto(`${origin}/console#token=${TOKENS[1]}`);
    await other.locator("main h1").first().waitFor();
    await isOnItsPage(page);
  } finally {
    await browser.close();
  }
});

test("a server with keys accepts a key that has the scope, until it expires", { timeout: 180_000 }, async () => {
  const clock = new SimulatedClock(Date.now());
  await using served = await serve({ clock });
  const origin = `http://127.0.0.1:${served.port}`;
  const browser = await launchBrowser();
  const tabs = await browser.newContext({ ...LOOK, viewport: { width: 360, height: 800 }, colorScheme: "dark" });
  tabs.setDefaultTimeout(30_000);
  try {
    const page = await tabs.newPage();
    const checked = new ConsolePage(page, tabs, origin);
    await page.goto(origin + PATH);
    await page.getByText("This server knows its users by key or token.").waitFor();
    await checked.check("sign-in-key-dark-360");
    await signIn(page, "no-key-of-this-server");
    await page.getByText("The server does not accept that token or key.").waitFor();
    await signIn(page, KEYS.reader);
    await page.getByRole("heading", { name: "This key may not use the console" }).waitFor();
    await page.getByText("sign in with a key or token that has it").waitFor();
    await checked.check("sign-in-no-scope-dark-360");
    await page.getByRole("button", { name: "Forget this key" }).click();
    await signIn(page, KEYS.short);
    await isOnItsPage(page);

    // It expires while the page is open: the next request reports it, and after signing in again the page is where it was.
    await clock.advance(HOUR);
    await page.getByRole("checkbox", { name: /note\/main$/ }).check();
    const bar = page.getByRole("region", { name: "Operations on the selected actors" });
    await bar.getByRole("button", { name: "Restart" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restart 1 actor" }).click();
    await page.getByText("the token is no longer valid. It expired").waitFor();
    await checked.check("sign-in-expired-dark-360");
    await signIn(page, KEYS.short);
    await page.getByText("The server does not accept that token or key.").waitFor();
    await signIn(page, KEYS.operator);
    await isOnItsPage(page);
  } finally {
    await browser.close();
  }
});
