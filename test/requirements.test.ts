import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { requirements } from "./requirements.ts";
import { namedTests, testFiles } from "./test-names.ts";

const paths = new Set(namedTests.map(({ path }) => path));

test("the walk sees the tests there are", () => {
  assert.ok(namedTests.length > 500, `${namedTests.length} names`);
  assert.ok(requirements.length > 200);
});

test("every promise names tests that exist", () => {
  const missing = requirements.flatMap(({ id, tests }) => tests.filter((name) => !paths.has(name)).map((name) => `${id}: ${name}`));
  assert.deepEqual(missing, []);
  assert.deepEqual(
    requirements.filter(({ tests }) => tests.length === 0).map(({ id }) => id),
    [],
  );
});

test("every promise has an id of its own and a sentence", () => {
  const ids = requirements.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
  for (const { id, says } of requirements) {
    assert.match(id, /^[a-z0-9]+(?:[.-][a-z0-9]+)+$/);
    assert.ok(says.length > 10, id);
  }
});

test("a test that is cited is the only one of its name", () => {
  const cited = new Set(requirements.flatMap(({ tests }) => tests));
  const twice = [...cited].filter((path) => namedTests.filter((one) => one.path === path).length > 1);
  assert.deepEqual(twice, []);
});

test("each law and invariant has a test whose name begins with it, and all are spelled alike", () => {
  for (const label of ["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8"])
    assert.ok(
      namedTests.some(({ name }) => new RegExp(`^(?:C\\d )*${label} `).test(name)),
      label,
    );
  for (const label of ["law 1", "law 2", "law 3", "law 4"])
    assert.ok(
      namedTests.some(({ name }) => name.startsWith(`${label}: `)),
      label,
    );
  assert.deepEqual(
    namedTests
      .filter(({ name }) => /^(?:C\d|law)\b/i.test(name) && !/^(?:(?:C[1-8] )+[^:\s]|law [1-4]: )/.test(name))
      .map(({ name }) => name),
    [],
  );
});

test("no test is skipped, left for later or run alone", () => {
  const root = resolve(import.meta.dirname, "..");
  const bad = testFiles.filter((file) =>
    /\b(?:test|it|describe)\.(?:skip|todo|only)\(|\b(?:skip|todo|only): true/.test(readFileSync(join(root, file), "utf8")),
  );
  assert.deepEqual(bad, []);
});
