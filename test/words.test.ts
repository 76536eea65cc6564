// Words that readers stumbled over are hardly used in the sources. As nouns and flags they hide who does what:
// say "notified", "stored", "removed", "visible", "the caller".
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { AVOIDED_WORDS } from "../scripts/avoided-words.ts";

const root = resolve(import.meta.dirname, "..");
const files = globSync("src/**/*.ts", { cwd: root });

/** In all files of such a part together. A few sentences need one; error texts, stored values and wire names of the bridges cannot change. */
const LIMITS: readonly { readonly part: string; readonly holds: RegExp; readonly most: number }[] = [
  { part: "core, mcp and embed, with their tests", holds: /^src\/(?:core|mcp|bridges\/embed)\//, most: 60 },
  { part: "the sources", holds: /^src\/(?!.*\.(?:test|fixture)\.ts$)/, most: 220 },
  { part: "the sources with their tests", holds: /^src\//, most: 720 },
];

/** Public, stored and wire names, which other versions and authors read. */
const NAMES = new Set(["GuestHouseOptions", "SERVER_GONE", "STRAY_ERROR", "shelf__switch", "troupe_every_gone"]);

const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);

interface Use {
  readonly file: string;
  readonly name: string;
}

const uses: readonly Use[] = files.flatMap((file) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/[A-Za-z#_$][\w$]*/g)].flatMap(([name]) =>
    !NAMES.has(name) && wordsOf(name).some((word) => AVOIDED_WORDS.has(word)) ? [{ file, name }] : [],
  ),
);

test("the files are read", () => assert.ok(files.length > 1_000));

test("names of several words use none of the words to avoid", () => {
  assert.deepEqual(
    uses.filter(({ name }) => wordsOf(name.replace("#", "")).length > 1),
    [],
  );
});

for (const { part, holds, most } of LIMITS)
  test(`the words to avoid occur at most ${most} times in ${part}`, () => {
    const found = uses.filter(({ file }) => holds.test(file));
    const byFile = Map.groupBy(found, ({ file }) => file);
    const list = [...byFile].map(([file, all]) => `${file}: ${all.map(({ name }) => name).join(", ")}`);
    assert.ok(found.length <= most, `${found.length} uses\n${list.join("\n")}`);
  });
