import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { CommandError, EXIT } from "../command-error.ts";
import { readConfigFile } from "./packets.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-config-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const written = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

const usage =
  (code: string, sentence: RegExp) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof CommandError, String(error));
    assert.deepEqual([error.exit, error.code], [EXIT.usage, code]);
    assert.match(error.message, sentence);
    return true;
  };

test("a configuration may be JSON or YAML, and an empty file gives the defaults", () => {
  const json = readConfigFile(written("a.json", '{"actors": {"max_actors_per_user": 3}, "mcp": {"expose_capabilities": ["a"]}}'));
  for (const name of ["a.yaml", "a.YML"]) {
    const yaml = readConfigFile(written(name, "actors:\n  max_actors_per_user: 3\nmcp:\n  expose_capabilities: [a]\n"));
    assert.deepEqual(yaml, json);
  }
  assert.equal(json.actors.max_actors_per_user, 3);
  assert.equal(json.actors.default_timeout, 1_800_000);
  assert.deepEqual(readConfigFile(written("empty.yaml", "# nothing\nactors:\n")), readConfigFile(written("b.json", "{}")));
});

test("a configuration may begin with a byte order mark", () => {
  const json = '{"actors": {"max_actors_per_user": 3}}';
  const plain = readConfigFile(written("plain.json", json));
  assert.deepEqual(readConfigFile(written("bom.json", `\uFEFF${json}`)), plain);
  assert.deepEqual(readConfigFile(written("bom.yaml", "\uFEFFactors:\n  max_actors_per_user: 3\n")), plain);
});

test("the error for an unreadable configuration names the file and the reason", () => {
  for (const [file, code, sentence] of [
    [written("odd.toml", ""), "USAGE", /\.json, \.yaml or \.yml, not .*odd\.toml/],
    [join(folder, "none.json"), "USAGE", /none\.json cannot be read: there is no such file/],
    [written("broken.json", "{"), "USAGE", /broken\.json cannot be read/],
    [written("broken.yaml", "a: [1\nb: 2"), "USAGE", /broken\.yaml cannot be read: .*line 2/],
    [written("twice.yaml", "mcp: {}\nmcp: {}\n"), "USAGE", /twice\.yaml cannot be read: .*unique/],
    [written("large.json", " ".repeat(1_048_577)), "USAGE", /large\.json has more than/],
    [
      written("wrong.yaml", "actors:\n  defaultTimeout: 5\n"),
      "BAD_DEFINITION",
      /wrong\.yaml: .*actors\.defaultTimeout: .*Did you mean default_timeout\?/,
    ],
  ] as const)
    assert.throws(() => readConfigFile(file), usage(code, sentence));
});

test("a configuration file with exponential aliases is refused", () => {
  const levels = Array.from(
    { length: 12 },
    (_, at) =>
      `  l${at}: &l${at} [${
        at === 0
          ? "x"
          : Array(10)
              .fill(`*l${at - 1}`)
              .join(", ")
      }]`,
  );
  assert.throws(() => readConfigFile(written("bomb.yaml", `mcp:\n${levels.join("\n")}\n`)), usage("USAGE", /bomb\.yaml cannot be read/));
});
