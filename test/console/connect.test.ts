// The dialog with client configurations, in a real browser: it matches what `troupe install` writes, and its programs run.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ConsoleFixture, type ConsolePage } from "./console.fixture.ts";

const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

/** The first text of a client with that beginning. */
async function textOf({ page }: ConsolePage, client: string, what: string): Promise<string> {
  await page.getByRole("group", { name: "Client" }).getByRole("button", { name: client }).click();
  return await page.getByRole("region", { name: client }).getByLabel(what, { exact: true }).innerText();
}

test("clients connect with what the console shows", async () => {
  await using server = await ConsoleFixture.start({ modules: ["examples/counter"] });
  await using opened = await server.open("/actors");
  const { page } = opened;
  await page.getByRole("button", { name: "Connect …" }).click();
  await page.getByRole("dialog", { name: "Connect a client" }).waitFor();
  await page.getByRole("heading", { name: "Command" }).waitFor();
  await opened.check("connect-light-1440");

  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-connect-"));
  const url = `${server.origin}/mcp`;
  const name = "counter";
  for (const [client, id, file] of [
    ["Claude Code", "claude-code", ".mcp.json"],
    ["VS Code", "vscode", ".vscode/mcp.json"],
    ["Cursor", "cursor", ".cursor/mcp.json"],
  ] as const) {
    const displayed = await textOf(opened, client, `In ${file}`);
    await run(process.execPath, [join(root, "bin/troupe.js"), "install", id, url, "--name", name, "--scope", "project", "--yes"], {
      cwd: folder.path,
    });
    assert.deepEqual(JSON.parse(displayed), JSON.parse(readFileSync(join(folder.path, file), "utf8")), client);
  }
  assert.match(await textOf(opened, "Claude Code", "Command"), /^claude mcp add --transport http counter http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  assert.match(await textOf(opened, "Claude Desktop", "In its settings"), /"mcp-remote"/);
  await textOf(opened, "VS Code", "In .vscode/mcp.json");
  const vscode = (await page.getByRole("link", { name: "Add to VS Code" }).getAttribute("href")) ?? "";
  assert.deepEqual(JSON.parse(decodeURIComponent(vscode.slice("vscode:mcp/install?".length))), { name, type: "http", url });
  await textOf(opened, "Cursor", "In .cursor/mcp.json");
  const cursor = new URL((await page.getByRole("link", { name: "Add to Cursor" }).getAttribute("href")) ?? "");
  assert.equal(`${cursor.protocol}//${cursor.host}${cursor.pathname}`, "cursor://anysphere.cursor-deeplink/mcp/install");
  assert.deepEqual(JSON.parse(atob(cursor.searchParams.get("config") ?? "")), { url });

  const script = await textOf(opened, "TypeScript SDK", "List the tools");
  const { stdout } = await run(process.execPath, ["--input-type=module-typescript", "--eval", script], { cwd: root });
  assert.match(stdout, /name: 'add'/);
  const curl = await textOf(opened, "curl", "A request of 2026-07-28, without a session");
  const headers = Object.fromEntries(Array.from(curl.matchAll(/-H '([^:]+): ([^']*)'/g), ([, header = "", value = ""]) => [header, value]));
  const body = /-d '([\s\S]*)'$/.exec(curl)?.[1] ?? "";
  const answer = await fetch(url, { method: "POST", headers, body });
  assert.match(await answer.text(), /"name":"add"/);
  await opened.check("connect-curl-light-1440");
  await textOf(opened, "Python SDK", "List the tools");
  await textOf(opened, "MCP Inspector", "Command");
  await page.keyboard.press("Escape");

  // Also from the palette, since a narrow top bar has no button.
  await using narrow = await server.open("/actors", { theme: "dark", width: 360 });
  await narrow.page.keyboard.press("Control+k");
  await narrow.page.getByRole("combobox", { name: /Search pages/ }).fill("connect a client");
  await narrow.page.keyboard.press("Enter");
  await narrow.page.getByRole("dialog", { name: "Connect a client" }).waitFor();
  await narrow.check("connect-dark-360");
});
