import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { INFO } from "../clients.ts";
import { root } from "../serve-child.ts";
import { running } from "./run.ts";

const lamp = (word: string, more = ""): string => `
import { actor } from "troupe";
import { word } from "./word.ts";
export const lamp = actor("lamp", {
  description: "A lamp.", per: "shared", persistence: "memory",
  initial: () => ({ lit: 0 }),
  tools: {
    light: { description: "${word}", run({ state }: { state: { lit: number } }) { state.lit += 1; ${more} return word + " " + state.lit; } },
  },
});
`;

void test(
  "troupe dev loads changed modules anew while state, session and port stay, and names an impure turn #cli.dev.reload #cli.dev.twice",
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-dev-"));
    const data = mkdtempSync(join(tmpdir(), "troupe-dev-data-"));
    writeFileSync(join(folder, "word.ts"), 'export const word = "lit";');
    writeFileSync(join(folder, "index.ts"), lamp("Light it"));
    const child = spawn(process.execPath, [join(root, "bin/troupe.js"), "dev", folder, "--http", "127.0.0.1:0", "--data", data, "--json"], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise((settle) => child.once("exit", settle));
    const logs = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
    const logged = async (event: string): Promise<void> => {
      for (;;) {
        const line = await logs.next();
        if (line.done === true) throw new Error(`troupe dev ended before ${event}`);
        if (line.value.includes(`"event":"${event}"`)) return;
      }
    };
    try {
      const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
      const ready: unknown = JSON.parse(String(line.value));
      assert.ok(typeof ready === "object" && ready !== null && "http" in ready);
      const client = new Client(INFO);
      await client.connect(new StreamableHTTPClientTransport(new URL(String(ready.http))));
      const light = async (): Promise<string> => JSON.stringify(await client.callTool({ name: "light", arguments: {} }));
      assert.match(await light(), /"lit 1"/);

      // A file the module imports changes.
      writeFileSync(join(folder, "word.ts"), 'export const word = "shines";');
      await logged("reloaded");
      assert.match(await light(), /"shines 2"/);

      // A definition changes: the same session sees it.
      writeFileSync(join(folder, "index.ts"), lamp("Make it shine"));
      await logged("reloaded");
      assert.equal((await client.listTools()).tools[0]?.description, "Make it shine");

      // What does not load is not served; the last good module goes on.
      writeFileSync(join(folder, "index.ts"), "export const lamp = ;");
      await logged("reload-failed");
      assert.match(await light(), /"shines 3"/);

      // Nor is what loads and cannot be served.
      writeFileSync(
        join(folder, "index.ts"),
        `${lamp("Two lamps")}export const twin = actor("lamp", { description: "A twin.", initial: () => ({}) });`,
      );
      await logged("reload-failed");
      assert.match(await light(), /"shines 4"/);

      // One that never finishes loading holds up none that come after it.
      writeFileSync(join(folder, "index.ts"), `await new Promise(() => {});${lamp("Never")}`);
      await logged("reloading");
      writeFileSync(join(folder, "index.ts"), lamp("Make it shine again"));
      await logged("reloaded");
      assert.equal((await client.listTools()).tools[0]?.description, "Make it shine again");

      // Law 4: a turn that looks at the clock of the machine differs from its second run.
      writeFileSync(join(folder, "index.ts"), lamp("Make it shine", "state.lit += Math.random();"));
      await logged("reloaded");
      assert.match(await light(), /isError":true/);
      await client.close();
    } finally {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
      rmSync(data, { recursive: true, force: true });
    }
  },
);

void test("troupe dev keeps the client on standard input and output over a reload #cli.dev.stdio", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-dev-"));
  writeFileSync(join(folder, "word.ts"), 'export const word = "lit";');
  writeFileSync(join(folder, "index.ts"), lamp("Light it"));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "bin/troupe.js"), "dev", folder, "--stdio", "--data", join(folder, ".troupe"), "--json"],
    cwd: root,
    stderr: "pipe",
  });
  const reloaded = new Promise<void>((done) => {
    let logged = "";
    transport.stderr?.on("data", (chunk: Buffer) => {
      logged += chunk.toString();
      if (logged.includes('"event":"reloaded"')) done();
    });
  });
  const client = new Client(INFO);
  try {
    await client.connect(transport);
    const light = async (): Promise<string> => JSON.stringify(await client.callTool({ name: "light", arguments: {} }));
    assert.match(await light(), /"lit 1"/);
    writeFileSync(join(folder, "word.ts"), 'export const word = "shines";');
    await reloaded;
    assert.match(await light(), /"shines 2"/);
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

void test("troupe dev hears of every save by rename, in what a module imports from elsewhere too", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-dev-"));
  mkdirSync(join(folder, "app"));
  mkdirSync(join(folder, "words"));
  const save = (file: string, text: string): void => {
    writeFileSync(join(folder, `${file}.new`), text);
    renameSync(join(folder, `${file}.new`), join(folder, file));
  };
  const app = (word: string): string => lamp(word).replace("./word.ts", "../words/word.ts");
  save("words/word.ts", 'export const word = "lit";');
  save("app/index.ts", app("Light it"));
  await using dev = running("dev", join(folder, "app"), "--http", "127.0.0.1:0", "--data", join(folder, ".troupe"), "--json");
  await dev.said(/"ready":true/);
  const reloads = (times: number): Promise<void> => dev.said(new RegExp(`(?:"event":"reloaded"[^]*){${times}}`));
  for (const times of [1, 2, 3]) {
    save("app/index.ts", app(`Light it ${times}`));
    await reloads(times);
  }
  for (const times of [4, 5]) {
    save("words/word.ts", `export const word = "lit ${times}";`);
    await reloads(times);
  }
  // A folder made while it runs, whose file is part of what is served only later.
  mkdirSync(join(folder, "app/more"));
  save("app/more/word.ts", 'export const word = "more";');
  save("app/index.ts", lamp("Light it").replace("./word.ts", "./more/word.ts"));
  await reloads(6);
  save("app/more/word.ts", 'export const word = "even more";');
  await reloads(7);
  rmSync(folder, { recursive: true, force: true });
});
