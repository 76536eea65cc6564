// The console on a Restate cluster, from the command line and from a node, in a real browser: what it has, and why the rest is missing.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { engineText } from "../../src/cli/cluster/cluster-options.ts";
import { until } from "../../src/testing/index.ts";
import { type Browser, launchBrowser } from "../browser/playwright.ts";
import { lines, running, type Running } from "../cli/run.ts";
import { install } from "../restate/install.ts";
import { RestateServer } from "../restate/restate-server.ts";
import { ServedNode } from "../restate/served-node.ts";
import { at } from "../wire.ts";
import { type ConsolePage, openConsole, tokenIn } from "./console.fixture.ts";

const secret = "5e".repeat(32);
const folder = mkdtempSync(join(tmpdir(), "troupe-console-cluster-"));
let server: RestateServer;
let node: ServedNode;
let operator: Running;
let browser: Browser;
let links: ReadonlyMap<"command" | "node", URL>;

before(async () => {
  const installed = await install();
  [server, browser] = await Promise.all([RestateServer.start(installed.server), launchBrowser()]);
  node = await ServedNode.start({ modules: ["test/console/delivery.ts"], engine: server, secret, more: ["--console"] });
  await server.register(node.url);
  const client = new Client({ name: "cluster-client", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(node.http)));
  const { isError } = await client.callTool({ name: "order", arguments: { item: "rope" } });
  assert.ok(isError !== true);
  await client.close();
  const secretFile = join(folder, "secret");
  writeFileSync(secretFile, secret, { mode: 0o600 });
  operator = running("console", "--engine", engineText(server), "--secret-file", secretFile, "--json");
  await operator.said(/"ready":true/);
  const command = new URL(String(at(lines(operator.out())[0], "console")));
  links = new Map([
    ["command", command],
    ["node", node.console ?? assert.fail("The node has no console.")],
  ]);
  await until("the letter is dead", async () => {
    const response = await fetch(new URL("/console/api/letters", command), { headers: { authorization: `Bearer ${tokenIn(command)}` } });
    return (await response.text()).includes("paper jams");
  });
});

after(async () => {
  await browser?.close();
  await operator?.[Symbol.asyncDispose]();
  await node?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const open = async (which: "command" | "node", path: string): Promise<ConsolePage> => {
  const link = links.get(which) ?? assert.fail();
  return await openConsole(browser, { origin: link.origin, token: tokenIn(link) }, path, { theme: which === "node" ? "dark" : "light" });
};

for (const which of ["command", "node"] as const) {
  test(`the console of the ${which} lists actors of a cluster, and states why the rest is missing`, async () => {
    await using opened = await open(which, "/");
    const { page } = opened;
    const views: readonly (readonly [path: string, shows: RegExp])[] = [
      ["/", /could not be delivered/],
      ["/actors", /shop\/main/],
      ["/actors/shop/main?tab=state", /orders/],
      ["/actors/shop/main?tab=history", /verified[\s\S]*tools\/order/],
      ["/actors/shop/main?tab=causes", /tools\/order/],
      ["/letters", /print[\s\S]*The paper jams/],
      ["/timers", /Restate/],
      ["/outbox", /Restate/],
      ["/query", /cluster/],
    ];
    for (const [path, shows] of views) {
      await page.goto(`${links.get(which)?.origin}/console${path === "/" ? "" : path}`);
      await page.locator("main").filter({ hasText: shows }).waitFor();
      await opened.check(`cluster-${which}-${path.replaceAll(/\W+/g, "-")}`);
    }
    await page.goto(`${links.get(which)?.origin}/console/actors/shop/main`);
    await page.getByRole("heading", { level: 1, name: /main/ }).waitFor();
    for (const name of ["Fork", "Edit …"]) {
      const button = page.getByRole("button", { name });
      assert.ok((await button.count()) === 0 || !(await button.isEnabled()), name);
    }
  });
}
