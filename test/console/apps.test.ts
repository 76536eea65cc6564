// MCP Apps in the console, in a real browser on a real server: what they display and may do, and what they cannot reach.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import * as z from "zod";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

const root = resolve(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guide/console.md"), "utf8");
const LAMP = Array.from(guide.matchAll(/```ts\n([\s\S]*?)\n```/g), ([, code = ""]) => code).find((code) => code.includes("ui://")) ?? "";

const lampState = z.object({ state: z.object({ on: z.boolean() }), apps: z.array(z.object({ name: z.string(), uri: z.string() })) });
const panelState = z.object({ state: z.object({ n: z.int() }) });

const appIn = ({ page }: ConsolePage) => page.frameLocator(".app iframe");

async function callInPlayground({ page }: ConsolePage): Promise<void> {
  await page.locator(".connection-state").filter({ hasText: "connected" }).waitFor();
  await page.getByRole("button", { name: "Call", exact: true }).click();
}

test("the guide's lamp: under the result of a call, in a tab of its actor, and opened as a resource", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-lamp-"));
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  const module = join(folder.path, "lamp.ts");
  writeFileSync(module, LAMP);
  await using server = await ConsoleFixture.start({ modules: [module] });
  const isOn = async (): Promise<boolean> => (await server.api("/actors/lamp/main", lampState)).state.on;

  await using opened = await server.open("/playground?tool=turn");
  const { page } = opened;
  await callInPlayground(opened);
  await appIn(opened).getByRole("button", { name: "Turn off" }).click();
  await appIn(opened).getByRole("button", { name: "Turn on" }).waitFor();
  assert.equal(await isOn(), false, "the app calls tools through the playground's connection");
  await opened.check("app-playground");

  await page.goto(`${server.origin}/console/playground?resource=${encodeURIComponent("ui://lamp/panel")}`);
  await page.getByRole("button", { name: "Open as an app" }).click();
  await appIn(opened).getByRole("button", { name: "Turn on" }).waitFor();

  // The author's tab: it acts on this actor, and follows what others do with it.
  assert.deepEqual((await server.api("/actors/lamp/main", lampState)).apps, [{ name: "panel", uri: "ui://lamp/panel" }]);
  await page.goto(`${server.origin}/console/actors/lamp/main`);
  await page.getByRole("tab", { name: "Panel" }).click();
  await appIn(opened).getByRole("button", { name: "Turn on" }).click();
  await appIn(opened).getByRole("button", { name: "Turn off" }).waitFor();
  assert.equal(await isOn(), true);
  const client = await server.connect();
  await client.callTool({ name: "turn", arguments: {} });
  await appIn(opened).getByRole("button", { name: "Turn on" }).waitFor();
  await opened.check("app-tab");
});

describe("apps of a kind", () => {
  let server: ConsoleFixture;
  before(async () => void (server = await ConsoleFixture.start({ modules: ["test/console/panels.ts"] })));
  after(() => server[Symbol.asyncDispose]());
  const count = async (): Promise<number> => (await server.api("/actors/panels/main", panelState)).state.n;

  test("an app with the official client gets results, calls tools, follows the theme, and asks to open links", async () => {
    await using opened = await server.open(`/playground?tool=count&args=${encodeURIComponent('{"by":2}')}`);
    const { page } = opened;
    await callInPlayground(opened);
    const app = appIn(opened);
    await app.getByText('{"by":2}').waitFor();
    await app.getByText('{"n":2}').waitFor();
    await app.getByText("light", { exact: true }).waitFor();
    await app.getByRole("button", { name: "Count" }).click();
    await app.getByText('{"n":12}').waitFor();
    assert.equal(await count(), 12);

    await page.getByRole("button", { name: /^Theme/ }).click();
    await page.getByRole("button", { name: /^Theme/ }).click();
    await app.getByText("dark", { exact: true }).waitFor();

    await app.getByRole("button", { name: "Link" }).click();
    await page.getByRole("dialog").getByText("https://example.com/").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await app.getByText('"isError":true').waitFor();

    await page.getByRole("button", { name: "Phone" }).click();
    assert.match(page.url(), /size=phone/);
    await page.getByRole("button", { name: "Full screen" }).click();
    await page.locator(".app.fullscreen").waitFor();
    await opened.check("app-fullscreen-dark");
    await page.keyboard.press("Escape");
    await page.locator(".app.inline").waitFor();
    await page.getByText("Its messages").click();
    await page.locator(".app-messages").getByText("ui/notifications/tool-result").waitFor();
    await page.getByText("Its content security policy", { exact: true }).click();
    await opened.check("app-official-dark");
  });

  test("an app on an actor's page calls as the viewer or as the operator", async () => {
    await (await server.connect()).callTool({ name: "count", arguments: { by: 1 } });
    const n = await count();
    await using opened = await server.open("/actors/panels/main?tab=offers&offer=tools%2Fcount&as=ann");
    const { page } = opened;
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await appIn(opened)
      .getByText(`{"n":${n + 1}}`)
      .waitFor();
    await appIn(opened).getByRole("button", { name: "Count" }).click();
    await appIn(opened)
      .getByText(`{"n":${n + 11}}`)
      .waitFor();
    await opened.check("app-call-result");
    const events = await server.api(
      "/actors/panels/main/events?order=desc&limit=1",
      z.object({ items: z.array(z.object({ principal: z.string() })) }),
    );
    assert.equal(events.items[0]?.principal, "ann");
  });
  test("a prying app reaches no storage, page, API or other host; blocked requests are visible", async () => {
    const reached: string[] = [];
    const other = createServer((request, response) => {
      reached.push(request.url ?? "");
      response.end();
    });
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
    const address = other.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    try {
      await using opened = await server.open(`/playground?tool=probe&args=${encodeURIComponent(JSON.stringify({ other: url }))}`);
      const { page } = opened;
      await callInPlayground(opened);
      await appIn(opened).getByText("done").waitFor();
      const lines = await appIn(opened).locator("p").allInnerTexts();
      assert.deepEqual(
        lines.filter((line) => line.includes(": yes")),
        [],
      );
      assert.ok(lines.includes("origin: null") && lines.length > 12, lines.join("\n"));
      const blocked = page.locator(".app .note");
      for (const [path, directive] of [
        ["/image", "img-src"],
        ["/fetch", "connect-src"],
        // The report of a frame contains only the host.
        ["", "frame-src"],
        ["/script", "script-src-elem"],
        ["/style", "style-src-elem"],
      ] as const)
        await blocked
          .locator("li")
          .filter({ hasText: `${url}${path}` })
          .filter({ hasText: directive })
          .waitFor();

      // It takes its frame elsewhere: the page's own policy stops that.
      await page.goto(`${server.origin}/console/playground?tool=leave&args=${encodeURIComponent(JSON.stringify({ other: url }))}`);
      const stopped = new Promise<void>((seen) => {
        page.on("console", (message) => message.text().includes("frame-src") && seen());
      });
      await callInPlayground(opened);
      await stopped;
      assert.deepEqual(reached, []);
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });

  test("a misbehaving app is bounded: floods, call loops, sizes, long messages, policies without domains", async () => {
    await using opened = await server.open("/playground?tool=flood");
    const { page } = opened;
    await callInPlayground(opened);
    await page.locator(".app .note").filter({ hasText: "more than 100 messages a second" }).waitFor();
    assert.equal(await page.locator(".app iframe").count(), 0);
    await opened.check("app-stopped");

    await page.goto(`${server.origin}/console/playground?tool=loop`);
    const n = await count();
    await callInPlayground(opened);
    await appIn(opened).getByText("refused: 52").waitFor();
    assert.equal(await count(), n + 8);

    await page.goto(`${server.origin}/console/playground?tool=huge`);
    await callInPlayground(opened);
    await appIn(opened).getByText("max: 700").waitFor();
    assert.equal((await page.locator(".app iframe").boundingBox())?.height, 700);
    await page.getByText("Its content security policy", { exact: true }).click();
    await page.locator(".app-lines").getByText("connect-src https://api.example.com", { exact: true }).waitFor();
    await page.locator(".app").getByText("Left out, since they are no domains").waitFor();
    await appIn(opened).getByText("max: 700").click();
    await page.locator(".app .note").filter({ hasText: "longer than a megabyte" }).waitFor();
  });
});
