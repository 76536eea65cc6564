import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import type { JsonObject } from "../core/contract/index.ts";
import { dependenciesOf, filesOf, includedFiles } from "./bundle-files.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "troupe-include-")));
after(() => rmSync(base, { recursive: true, force: true }));
const project = join(base, "project");

for (const file of [
  "outside.txt",
  "project/.env",
  "project/keys.json",
  "project/data/page.md",
  "project/data/test/case.txt",
  "project/data/.hidden",
  "project/data/node_modules/a/index.js",
  "project/shared.txt",
]) {
  mkdirSync(dirname(join(base, file)), { recursive: true });
  writeFileSync(join(base, file), "");
}

const link = (name: string, to: string): string => {
  mkdirSync(join(project, name));
  symlinkSync(to, join(project, name, "link"));
  return join(project, name);
};

const included = (...paths: readonly string[]): readonly string[] => [...includedFiles(paths, project, join(project, "keys.json")).keys()];

void test("a folder is included without hidden files and packages", () => {
  assert.deepEqual(included(join(project, "data"), join(project, "shared.txt")).toSorted(), [
    "data/page.md",
    "data/test/case.txt",
    "shared.txt",
  ]);
});

void test("a link to a file of the project is included as that file", () => {
  assert.deepEqual(included(link("inward", "../shared.txt")), ["inward/link"]);
});

for (const [what, path, why] of [
  ["the whole project", project, /not all of it/],
  ["the folder above", base, /outside of the project/],
  ["a file outside", join(base, "outside.txt"), /outside of the project/],
  ["a link to a file outside", link("outward", join(base, "outside.txt")), /outside of the project/],
  ["a link to a hidden file", link("hidden", "../.env"), /is not bundled/],
  ["a link to nothing", link("dangling", "nowhere"), /leads to nothing/],
  [".env", join(project, ".env"), /--env/],
  ["the server's keys", join(project, "keys.json"), /holds the keys/],
  ["a link to the server's keys", link("keys", "../keys.json"), /holds the keys/],
  ["what is not there", join(project, "absent"), /there is no/],
] as const)
  void test(`${what} cannot be included`, () => {
    assert.throws(() => included(path), why);
  });

const packagesBase = realpathSync(mkdtempSync(join(tmpdir(), "troupe-packages-")));
after(() => rmSync(packagesBase, { recursive: true, force: true }));

const write = (path: string, text = ""): void => {
  mkdirSync(dirname(join(packagesBase, path)), { recursive: true });
  writeFileSync(join(packagesBase, path), text);
};

const install = (folder: string, manifest: JsonObject): void => write(`${folder}/package.json`, JSON.stringify(manifest));

const placed = (...roots: readonly (readonly [from: string, to: string])[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    dependenciesOf(roots.map(([from, to]) => ({ from: join(packagesBase, from), to }))).map(({ from, to }) => [
      to,
      from.slice(packagesBase.length + 1),
    ]),
  );

void test("two versions of a package are placed where their dependents find them", () => {
  install("app", { dependencies: { a: "1", b: "1" }, devDependencies: { missing: "1" }, optionalDependencies: { absent: "1" } });
  install("app/node_modules/a", { dependencies: { c: "1" } });
  install("app/node_modules/b", { dependencies: { c: "2" } });
  install("app/node_modules/c", {});
  install("app/node_modules/b/node_modules/c", {});
  install("troupe", { dependencies: { c: "3", d: "1" } });
  install("troupe/node_modules/c", {});
  install("troupe/node_modules/d", { dependencies: { c: "3" } });
  assert.deepEqual(placed(["app", ""], ["troupe", "node_modules/troupe"]), {
    "node_modules/a": "app/node_modules/a",
    "node_modules/c": "app/node_modules/c",
    "node_modules/b": "app/node_modules/b",
    "node_modules/b/node_modules/c": "app/node_modules/b/node_modules/c",
    "node_modules/troupe/node_modules/c": "troupe/node_modules/c",
    "node_modules/d": "troupe/node_modules/d",
    "node_modules/d/node_modules/c": "troupe/node_modules/c",
  });
});

void test("a peer of a package is copied as npm installed it, unless it is optional or missing", () => {
  install("host", { dependencies: { plugin: "1" }, peerDependencies: { own: "1" } });
  install("host/node_modules/own", {});
  install("host/node_modules/plugin", {
    peerDependencies: { core: "1", extra: "1", missing: "1" },
    peerDependenciesMeta: { extra: { optional: true } },
  });
  install("host/node_modules/core", { dependencies: { deep: "1" } });
  install("host/node_modules/deep", {});
  install("host/node_modules/extra", {});
  assert.deepEqual(Object.keys(placed(["host", ""])).toSorted(), [
    "node_modules/core",
    "node_modules/deep",
    "node_modules/own",
    "node_modules/plugin",
  ]);
});

void test("a package's dependency does not take the place of a later one of the project", () => {
  install("later", { dependencies: { a: "1", x: "2" } });
  install("later/node_modules/a", { dependencies: { x: "1" } });
  install("later/node_modules/a/node_modules/x", {});
  install("later/node_modules/x", {});
  assert.deepEqual(placed(["later", ""]), {
    "node_modules/a": "later/node_modules/a",
    "node_modules/x": "later/node_modules/x",
    "node_modules/a/node_modules/x": "later/node_modules/a/node_modules/x",
  });
});

void test("a later dependency does not hide what an earlier one finds at the top", () => {
  install("hidden", { dependencies: { b: "1", x: "1", a: "1" } });
  install("hidden/node_modules/b", {});
  install("hidden/node_modules/x", {});
  install("hidden/node_modules/a", { dependencies: { b: "2", x: "2" } });
  install("hidden/node_modules/a/node_modules/b", { dependencies: { x: "1" } });
  install("hidden/node_modules/a/node_modules/x", {});
  mkdirSync(join(packagesBase, "hidden/node_modules/a/node_modules/b/node_modules"));
  symlinkSync(join(packagesBase, "hidden/node_modules/x"), join(packagesBase, "hidden/node_modules/a/node_modules/b/node_modules/x"));
  assert.deepEqual(placed(["hidden", ""]), {
    "node_modules/b": "hidden/node_modules/b",
    "node_modules/x": "hidden/node_modules/x",
    "node_modules/a": "hidden/node_modules/a",
    "node_modules/a/node_modules/b": "hidden/node_modules/a/node_modules/b",
    "node_modules/a/node_modules/x": "hidden/node_modules/a/node_modules/x",
    "node_modules/a/node_modules/b/node_modules/x": "hidden/node_modules/x",
  });
});

void test("linked packages, as of pnpm, and circular dependencies are placed once", () => {
  install("linked", { dependencies: { a: "1" } });
  install("linked/node_modules/.pnpm/a@1/node_modules/a", { dependencies: { b: "1" } });
  install("linked/node_modules/.pnpm/b@1/node_modules/b", { dependencies: { a: "1" } });
  symlinkSync(join(packagesBase, "linked/node_modules/.pnpm/a@1/node_modules/a"), join(packagesBase, "linked/node_modules/a"));
  symlinkSync(
    join(packagesBase, "linked/node_modules/.pnpm/b@1/node_modules/b"),
    join(packagesBase, "linked/node_modules/.pnpm/a@1/node_modules/b"),
  );
  symlinkSync(
    join(packagesBase, "linked/node_modules/.pnpm/a@1/node_modules/a"),
    join(packagesBase, "linked/node_modules/.pnpm/b@1/node_modules/a"),
  );
  assert.deepEqual(Object.keys(placed(["linked", ""])), ["node_modules/a", "node_modules/b"]);
});

void test("the error for a missing package names it", () => {
  install("bare", { dependencies: { nowhere: "1" } });
  assert.throws(() => placed(["bare", ""]), /The package nowhere, .*npm install/);
});

void test("files for other tools are left out, and licences stay", () => {
  for (const file of ["a.js", "a.js.map", "a.d.ts", "README.md", "LICENSE.md", "test/x.js", "data.json", "node_modules/z/index.js"])
    write(`files/${file}`);
  assert.deepEqual(filesOf(join(packagesBase, "files")), ["LICENSE.md", "a.js", "data.json"]);
});
