import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { includedFiles } from "./include.ts";

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

void test("a folder is included with all that code may read, but without hidden files and packages", () => {
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
