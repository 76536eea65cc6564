// From `troupe serve` to the first answer, installed as users have it, beside Node alone and the official SDK's import.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Asked } from "./asked.ts";
import { root } from "./child.ts";
import { ours, temporaryFolder } from "./leftovers.ts";
import { INITIALIZE } from "./mcp.ts";
import { loadOnItsCore, onCore, SERVER_CORE } from "./pin.ts";
import { beyond } from "./statistics.ts";
import { print, rounds } from "./table.ts";

const ROUNDS = 21;
const QUICK_ROUNDS = 3;
const TARGET_MS = 120;

const BELL = `import { actor } from "troupe";
export const bell = actor("bell", { description: "A bell.", per: "shared", initial: () => ({ n: 0 }),
  tools: { ring: { description: "Ring it.", run({ state }) { state.n += 1; return state.n; } } } });`;

const CHIME = `import { actor } from "troupe";
import { z } from "zod";
export const chime = actor("chime", { description: "A chime.", per: "shared", initial: () => ({ n: 0 }),
  tools: { ring: { description: "Ring it.", input: z.object({ times: z.number() }), run({ state }, { times }) { state.n += times; return state.n; } } } });`;

/** What no server can be without: one file that has node:http and answers, whatever it is asked, with what follows from the id. */
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

/** The package as `npm pack` makes it, in a project; what it depends on is this checkout's. */
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
  writeFileSync(join(project, "bell.js"), BELL);
  writeFileSync(join(project, "chime.js"), CHIME);
  writeFileSync(join(project, "floor.js"), FLOOR);
  writeFileSync(join(project, "sdk.js"), `import ${JSON.stringify(SDK)};`);
};

/** On the server's core, with a place of its own for compiled code. With stdio, its standard error has the line that says it is ready. */
const node = (project: string, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess => {
  const [program, all] = onCore(SERVER_CORE, process.execPath, args);
  return ours(spawn(program, all, { cwd: project, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] }));
};

/** Milliseconds until it ended by itself. */
const whole = async (project: string, ...args: readonly string[]): Promise<number> => {
  const started = performance.now();
  const child = node(project, args, { NODE_COMPILE_CACHE: join(project, "cache") });
  const code = await new Promise((ended) => child.once("exit", ended));
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${String(code)}.`);
  return performance.now() - started;
};

const lineOf = async ({ stdout }: ChildProcess): Promise<string> => {
  if (stdout === null) throw new TypeError("It has no standard output.");
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error("It ended before it said anything.");
};

const check = (text: string, name: string): void => {
  const message: unknown = JSON.parse(text);
  const { id, result } = Object(message);
  if (id !== INITIALIZE.id || Object(result)["serverInfo"]?.name !== name) throw new Error(`This is no answer to initialize: ${text}`);
};

/** Milliseconds from its start to its answer to `initialize`. It ends as it should: so its compiled code is kept. */
const answered = async (
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
  door: readonly string[],
  ask: (server: ChildProcess) => Promise<string>,
): Promise<number> => {
  const words = ["serve", `${name}.js`, ...door, "--data", name, "--json", "--log", "silent"];
  return answered(project, name, ["node_modules/troupe/bin/troupe.js", ...words], ask);
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

export const run = async ({ quick }: Asked): Promise<void> => {
  using folder = temporaryFolder();
  const project = folder.path;
  install(project);
  using _ = loadOnItsCore();
  const [bare = [], sdk = [], lines = [], plain = [], stdio = [], http = [], zod = []] = await rounds(
    quick ? QUICK_ROUNDS : ROUNDS,
    () => whole(project, "-e", "0"),
    () => whole(project, "sdk.js"),
    () => answered(project, "floor", ["floor.js", "--stdio"], overStdio),
    () => answered(project, "floor", ["floor.js"], overHttp),
    () => served(project, "bell", ["--stdio"], overStdio),
    () => served(project, "bell", ["--http", "127.0.0.1:0"], overHttp),
    () => served(project, "chime", ["--stdio"], overStdio),
  );
  print({ what: "node -e 0", measured: bare, unit: "ms" });
  print({ what: "node that imports the official SDK's server, and ends", measured: sdk, unit: "ms" });
  print({ what: "troupe serve to its first answer, stdio", measured: stdio, unit: "ms", target: TARGET_MS, floor: lines });
  print({ what: "the same over HTTP", measured: http, unit: "ms", target: TARGET_MS, floor: plain });
  print({ what: "the same over stdio, a module that imports zod", measured: zod, unit: "ms", target: TARGET_MS, floor: lines });
  print({ what: "stdio, beyond node -e 0", measured: beyond(stdio, bare), unit: "ms" });
};
