// test/promises.json lists what Troupe promises. The name of a test of a promise ends with the promise's id: `#actor.restart`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import promises from "./promises.json" with { type: "json" };
import { namedTests, testFiles } from "./test-names.ts";

const ids = Object.keys(promises);

test("the names of tests and the promises are read", () => {
  assert.ok(namedTests.length > 500, `${namedTests.length} names`);
  assert.ok(ids.length > 200);
});

test("every promise has at least one test #repository.requirements", () => {
  const tags = new Set(namedTests.flatMap((one) => one.tags));
  assert.deepEqual(
    ids.filter((id) => !tags.has(id)),
    [],
  );
});

test("every tag of a test is the id of a promise", () => {
  const known = new Set(ids);
  assert.deepEqual(
    namedTests.flatMap(({ file, tags }) => tags.filter((tag) => !known.has(tag)).map((tag) => `${file}: #${tag}`)),
    [],
  );
});

test("every promise has an id of at least two words and a sentence", () => {
  for (const [id, sentence] of Object.entries(promises)) {
    assert.match(id, /^[a-z0-9]+(?:[.-][a-z0-9]+)+$/);
    assert.ok(sentence.length > 10, id);
  }
});

test("no promise is listed twice", () => {
  const text = readFileSync(join(import.meta.dirname, "promises.json"), "utf8");
  assert.equal([...text.matchAll(/^ {2}"/gm)].length, ids.length);
});

test("each law and invariant has a test whose name begins with it, and all use one spelling", () => {
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

test("no test is skipped, marked as todo or run exclusively", () => {
  const root = resolve(import.meta.dirname, "..");
  const bad = testFiles.filter((file) =>
    /\b(?:test|it|describe)\.(?:skip|todo|only)\(|\b(?:skip|todo|only): true/.test(readFileSync(join(root, file), "utf8")),
  );
  assert.deepEqual(bad, []);
});
