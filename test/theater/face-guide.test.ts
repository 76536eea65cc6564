// The guide to Theater is true of the MCP face: its tools, resources, errors and bounds are those of the code.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { faceFixture } from "../../src/bridges/theater/mcp/theater-face.fixture.ts";
import { FACE_LIMITS, THEATER_INFO } from "../../src/bridges/theater/mcp/options.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const guide = read("docs/guide/theater-mcp.md");

/** The cells of a section's rows. */
const rows = (title: string): readonly (readonly string[])[] =>
  (guide.split(/^### /m).find((one) => one.startsWith(`${title}\n`)) ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
const quoted = (text: string | undefined): readonly string[] => Array.from((text ?? "").matchAll(/`([^`]+)`/g), ([, name = ""]) => name);

const viewer = { principal: "guide", scopes: [] };
const schemaOf = (definition: unknown, which: string): { readonly names: readonly string[]; readonly required: readonly unknown[] } => {
  const { properties = {}, required = [] } = Object(Reflect.get(Object(definition), which));
  assert.ok(Array.isArray(required));
  return { names: Object.keys(Object(properties)), required };
};

test("the guide tells Theater's tools with their arguments and results, and none besides", async () => {
  await using made = faceFixture();
  const { tools } = (await made.face.surface(viewer)).catalogue;
  const told = rows("What can be done").filter(([name = "", , result]) => result !== undefined && name.startsWith("`"));
  assert.deepEqual(
    told.flatMap(([name]) => quoted(name)),
    tools.map(({ name }) => name),
  );
  for (const [index, { name, definition }] of tools.entries()) {
    const [, given, result] = told[index] ?? [];
    const input = schemaOf(definition, "inputSchema");
    assert.deepEqual(
      quoted(given),
      input.names.map((one) => (input.required.includes(one) ? one : `${one}?`)),
      name,
    );
    if (name === "get_actor") continue;
    const output = schemaOf(definition, "outputSchema");
    assert.deepEqual(
      quoted(result),
      output.names.map((one) => (output.required.includes(one) ? one : `${one}?`)),
      name,
    );
  }
});

test("the guide tells Theater's resources and prompts", async () => {
  await using made = faceFixture();
  const { resources, prompts } = (await made.face.surface(viewer)).catalogue;
  assert.deepEqual(
    rows("What can be read").flatMap(([uri]) => quoted(uri)),
    resources.map(({ definition }) => definition["uri"] ?? definition["uriTemplate"]),
  );
  for (const { name } of prompts) assert.ok(guide.includes(`\`${name}\` (`), name);
  assert.ok(guide.includes(`\`${THEATER_INFO.name}\` \`${THEATER_INFO.version}\``));
});

test("the guide tells the face's bounds, and every name an error of Theater has", () => {
  const value = (name: string, limit: number): string => {
    if (name.endsWith("Ms")) return `${limit / 1_000} s`;
    if (name.endsWith("Bytes")) return limit >= 1_048_576 ? `${limit / 1_048_576} MiB` : `${limit / 1_024} KiB`;
    return limit.toLocaleString("en-US");
  };
  assert.deepEqual(
    Object.fromEntries(
      rows("Bounds")
        .filter(([name = ""]) => name.startsWith("`"))
        .map(([name, limit]) => [quoted(name)[0] ?? "", limit]),
    ),
    Object.fromEntries(Object.entries(FACE_LIMITS).map(([name, limit]) => [name, value(name, limit)])),
  );
  const codes = /export type StageCode =([^;]+);/.exec(read("src/bridges/theater/stage.ts"))?.[1] ?? "";
  const told = rows("What can be done").filter((cells) => cells.length === 2);
  assert.deepEqual(
    told.flatMap(([names]) => quoted(names)).toSorted(),
    Array.from(codes.matchAll(/"(\w+)"/g), ([, code = ""]) => code).toSorted(),
  );
});
