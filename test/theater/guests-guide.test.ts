// The guide to Theater is true of guests: handlers, limits and the manifest it shows are those of the code.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { THEATER_LIMITS } from "../../src/bridges/theater/server/options.ts";
import { GUEST_LIMITS, MOST_GUEST_LIMITS, readManifest } from "../../src/bridges/wasm/index.ts";
import { UNSUPPORTED_HANDLERS, HANDLERS } from "../../src/bridges/wasm/manifest/read-manifest.ts";

const page = (name: string): string => readFileSync(join(resolve(import.meta.dirname, "../.."), `docs/guide/${name}.md`), "utf8");
/** The cells of the rows below such a head. */
const rowsBelow = (text: string, head: string): readonly (readonly string[])[] => {
  const [, table = ""] = text.split(`\n${head}\n`);
  return (table.split("\n\n")[0] ?? "")
    .split("\n")
    .slice(1)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
};
const quoted = (text = ""): readonly string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
const MIB = 1_048_576;
const written = (name: string, value: number): string =>
  name.endsWith("Ms") ? `${value / 1_000} s` : name.endsWith("Bytes") ? `${value / MIB} MiB` : value.toLocaleString("en-US");

test("the guide tells the handlers there are, settings that each takes, and those that are elsewhere", () => {
  const manifests = page("theater-manifests");
  const rows = rowsBelow(manifests, "| handler (`type`) | what it grants | its settings |");
  assert.deepEqual(rows.flatMap(([type]) => quoted(type)).toSorted(), Object.keys(HANDLERS).toSorted());
  for (const type of Object.keys(UNSUPPORTED_HANDLERS)) assert.ok(manifests.includes(`\`${type}\``), type);
  for (const [type, , settings] of rows) {
    const names = quoted(settings).filter((name) => /^[a-z]+(?:_[a-z]+)*$/.test(name));
    // A value that no setting takes: whoever reads it says so, and whoever does not passes it over.
    for (const name of names)
      assert.throws(
        () => readManifest(`name = "x"\n[[handlers]]\ntype = "${quoted(type)[0]}"\nconfig = { ${name} = 1979-05-27 }`),
        { name: "ManifestError", message: new RegExp(name) },
        name,
      );
  }
});

test("the manifest that the guide shows is one", () => {
  const [, toml = ""] = /```toml\n([\s\S]*?)```/.exec(page("theater-manifests")) ?? [];
  const { onError, limits, grants } = readManifest(toml);
  assert.deepEqual([onError, limits], ["restart", { callMs: 250, memoryBytes: 16 * MIB }]);
  assert.deepEqual(grants, { httpClient: { allowed: ["api.example.org", "https://example.org/v1/"] } });
});

test("the guide tells the limits of a guest's call, and those of the Theater server", () => {
  const rows = rowsBelow(page("theater"), "| of one call | default | at most, by the manifest |");
  assert.deepEqual(
    Object.fromEntries(rows.map(([name, value]) => [quoted(name)[0] ?? "", value])),
    Object.fromEntries(Object.entries(GUEST_LIMITS).map(([name, value]) => [name, written(name, value)])),
  );
  assert.deepEqual(
    Object.fromEntries(rows.filter(([, , most]) => most !== "").map(([name, , most]) => [quoted(name)[0] ?? "", most])),
    Object.fromEntries(Object.entries(MOST_GUEST_LIMITS).map(([name, value]) => [name, written(name, value)])),
  );
  const { subscriptions, channels, connections, frameBytes } = THEATER_LIMITS;
  const server = `at most ${subscriptions} subscriptions and ${channels} channels, there are ${connections} connections, and a frame has at most ${frameBytes / MIB} MiB`;
  assert.ok(page("theater-protocol").includes(server), server);
});
