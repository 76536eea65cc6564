// The code of docs/recipes is tested: a page has all of test/recipes/<page>.ts and a part of test/recipes/recipes.test.ts.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { test } from "node:test";
import { unformatted } from "./guide-code.ts";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const namesOf = (pattern: string): readonly string[] => globSync(pattern, { cwd: root }).map((file) => basename(file).split(".")[0] ?? "");

const pages = namesOf("docs/recipes/*.md").filter((name) => name !== "README");
const tests = read("test/recipes/recipes.test.ts");

const IMPORT = /^import (?:(\w+|\* as \w+)(?:, )?)?(?:\{([^}]*)\})? ?from "([^"]+)";$/gm;

/** `module name` for each name that is imported. */
const importsOf = (code: string): readonly string[] =>
  [...code.matchAll(IMPORT)].flatMap(([, whole, names = "", from]) =>
    [...(whole === undefined ? [] : [whole]), ...names.split(",")]
      .map((name) => `${from} ${name.trim()}`)
      .filter((line) => !line.endsWith(" ")),
  );

test("there are at least 20 recipes, each with its code, and the index lists them all", () => {
  assert.ok(pages.length >= 20);
  const code = namesOf("test/recipes/*.ts").filter((name) => name !== "recipes");
  assert.deepEqual(pages.toSorted(), code.toSorted());
  const listed = [...read("docs/recipes/README.md").matchAll(/\]\(([a-z-]+)\.md\)/g)].map(([, name = ""]) => name);
  assert.deepEqual(listed.toSorted(), pages.toSorted());
});

for (const name of pages)
  test(`the recipe ${name} shows code that is tested`, () => {
    const page = read(`docs/recipes/${name}.md`);
    const blocks = [...page.matchAll(/```ts\n([\s\S]*?)\n```/g)].map(([, block = ""]) => block);
    const [code = "", output = "", ...others] = blocks;
    assert.deepEqual(others, []);
    const file = read(`test/recipes/${name}.ts`);
    assert.equal(unformatted(`// ${name}.ts\n${file.slice(file.indexOf("\n") + 1)}`), unformatted(code));
    assert.ok(output.startsWith(`// ${name}.test.ts\n`));
    const body = output.replace(/^.*\n/, "").replaceAll(IMPORT, "").trim();
    assert.ok(body.startsWith("test("), body);
    assert.ok(unformatted(tests).includes(unformatted(body)), body);
    const imported = importsOf(tests);
    assert.deepEqual(
      importsOf(output).filter((one) => !imported.includes(one)),
      [],
    );
    const prose = page.replaceAll(/```[\s\S]*?```/g, "");
    assert.ok(prose.split("\n").length <= 50, "a recipe is code and a few sentences");
    for (const [command] of page.matchAll(/\btroupe [a-z][^`\n]*/g))
      for (const [served] of command.matchAll(/[\w-]+\.ts\b/g)) assert.equal(served, `${name}.ts`, `the page has no such file: ${command}`);
  });
