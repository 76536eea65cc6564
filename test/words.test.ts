// Words that readers stumbled over are not used in the folders that have been rewritten. As nouns and flags they hide who does what:
// say "notified", "stored", "removed", "visible", "the caller".
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { AVOIDED_WORDS } from "../scripts/avoided-words.ts";

const root = resolve(import.meta.dirname, "..");
const files = globSync(["src/core/**/*.ts", "src/mcp/**/*.ts", "src/bridges/embed/**/*.ts"], { cwd: root });

/** In all of these files together: a few sentences need one. */
const MOST = 60;

/** Public, stored and wire names, which other versions and authors read. */
const NAMES = new Set<string>([]);

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

test("the files are read", () => assert.ok(files.length > 200));

test("names of several words use none of the words to avoid", () => {
  assert.deepEqual(
    uses.filter(({ name }) => wordsOf(name.replace("#", "")).length > 1),
    [],
  );
});

test(`the words to avoid occur at most ${MOST} times`, () => {
  const byFile = Map.groupBy(uses, ({ file }) => file);
  assert.ok(uses.length <= MOST, [...byFile].map(([file, all]) => `${file}: ${all.map(({ name }) => name).join(", ")}`).join("\n"));
});
