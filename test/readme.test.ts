// README is correct: its client configurations start working servers, and its example behaves as described.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const root = resolve(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");

interface ServerConfiguration {
  readonly type?: string;
  readonly url?: string;
  readonly command?: string;
  readonly args?: readonly string[];
}

const configurations = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].flatMap((match): readonly ServerConfiguration[] => {
  const parsed: unknown = JSON.parse(match[1] ?? "null");
  assert.ok(
    typeof parsed === "object" &&
      parsed !== null &&
      "mcpServers" in parsed &&
      typeof parsed.mcpServers === "object" &&
      parsed.mcpServers !== null,
  );
  return Object.values(parsed.mcpServers);
});

const look = async (client: Client): Promise<string> => JSON.stringify(await client.callTool({ name: "look", arguments: {} }));

void test("README's stdio configuration starts a server that a client plays #repository.configurations", async () => {
  const configuration = configurations.find((entry) => entry.command !== undefined);
  assert.ok(configuration?.command !== undefined);
  const data = mkdtempSync(join(tmpdir(), "troupe-readme-"));
  const here = (text: string): string => text.replace("/path/to/troupe/data/mud-stdio", data).replaceAll("/path/to/troupe", root);
  const client = new Client({ name: "readme", version: "1" });
  try {
    // A client starts it from its own folder, with any Node on the machine.
    const args = (configuration.args ?? []).map(here);
    await client.connect(new StdioClientTransport({ command: here(configuration.command), args, stderr: "inherit", cwd: data }));
    assert.match(await look(client), /dungeon entrance/i);
  } finally {
    await client.close();
    rmSync(data, { recursive: true, force: true });
  }
});

void test("README's HTTP configuration reaches what `npm start` serves #repository.start #repository.configurations #mud.start", async () => {
  const configuration = configurations.find((entry) => entry.url !== undefined);
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.ok(
    typeof manifest === "object" &&
      manifest !== null &&
      "scripts" in manifest &&
      typeof manifest.scripts === "object" &&
      manifest.scripts !== null &&
      "start" in manifest.scripts,
  );
  const words = String(manifest.scripts.start).split(" ");
  const command = words.slice(words.indexOf("node") + 1);
  const url = new URL(String(configuration?.url));
  assert.ok(command.includes(url.host), `npm start serves ${url.host}`);
  const data = mkdtempSync(join(tmpdir(), "troupe-readme-"));
  // The same command on a free port and another directory, since port 3000 may be in use.
  const args = command.map((word) => (word === url.host ? "127.0.0.1:0" : word === "data/mud" ? data : word));
  const child = spawn(process.execPath, [...args, "--json"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<void>((settle) => child.once("exit", () => settle()));
  try {
    const [line] = await new Promise<readonly string[]>((settle) => {
      child.stdout.once("data", (chunk: Buffer) => settle(String(chunk).split("\n")));
      void ended.then(() => settle([]));
    });
    const ready: unknown = JSON.parse(line ?? "null");
    assert.ok(typeof ready === "object" && ready !== null && "http" in ready);
    const served = new URL(String(ready.http));
    assert.equal(served.pathname, url.pathname);
    const client = new Client({ name: "readme", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(served));
    assert.match(await look(client), /dungeon entrance/i);
    await client.close();
  } finally {
    child.kill("SIGTERM");
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
});

void test("README names only documents and scripts that exist #repository.readme", () => {
  for (const match of readme.matchAll(/\]\(((?!https?:)[^)#]+)\)/g))
    assert.ok(readFileSync(join(root, match[1] ?? "")).length > 0, match[1]);
});

void test("README has at most 900 words", () => {
  assert.ok(readme.split(/\s+/).length <= 900);
});

void test("the index of guides links to every page, the index of examples to every example, README to both", () => {
  for (const page of ["docs/README.md", "examples/README.md"]) assert.ok(readme.includes(`](${page})`), page);
  const linked = (index: string): Set<string> =>
    new Set(
      Array.from(readFileSync(join(root, index), "utf8").matchAll(/\]\(([^)#]+)/g), ([, path = ""]) => resolve(root, dirname(index), path)),
    );
  const indexes = globSync("docs/**/README.md", { cwd: root });
  const guides = new Set(indexes.flatMap((index) => [...linked(index)]));
  const pages = globSync("docs/**/*.md", { cwd: root }).filter((file) => file !== join("docs", "README.md"));
  assert.ok(pages.length > 20);
  assert.deepEqual(
    pages.filter((file) => !guides.has(join(root, file))),
    [],
  );
  const examples = new Set([...linked("examples/README.md")].map((file) => dirname(file)));
  const folders = readdirSync(join(root, "examples"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  assert.deepEqual(
    folders.map((entry) => join(root, "examples", entry.name)).filter((folder) => !examples.has(folder)),
    [],
  );
});
