// The time from `troupe serve` to the first answer, with the installed package, compared with Node alone and an import of the official SDK.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { BenchOptions } from "./options.ts";
import { root } from "./server-process.ts";
import { killAtExit, temporaryFolder } from "./cleanup.ts";
import { INITIALIZE } from "./mcp-requests.ts";
import { pinLoad, onCore, SERVER_CORE } from "./cpu-pinning.ts";
import { beyond } from "./statistics.ts";
import { print, rounds } from "./table.ts";

const ROUNDS = 21;
const QUICK_ROUNDS = 3;
const TARGET_MS = 120;

const COUNTER = `import { actor } from "troupe";
export const counter = actor("counter", { description: "A counter.", per: "shared", initial: () => ({ n: 0 }),
  tools: { ring: { description: "Ring it.", run({ state }) { state.n += 1; return state.n; } } } });`;

const ZOD_COUNTER = `import { actor } from "troupe";
import { z } from "zod";
export const zodCounter = actor("zod-counter", { description: "A counter.", per: "shared", initial: () => ({ n: 0 }),
  tools: { ring: { description: "Ring it.", input: z.object({ times: z.number() }), run({ state }, { times }) { state.n += times; return state.n; } } } });`;

/** The minimal server: one file that answers every request with a fixed result. */
const FLOOR = `const answer = (text) => JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result: { serverInfo: { name: "floor" } } });
process.once("SIGTERM", () => process.exit(0));
if (process.argv[2] === "--stdio") process.stdin.once("data", (line) => process.stdout.write(answer(line) + "\\n"));
else {
  const server = process.getBuiltinModule("node:http").createServer((request, response) => {
    request.once("data", (body) => response.end(answer(body)));
  });
  server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ http: "http://127.0.0.1:" + server.address().port })));
}`;

const SDK = "@modelcontextprotocol/server";

const dependencies = (): readonly string[] => {
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.keys(Object(Object(manifest)["dependencies"]));
};

/** Installs the package of `npm pack` in a project. Its dependencies are links to those of this checkout. */
const install = (project: string): void => {
  execFileSync(process.execPath, [join(root, "scripts/build.ts")], { cwd: root, stdio: "inherit" });
  const packed: unknown = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", project], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  const [only]: readonly unknown[] = Object.values(Object(packed));
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "troupe"), { recursive: true });
  execFileSync("tar", ["-xzf", join(project, String(Object(only)["filename"])), "-C", join(modules, "troupe"), "--strip-components=1"]);
  for (const name of [...dependencies(), "zod", SDK]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "packaged", private: true, type: "module" }));
  writeFileSync(join(project, "counter.js"), COUNTER);
  writeFileSync(join(project, "zod-counter.js"), ZOD_COUNTER);
  writeFileSync(join(project, "floor.js"), FLOOR);
  writeFileSync(join(project, "sdk.js"), `import ${JSON.stringify(SDK)};`);
};

/** Starts Node on the server's core. */
const node = (project: string, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess => {
  const [program, all] = onCore(SERVER_CORE, process.execPath, args);
  return killAtExit(spawn(program, all, { cwd: project, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] }));
};

/** Milliseconds until the program has ended. */
const timeToExit = async (project: string, ...args: readonly string[]): Promise<number> => {
  const started = performance.now();
  const child = node(project, args, { NODE_COMPILE_CACHE: join(project, "cache") });
  const code = await new Promise((ended) => child.once("exit", ended));
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${String(code)}.`);
  return performance.now() - started;
};

const lineOf = async ({ stdout }: ChildProcess): Promise<string> => {
  if (stdout === null) throw new TypeError("It has no standard output.");
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error("It ended before it printed a line.");
};

const check = (text: string, name: string): void => {
  const message: unknown = JSON.parse(text);
  const { id, result } = Object(message);
  if (id !== INITIALIZE.id || Object(result)["serverInfo"]?.name !== name) throw new Error(`This is no answer to initialize: ${text}`);
};

/** Milliseconds from the start to the answer to `initialize`. Stops the server gracefully, so that it stores its compile cache. */
const timeToAnswer = async (
  project: string,
  name: string,
  args: readonly string[],
  ask: (server: ChildProcess) => Promise<string>,
): Promise<number> => {
  const started = performance.now();
  const server = node(project, args, { XDG_CACHE_HOME: join(project, "cache"), NODE_COMPILE_CACHE: "" });
  const ended = new Promise((done) => server.once("exit", done));
  const answer = await ask(server);
  const ms = performance.now() - started;
  check(answer, name);
  server.kill("SIGTERM");
  await ended;
  return ms;
};

const served = (
  project: string,
  name: string,
  transport: readonly string[],
  ask: (server: ChildProcess) => Promise<string>,
): Promise<number> => {
  const args = ["serve", `${name}.js`, ...transport, "--data", name, "--json", "--log", "silent"];
  return timeToAnswer(project, name, ["node_modules/troupe/bin/troupe.js", ...args], ask);
};

const ask = JSON.stringify(INITIALIZE);

const overStdio = async (server: ChildProcess): Promise<string> => {
  server.stdin?.write(`${ask}\n`);
  return await lineOf(server);
};

const overHttp = async (server: ChildProcess): Promise<string> => {
  const ready: unknown = JSON.parse(await lineOf(server));
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetch(String(Object(ready)["http"]), { method: "POST", headers, body: ask });
  return await response.text();
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using folder = temporaryFolder();
  const project = folder.path;
  install(project);
  using _ = pinLoad();
  const [bare = [], sdk = [], lines = [], plain = [], stdio = [], http = [], zod = []] = await rounds(
    quick ? QUICK_ROUNDS : ROUNDS,
    () => timeToExit(project, "-e", "0"),
    () => timeToExit(project, "sdk.js"),
    () => timeToAnswer(project, "floor", ["floor.js", "--stdio"], overStdio),
    () => timeToAnswer(project, "floor", ["floor.js"], overHttp),
    () => served(project, "counter", ["--stdio"], overStdio),
    () => served(project, "counter", ["--http", "127.0.0.1:0"], overHttp),
    () => served(project, "zod-counter", ["--stdio"], overStdio),
  );
  print({ what: "node -e 0", measured: bare, unit: "ms" });
  print({ what: "node that imports the official SDK's server, and ends", measured: sdk, unit: "ms" });
  print({ what: "troupe serve to its first answer, stdio", measured: stdio, unit: "ms", target: TARGET_MS, floor: lines });
  print({ what: "the same over HTTP", measured: http, unit: "ms", target: TARGET_MS, floor: plain });
  print({ what: "the same over stdio, a module that imports zod", measured: zod, unit: "ms", target: TARGET_MS, floor: lines });
  print({ what: "stdio, beyond node -e 0", measured: beyond(stdio, bare), unit: "ms" });
};
