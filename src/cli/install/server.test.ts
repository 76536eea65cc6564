import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { JsonObject } from "../../core/contract/index.ts";
import { CLIENTS } from "./clients.ts";
import { type Place, serverFor, serverName, type ServerOptions } from "./server.ts";

const root = import.meta.dirname;
const PLACE: Place = { cwd: root, node: "/usr/bin/node", program: `${root}/node_modules/troupe/bin/troupe.js`, env: {} };
const [claudeCode, , cursor] = CLIENTS;
assert.ok(claudeCode && cursor);

const PROJECT: ServerOptions = { target: "server.ts", scope: "project" };

void test("a file that is shared with a project contains no path of this machine", () => {
  assert.deepEqual(serverFor(PROJECT, claudeCode, PLACE), {
    how: "stdio",
    command: "node",
    args: ["node_modules/troupe/bin/troupe.js", "serve", "server.ts", "--no-config", "--data", ".troupe", "--stdio"],
  });
  assert.deepEqual(serverFor({ ...PROJECT, target: "shop=./server.ts" }, cursor, PLACE), {
    how: "stdio",
    command: "node",
    args: [
      "${workspaceFolder}/node_modules/troupe/bin/troupe.js",
      "serve",
      "shop=${workspaceFolder}/server.ts",
      "--no-config",
      "--data",
      "${workspaceFolder}/.troupe",
      "--stdio",
    ],
  });
});

void test("the project's folder may be the module, its parent may not", () => {
  const server = serverFor({ ...PROJECT, target: "." }, claudeCode, PLACE);
  assert.equal(server.how === "stdio" && server.args[2], ".");
  assert.throws(() => serverFor({ ...PROJECT, target: ".." }, claudeCode, PLACE), /is outside of/);
});

void test("a Troupe that is linked into a project, as by pnpm, is named by its link", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-install-"));
  const cwd = realpathSync(folder.path);
  const installed = join(cwd, "node_modules/.pnpm/troupe@0.9.0/node_modules/troupe");
  mkdirSync(join(installed, "bin"), { recursive: true });
  const program = join(installed, "bin/troupe.js");
  for (const file of [program, join(cwd, "server.ts")]) writeFileSync(file, "");
  symlinkSync(installed, join(cwd, "node_modules/troupe"));
  const named = (scope: ServerOptions["scope"]): string | false => {
    const server = serverFor({ target: "server.ts", scope }, claudeCode, { ...PLACE, cwd, program });
    return server.how === "stdio" && (server.args[0] ?? "");
  };
  assert.equal(named("project"), "node_modules/troupe/bin/troupe.js");
  assert.equal(named("user"), join(cwd, "node_modules/troupe/bin/troupe.js"));
});

void test("a project that brings its own Node is served with it", () => {
  const own = serverFor(PROJECT, claudeCode, { ...PLACE, node: `${root}/node_modules/node/bin/node` });
  assert.equal(own.how === "stdio" && own.command, "node_modules/node/bin/node");
});

void test("a Troupe in npm's cache is not installed as a command", () => {
  const cached = { ...PLACE, program: "/home/ann/.npm/_npx/1a2b/node_modules/troupe/bin/troupe.js" };
  assert.throws(() => serverFor({ target: "server.ts", scope: "user" }, cursor, cached), /npm install troupe/);
  assert.equal(serverFor({ target: "http://x.example/mcp", scope: "user" }, cursor, cached).how, "http");
});

const config = (settings: JsonObject): ServerOptions => ({ scope: "user", config: { path: `${root}/troupe.config.ts`, settings } });

void test("a project that listens is installed by its address, others as a command", () => {
  for (const [settings, url] of [
    [{ modules: "./server.ts", http: 4000 }, "http://127.0.0.1:4000/mcp"],
    [{ modules: "./server.ts", http: "[::1]:4000" }, "http://[::1]:4000/mcp"],
    [{ modules: "./server.ts", http: "0.0.0.0:4000", resource: "https://mcp.example/mcp" }, "https://mcp.example/mcp"],
  ] as const)
    assert.deepEqual(serverFor(config(settings), cursor, PLACE), { how: "http", url });
  for (const settings of [{ modules: "./server.ts" }, { modules: "./server.ts", http: 0 }])
    assert.equal(serverFor(config(settings), cursor, PLACE).how, "stdio");
});

void test("the name is the given one, or that of the project, the module or the host", () => {
  for (const [options, name] of [
    [{ name: "mine", target: "a/door.ts" }, "mine"],
    [{ target: "a/door.ts" }, "door"],
    [{ target: "a/b/index.ts" }, "b"],
    [{ target: "x=a/my door.mts" }, "my-door"],
    [{ target: "https://mcp.example.com/mcp" }, "mcp-example-com"],
    [config({ modules: ["./lib.ts", "./b.ts"] }), "lib"],
    [config({ modules: "./lib.ts", name: "The library" }), "The-library"],
  ] as const)
    assert.equal(serverName({ scope: "user", ...options }), name);
  for (const options of [{}, { target: "http://127.0.0.1:3000/mcp" }, { name: "../x" }, { name: "" }, { target: "…" }])
    assert.throws(() => serverName({ scope: "user", ...options }), /--name/);
});
