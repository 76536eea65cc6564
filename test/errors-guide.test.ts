// docs/guide/errors.md lists exactly the stable error codes, with their meaning.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { describeFailure, EXIT } from "../src/cli/command-error.ts";
import { EngineError } from "../src/core/contract/index.ts";
import { createServer } from "../src/mcp/server/index.ts";
import { testServer } from "../src/testing/index.ts";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const page = read("docs/guide/errors.md");

/** A section's rows, cell by cell. */
const rowsOf = (title: string): readonly (readonly string[])[] => {
  const section = page.split(/^## /m).find((one) => one.startsWith(`${title}\n`));
  assert.ok(section !== undefined, title);
  return section
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
};
const codesIn = (text: string): readonly string[] => Array.from(text.matchAll(/`([A-Z][A-Z_]+)`/g), ([, code = ""]) => code);
const first = (title: string): readonly string[] => rowsOf(title).flatMap(([cell = ""]) => codesIn(cell));
const all = (text: string, pattern: RegExp): readonly string[] => [...new Set(Array.from(text.matchAll(pattern), ([, code = ""]) => code))];

const contract = read("src/core/contract/errors.ts");
const union = (name: string): readonly string[] => {
  const body = new RegExp(`export type ${name} =([^;]+);`).exec(contract)?.[1] ?? "";
  return all(body, /"([A-Z_]+)"/g);
};

const sources = globSync("src/**/*.ts", { cwd: root, exclude: ["src/testing/**"] })
  .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
  .map((file) => [file, read(file)] as const);

const same = (found: readonly string[], documented: readonly string[], what: string): void =>
  assert.deepEqual([...new Set(documented)].toSorted(), [...new Set(found)].toSorted(), what);

test("the guide to errors has every code of the contract, and no other", () => {
  same(union("EngineCode"), first("Faults of engines"), "engines");
  same(union("StoreCode"), first("Faults of stores"), "stores");
  same([...union("SurfaceCode"), ...union("ListenCode")], first("Faults at the start"), "start");
  same(union("SqlCode"), first("Queries in SQL"), "SQL");
  assert.ok(union("EngineCode").length > 15 && union("StoreCode").length > 5);
});

test("the guide to errors has every refusal of Troupe itself", () => {
  const given = sources.flatMap(([file, text]) => [
    ...all(text, /\brefused\(\s*"([A-Z_]+)"/g),
    ...(file.startsWith("src/bridges/wasm/") ? all(text, /\brefusal\(\s*"([A-Z_]+)"/g) : []),
    ...all(text, /refused: \{\s*code: "([A-Z_]+)"/g),
    ...all(text, /\[REFUSED_META\]: \{ code: "([A-Z_]+)"/g),
    ...(file.startsWith("src/core/actor/") ? all(text, /\bcode(?:: | \?\? )"([A-Z_]+)"/g) : []),
    ...(file.startsWith("src/core/actor/") ? all(text, /options\?\.code \?\? "([A-Z_]+)"/g) : []),
  ]);
  same(given, first("Refusals"), "refusals");
});

test("arguments that do not match a tool's schema are reported by path, as in the guide", async () => {
  const greeter = createServer("greeter", "1.0.0");
  const input = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
  greeter.tools.register({ name: "greet", input }, ({ args: { name } }) => `Hello, ${name}.`);
  await using server = await testServer(greeter);
  const { _meta: meta } = await server.client().callTool("greet", {});
  const issues = [{ path: "name", message: "must have required property 'name'" }];
  assert.deepEqual(meta, { "troupe/refused": { code: "INVALID", data: { issues } } });
});

test("the guide to errors has the number and status of every fault in either era", () => {
  const table = /const TABLE = \{([\s\S]*?)\n\} as const/.exec(read("src/mcp/gateway/errors.ts"))?.[1] ?? "";
  const rows = Array.from(
    table.matchAll(/^ {2}([A-Z_]+): \{ legacy: \[(-\d+), (\d+)\], modern: \[(-\d+), (\d+)\] \},$/gm),
    ([, kind = "", old, oldStatus, modern, modernStatus]) => [`\`${kind}\``, `${old}, ${oldStatus}`, `${modern}, ${modernStatus}`],
  );
  assert.equal(rows.length, table.split("\n").filter((line) => line.includes("legacy:")).length);
  assert.deepEqual(
    rowsOf("JSON-RPC")
      .slice(1)
      .map((row) => row.slice(0, 3)),
    rows,
  );
});

test("the guides to errors and to the command line list every code under its exit code #cli.exit-codes", () => {
  const rows = rowsOf("The command line");
  const exits = rows.filter(([exit = ""]) => /^\d$/.test(exit));
  assert.deepEqual(
    exits.map(([exit]) => Number(exit)),
    Object.values(EXIT),
  );
  for (const [exit, codes = ""] of exits)
    for (const code of codesIn(codes)) {
      const thrown = [
        ...union("EngineCode"),
        ...union("StoreCode"),
        ...union("SurfaceCode"),
        ...union("ListenCode"),
        ...union("SqlCode"),
      ].find((one) => one === code);
      // The exit code depends only on the error code, not on its class.
      if (thrown !== undefined)
        assert.equal(describeFailure(Object.assign(new EngineError("CRASHED", ""), { code: thrown })).exit, Number(exit), code);
    }
  const ofCommands = sources
    .filter(([file]) => file.startsWith("src/cli/"))
    .flatMap(([, text]) => [...all(text, /new CommandError\(\s*EXIT\.\w+,\s*"([A-Z_]+)"/g), ...all(text, /(?:\?|:|,) "(FAILED)"/g)]);
  // The console shares these codes.
  const own = [...ofCommands, ...all(read("src/bridges/operate/operation-error.ts"), /^ \* \| ([A-Z_]+) \|/gm)];
  const documented = exits.flatMap(([, codes = ""]) => codesIn(codes));
  const contracts = new Set([
    ...union("EngineCode"),
    ...union("StoreCode"),
    ...union("SurfaceCode"),
    ...union("ListenCode"),
    ...union("SqlCode"),
  ]);
  same(
    own,
    documented.filter((code) => !contracts.has(code)),
    "the command line's own",
  );
  const byCode = all(/const byCode[^{]*\{([\s\S]*?)\};/.exec(read("src/cli/command-error.ts"))?.[1] ?? "", /^ {2}([A-Z_]+):/gm);
  same(
    byCode,
    documented.filter((code) => contracts.has(code)),
    "codes of the contract",
  );
  const flaws = /export type FlawCode =([\s\S]*?);/.exec(read("src/core/chain/verify.ts"))?.[1] ?? "";
  same(
    all(flaws, /\| "([A-Z_]+)"/g),
    rows.filter(([exit = ""]) => exit.startsWith("`")).flatMap(([code = ""]) => codesIn(code)),
    "flaws",
  );
  const guide = Array.from(
    read("docs/guide/cli.md")
      .split("## Exit codes")[1]
      ?.matchAll(/^\| (\d) \| (.+?) \|$/gm) ?? [],
    ([, exit]) => Number(exit),
  );
  assert.deepEqual(guide, Object.values(EXIT));
});
