// The names that can be imported, values and types, of every subpath. A change here is deliberate, or a bug.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const root = resolve(import.meta.dirname, "..");
const pins = join(import.meta.dirname, "public-api.txt");
const MOST_OF_ROOT = 40;

const { exports }: { readonly exports: Readonly<Record<string, { readonly "troupe-source": string }>> } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

const REEXPORT = /^export (?<type>type )?(?:\{(?<names>[^}]*)\}|(?<all>\*)) from "(?<from>\.[^"]+)";/gm;
const DECLARED =
  /^export (?<kind>type|interface|(?:declare )?(?:abstract )?class|const|let|function|async function|enum) (?<name>[A-Za-z_$][\w$]*)/gm;
const LOCAL = /^export (?<type>type )?\{(?<names>[^}]*)\};/gm;

interface Names {
  readonly values: Set<string>;
  readonly types: Set<string>;
}

const listed = (names: string): readonly { readonly name: string; readonly isType: boolean }[] =>
  names
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((one) => ({ name: one.replace(/^type /, "").replace(/^.* as /, ""), isType: one.startsWith("type ") }));

/** Types do not exist at run time, so names are read from the text of an index and of the files it re-exports with `*`. */
function namesOf(file: string): Names {
  const text = readFileSync(file, "utf8");
  const names: Names = { values: new Set(), types: new Set() };
  for (const { groups = {} } of text.matchAll(DECLARED)) {
    const isType = groups["kind"] === "type" || groups["kind"] === "interface";
    names[isType ? "types" : "values"].add(groups["name"] ?? "");
  }
  for (const { groups = {} } of [...text.matchAll(REEXPORT), ...text.matchAll(LOCAL)]) {
    const { type, names: given, from } = groups;
    for (const { name, isType } of listed(given ?? "")) names[type !== undefined || isType ? "types" : "values"].add(name);
    if (groups["all"] === undefined || from === undefined) continue;
    const inner = namesOf(join(dirname(file), from));
    for (const name of inner.types) names.types.add(name);
    for (const name of inner.values) names[type === undefined ? "values" : "types"].add(name);
  }
  if (/^export default /m.test(text)) names.values.add("default");
  for (const name of names.values) names.types.delete(name);
  return names;
}

const subpaths = Object.entries(exports).map(([key, entry]) => ({
  name: key === "." ? "troupe" : key.replace(".", "troupe"),
  file: join(root, entry["troupe-source"]),
}));

void test("the public names are the pinned ones, types included #repository.package #repository.public-api #store.suites", () => {
  const found = subpaths
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap(({ name, file }) => {
      const { values, types } = namesOf(file);
      return [name, ...[...values, ...Array.from(types, (type) => `type ${type}`)].toSorted().map((one) => `  ${one}`), ""];
    })
    .join("\n");
  if (process.env["UPDATE_PINS"] !== undefined) writeFileSync(pins, found);
  assert.deepEqual(
    found.split("\n"),
    readFileSync(pins, "utf8").split("\n"),
    "public names changed: if that is meant, run UPDATE_PINS=1 npm test -- test/public-api.test.ts once and say why in the commit",
  );
});

void test("the values that a subpath exports at run time are those read from its text", async () => {
  for (const { name, file } of subpaths) {
    const module: unknown = await import(pathToFileURL(file).href);
    assert.deepEqual(Object.keys(Object(module)).toSorted(), [...namesOf(file).values].toSorted(), name);
  }
});

void test("package.json names every subpath, with no pattern, and each is a file", () => {
  for (const { name, file } of subpaths) {
    assert.ok(!name.includes("*"), name);
    assert.ok(readFileSync(file, "utf8").length > 0, name);
  }
});

void test("`troupe` itself exports what an author of actors uses: at most forty names", () => {
  const { values, types } = namesOf(join(root, "src/index.ts"));
  assert.ok(values.size + types.size <= MOST_OF_ROOT, `${values.size + types.size} names`);
});
