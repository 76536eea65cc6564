import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { INFO } from "../clients.ts";
import { root } from "../serve-child.ts";
import { lines, running, runningScript, troupe } from "./run.ts";

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

const DESK = `
import { actor } from "troupe";
export const desk = actor("desk", {
  description: "A desk.", per: "shared",
  initial: () => ({ calls: 0 }),
  tools: {
    who: { description: "Who calls.", run({ state, viewer }) { state.calls += 1; return viewer.principal + " " + viewer.scopes.join(); } },
    fail: { description: "Fails.", run() { throw new RangeError("The drawer is full."); } },
    spoil: { description: "Spoils.", run({ state }) { state.calls = () => 1; } },
  },
});
`;

void test("troupe dev serves the first capability, new instructions, and changes of JSON and CommonJS", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-dev-"));
  const write = (name: string, text: string): void => writeFileSync(join(folder.path, name), text);
  write("words.json", '{ "json": "one" }');
  write("words.cjs", 'module.exports = { cjs: "one", ...require("./deep.cjs") };');
  write("deep.cjs", 'module.exports = { deep: "one" };');
  const actors = `
    import json from "./words.json" with { type: "json" };
    import cjs from "./words.cjs";
    import { actor } from "troupe";
    import { capability } from "troupe/packet";
    const tools = { read: { description: "Reads.", view: () => [json.json, cjs.cjs, cjs.deep].join(" ") } };
    export const page = actor("page", { description: "A page.", initial: () => ({}), tools });`;
  write("index.ts", `${actors}\nexport const instructions = "Read slowly.";`);
  await using dev = running("dev", folder.path, "--http", "127.0.0.1:0", "--data", join(folder.path, ".troupe"), "--json");
  await dev.said(/"ready":true.*\n/);
  const url = new URL(String(Object(lines(dev.out())[0]).http));
  const connect = async (): Promise<Client> => {
    const client = new Client(INFO);
    await client.connect(new StreamableHTTPClientTransport(url));
    return client;
  };
  const client = await connect();
  let reloads = 0;
  const reads = async (words: string): Promise<void> => {
    await dev.said(new RegExp(`(?:"event":"reloaded"[^]*){${(reloads += 1)}}`));
    assert.match(JSON.stringify(await client.callTool({ name: "read", arguments: {} })), new RegExp(`"${words}"`));
  };
  write("words.json", '{ "json": "two" }');
  await reads("two one one");
  write("words.cjs", 'module.exports = { cjs: "two", ...require("./deep.cjs") };');
  await reads("two two one");
  write("deep.cjs", 'module.exports = { deep: "two" };');
  await reads("two two two");

  const greet = 'export const greet = capability("greet", { intent: "Greets", execute: () => ({ said: "Hello" }) });';
  write("index.ts", `${actors}\n${greet}\nexport const instructions = "Read fast.";`);
  await reads("two two two");
  assert.match(JSON.stringify(await client.callTool({ name: "greet", arguments: {} })), /Hello/);
  const other = await connect();
  assert.equal(other.getInstructions(), "Read fast.");
  await Promise.all([client.close(), other.close()]);
});

void test("troupe dev loads nothing anew while it stops, so running calls have their grace", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-dev-"));
  const module = join(folder.path, "bell.ts");
  const bell = `
import { actor } from "troupe";
export const bell = actor("bell", { description: "A bell.", per: "shared", initial: () => ({}), tools: {
  toll: { description: "Slowly.", async work() { console.error("tolling"); await new Promise((done) => setTimeout(done, 1_500)); return { reply: { ok: "tolled" } }; } } } });
`;
  writeFileSync(module, bell);
  await using dev = running("dev", module, "--http", "127.0.0.1:0", "--data", join(folder.path, ".troupe"), "--json");
  await dev.said(/"ready":true/);
  const client = new Client(INFO);
  await client.connect(new StreamableHTTPClientTransport(new URL(/"http":"([^"]+)"/.exec(dev.out())?.[1] ?? "")));
  const tolled = client.callTool({ name: "toll", arguments: {} });
  await dev.said(/tolling/);
  dev.child.kill("SIGTERM");
  await dev.said(/"event":"stopping"/);
  writeFileSync(module, `${bell}// saved`);
  assert.match(JSON.stringify(await tolled), /tolled/);
  assert.equal(await dev.ended, 0);
  assert.doesNotMatch(dev.err(), /"event":"reload/);
});

void test("troupe dev --as names every caller over HTTP, and logs what a turn threw once", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-dev-"));
  const module = join(folder.path, "desk.ts");
  writeFileSync(module, DESK);
  const data = join(folder.path, "data");
  const server = running("dev", module, "--http", "127.0.0.1:0", "--data", data, "--as", "ann", "--scope", "desk", "--json");
  try {
    await server.said(/"ready":true/);
    const http = /"http":"([^"]+)"/.exec(server.out())?.[1] ?? "";
    const client = new Client(INFO);
    await client.connect(new StreamableHTTPClientTransport(new URL(http)));
    const call = async (name: string): Promise<string> => JSON.stringify(await client.callTool({ name, arguments: {} }));
    assert.match(await call("who"), /"ann desk"/);
    for (const _ of [1, 2, 3]) assert.match(await call("fail"), /isError":true/);
    assert.match(await call("spoil"), /isError":true/);
    await client.close();
    const scoped = await troupe("call", "desk/main", "tools/who", "--as", "bo", "--scope", "read", "--scope", "admin", "--data", data);
    assert.equal(scoped.stdout, "bo read,admin\n");
  } finally {
    await server[Symbol.asyncDispose]();
  }
  const faults = server
    .err()
    .split("\n")
    .filter((text) => text.includes('"event":"fault"'));
  assert.equal(faults.length, 2, server.err());
  assert.match(faults[0] ?? "", /"error":"RangeError","place":"[^"]*desk\.ts:8:\d+","why":"The drawer is full\."/);
  assert.match(faults[1] ?? "", /"code":"STATE_NOT_JSON"/);
});

void test("troupe dev --as is refused beyond loopback, and with keys", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-dev-"));
  const keys = join(folder.path, "keys.json");
  writeFileSync(keys, JSON.stringify({ ann: "0".repeat(64) }));
  const dev = (...args: readonly string[]): ReturnType<typeof troupe> =>
    troupe("dev", "examples/counter", "--as", "ann", "--data", join(folder.path, "data"), ...args);
  const open = await dev("--http", "0.0.0.0:0", "--insecure");
  assert.deepEqual([open.code, /for this machine alone: give --http 127\.0\.0\.1:0/.test(open.stderr)], [2, true], open.stderr);
  const keyed = await dev("--http", "127.0.0.1:0", "--api-keys", keys);
  const why = /--as does not go with keys or tokens over HTTP: the server requires them .* add --no-config/;
  assert.deepEqual([keyed.code, why.test(keyed.stderr)], [2, true], keyed.stderr);
});

void test("troupe dev says where code does not end, and how to end the process", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-dev-"));
  writeFileSync(join(folder.path, "word.ts"), 'export const word = "lit";');
  const file = join(folder.path, "index.ts");
  writeFileSync(file, lamp("Light it", "\nwhile (state.lit > 0) state.lit += 0;"));
  const data = join(folder.path, ".troupe");
  await using dev = running("dev", folder.path, "--http", "127.0.0.1:0", "--data", data, "--no-console", "--json");
  await dev.said(/"ready":true.*\n/);
  const client = new Client(INFO);
  await client.connect(new StreamableHTTPClientTransport(new URL(String(Object(lines(dev.out())[0]).http))));
  client.callTool({ name: "light", arguments: {} }).catch(() => undefined);
  await dev.said(/"event":"turn-stuck".*\n/);
  const [line = ""] = dev.err().match(/.*"turn-stuck".*/) ?? [];
  const { place, what }: { readonly place: string; readonly what: string } = JSON.parse(line);
  assert.match(place, /index\.ts:9:\d+$/);
  assert.match(what, new RegExp(`kill -9 ${dev.child.pid}\\.`));
  dev.child.kill("SIGKILL");
  await dev.ended;
});

void test("troupe dev leaves code alone that stands at a breakpoint of a debugger", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-dev-"));
  writeFileSync(join(folder.path, "word.ts"), 'export const word = "lit";');
  // As long as a stop of seven seconds at a breakpoint, in each of the two runs of the turn.
  writeFileSync(join(folder.path, "index.ts"), lamp("Light it", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 7_000);"));
  const serve = ["dev", folder.path, "--http", "127.0.0.1:0", "--data", join(folder.path, ".troupe"), "--no-console", "--json"];
  await using dev = runningScript({ args: ["--inspect=127.0.0.1:0", join(root, "bin/troupe.js"), ...serve] });
  await dev.said(/"ready":true.*\n/);
  const client = new Client(INFO);
  await client.connect(new StreamableHTTPClientTransport(new URL(String(Object(lines(dev.out())[0]).http))));
  assert.match(JSON.stringify(await client.callTool({ name: "light", arguments: {} })), /lit 1/);
  assert.doesNotMatch(dev.err(), /turn-stuck/);
  await client.close();
});
