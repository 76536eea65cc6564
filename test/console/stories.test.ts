// Each part of the console's pages, with its states, in a real browser: no errors, nothing wider than the window, no findings of axe.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { readAssets } from "../../src/bridges/console/index.ts";
import { launchBrowser } from "../browser/playwright.ts";
import { ConsolePage } from "./console.fixture.ts";

const root = resolve(import.meta.dirname, "../..");
const DIALOGS = ["confirm", "question", "palette", "help", "connect", "views", "toasts", "sign-in"];
const LOOKS = [
  ["light", 1440, DIALOGS],
  ["light", 360, []],
  ["dark", 1440, []],
  ["dark", 360, DIALOGS],
] as const;
// The console's content security policy, so that a part cannot work only here.
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'";

/** Serves the built stories on this machine. */
async function serveStories(): Promise<AsyncDisposable & { readonly origin: string }> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-stories-"));
  await promisify(execFile)("npx", ["vite", "build", "--config", "console/stories/vite.config.ts", "--outDir", folder], { cwd: root });
  const assets = await readAssets(folder, "");
  const server = createServer(({ url = "/" }, response) => {
    const asset = assets.find(new URL(url, "http://127.0.0.1").pathname);
    response.writeHead(asset === undefined ? 404 : 200, { "content-type": asset?.type ?? "text/plain", "content-security-policy": POLICY });
    response.end(asset?.body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

test("every part of the console's pages is accessible and fits, in both themes, wide and narrow", async () => {
  await using stories = await serveStories();
  const browser = await launchBrowser();
  const flaws: string[] = [];
  // Reported all at once, since a run takes a while.
  const note = (parts: ConsolePage, name: string): Promise<void> =>
    parts.check(name).catch((error: unknown) => void flaws.push(error instanceof Error ? error.message : String(error)));
  try {
    for (const [colorScheme, width, dialogs] of LOOKS) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce", locale: "en-GB" });
      const page = await context.newPage();
      await using parts = new ConsolePage(page, context, stories.origin);
      await page.goto(`${stories.origin}/`);
      await page.locator("h1").waitFor();
      // Only then has the editor been loaded.
      await page.locator(".code-editor-box .cm-content").nth(2).waitFor();
      assert.ok((await page.locator("[data-story]").count()) > 25);
      await note(parts, `stories-${colorScheme}-${width}`);
      for (const dialog of dialogs) {
        await page.goto(`${stories.origin}/?open=${dialog}`);
        await page.locator("dialog[open], .toast, .sign-in").first().waitFor();
        await note(parts, `story-${dialog}-${colorScheme}-${width}`);
      }
    }
  } finally {
    await browser.close();
  }
  assert.deepEqual(flaws, []);
});
