// The repository as users clone or install it: licence, commands, sizes, and a Node that is too old.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, globSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const names = z.record(z.string(), z.string());
const manifest = z
  .object({
    license: z.string(),
    type: z.string(),
    exports: z.record(z.string(), z.unknown()),
    scripts: names,
    dependencies: names,
    devDependencies: names,
    bin: names,
  })
  .parse(JSON.parse(read("package.json")));

const lock = z
  .object({ packages: z.record(z.string(), z.object({ hasInstallScript: z.boolean().optional(), dev: z.boolean().optional() })) })
  .parse(JSON.parse(read("package-lock.json")));

test("the package is ESM under Apache-2.0, with the command and an export for each public subpath #repository.package", () => {
  assert.deepEqual([manifest.license, manifest.type, manifest.bin["troupe"]], ["Apache-2.0", "module", "bin/troupe.js"]);
  assert.match(read("LICENSE"), /Apache License\s+Version 2\.0/);
  assert.ok("." in manifest.exports && "./server" in manifest.exports && "./mud" in manifest.exports);
});

test("npm ci installs an exact Node 24 whatever the machine has, and npm's scripts run on it #repository.start #repository.node", () => {
  assert.match(manifest.devDependencies["node"] ?? "", /^24\.\d+\.\d+$/);
  assert.match(manifest.scripts["start"] ?? "", /^(?:exec )?node /);
  assert.match(manifest.scripts["test"] ?? "", /^node /);
  const [major] = process.versions.node.split(".");
  assert.equal(major, "24");
});

test("npm run check is format, type-aware lint, types, dead code and tests #repository.check", () => {
  const check = manifest.scripts["check"] ?? "";
  for (const part of ["oxfmt --check", "npm run lint", "npm run types", "npm run knip", "npm test"]) assert.ok(check.includes(part), part);
  assert.match(manifest.scripts["lint"] ?? "", /--type-aware/);
});

test("CI runs only the commands that README documents #repository.ci", () => {
  const readme = read("README.md");
  const calls = read(".ci/run")
    .split("\n")
    .filter((line) => line !== "" && !/^(#|set |cd )/.test(line));
  assert.ok(calls.length > 0);
  for (const call of calls) assert.ok(readme.includes(call), `README does not say ${call}`);
});

test("AGENTS.md has 30 lines at most, ARCHITECTURE.md two pages, README's example 20 lines #repository.readme #repository.pages", () => {
  assert.ok(read("AGENTS.md").split("\n").length <= 31);
  assert.ok(read("ARCHITECTURE.md").length <= 12_000);
  const example = /```ts\n([\s\S]*?)```/.exec(read("README.md"))?.[1] ?? "";
  assert.ok(example.split("\n").length <= 21);
});

test("CONTRIBUTING.md names only files that exist", () => {
  const named = [...read("CONTRIBUTING.md").matchAll(/`((?:src|test|docs|scripts)\/[^`]+)`/g)].map(([, file = ""]) => file);
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((file) => !existsSync(join(root, file))),
    [],
  );
});

test("'Where is it decided?' names only files that exist, and functions that they have", () => {
  const rows = [...read("docs/design/where.md").matchAll(/`((?:cli|core|mcp|bridges|hosts|testing)\/[^`]+\.ts)`(?: \(`(\w+)`\))?/g)];
  assert.ok(rows.length > 50);
  for (const [, file = "", name = ""] of rows) assert.ok(read(`src/${file}`).includes(name), `${file} has ${name}`);
});

test("nothing compiles at install, and what npm ci installs stays under 420 MB #repository.no-compiler #repository.size", () => {
  const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // Its install script downloads a prebuilt Node.
  assert.deepEqual(
    scripted.map(([place]) => place),
    ["node_modules/node"],
  );
  for (const place of Object.keys(lock.packages))
    if (place !== "") assert.equal(existsSync(join(root, place, "binding.gyp")), false, place);
  // Counted by inode, since Node's binary is hard-linked to a second path.
  const files = new Map<number, number>();
  const modules = join(root, "node_modules");
  // .cache belongs to tools, and changes while other tests run.
  for (const name of readdirSync(modules).filter((one) => one !== ".cache")) {
    const place = join(modules, name);
    const entries = lstatSync(place).isDirectory() ? readdirSync(place, { recursive: true, withFileTypes: true }) : [];
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      const { ino, size } = lstatSync(join(entry.parentPath, entry.name));
      files.set(ino, size);
    }
  }
  const bytes = [...files.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < 420 * 1_000_000, `${bytes} bytes`);
});

test("dependencies of single tests, benches or the documentation have a package.json that npm ci ignores #repository.apart", () => {
  for (const file of globSync(["test/*/package.json", "bench/*/package.json", "site/package.json"], { cwd: root })) {
    const { dependencies } = z.object({ private: z.literal(true), dependencies: names }).parse(JSON.parse(read(file)));
    for (const name of Object.keys(dependencies)) {
      if (name in manifest.dependencies || name in manifest.devDependencies) continue;
      assert.equal(`node_modules/${name}` in lock.packages, false, `${name} of ${file} comes with npm ci`);
    }
  }
  for (const name of ["@restatedev/restate-server", "@modelcontextprotocol/conformance", "@modelcontextprotocol/inspector"])
    assert.equal(`node_modules/${name}` in lock.packages, false, name);
});

test("a Node that is too old gets one sentence that states what to do #repository.old-node", async () => {
  const pretend = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.11.0"})';
  const ran = await new Promise<{ readonly code: unknown; readonly stderr: string }>((done) => {
    execFile(process.execPath, ["--import", pretend, join(root, "bin/troupe.js"), "--version"], (error, _out, stderr) =>
      done({ code: error?.code ?? 0, stderr }),
    );
  });
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /^troupe needs Node 24 or newer, and this is Node 20\.11\.0\. Install a newer Node, or .+\.\n$/);
  // An old Node must be able to parse the file up to the check.
  assert.doesNotMatch(read("bin/troupe.js").split("process.exit(1)")[0] ?? "", /^import |\bawait\b|\busing\b/m);
});
