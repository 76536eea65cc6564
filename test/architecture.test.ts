// The import table of ARCHITECTURE.md, held by a test: a folder is a concept, entered through its index.ts.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "..");
const src = join(root, "src");

const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  actor: ["contract", "schema"],
  chain: ["contract"],
  engine: ["contract", "chain"],
  store: ["contract"],
  restate: ["contract", "chain"],
  cluster: ["contract"],
  dynamo: ["contract"],
  platform: [],
  schema: ["contract", "platform"],
  source: ["contract", "platform", "schema"],
  gateway: ["contract", "platform", "schema", "source"],
  transport: ["contract", "gateway"],
  server: ["contract", "source", "gateway", "transport", "store"],
  lambda: ["contract"],
  sdk: ["contract", "source"],
  packet: ["contract", "actor", "platform", "schema", "source"],
  wasm: ["contract", "chain", "platform"],
  theater: ["contract", "chain", "platform", "source", "transport", "wasm"],
  agentic: ["contract", "source"],
  telemetry: ["contract"],
  embed: ["contract", "gateway", "agentic"],
  testing: ["contract", "chain", "source", "gateway", "engine", "store", "agentic"],
  "packet-testing": ["contract", "packet", "engine", "gateway", "testing"],
};

/** Ways into a folder beside its index.ts, and who may take them: to what no public subpath shall lead, or for less to load at a start. */
const sideDoors: Readonly<Record<string, readonly string[]>> = {
  "contract/internal.ts": [
    "actor",
    "agentic",
    "chain",
    "cli",
    "engine",
    "gateway",
    "packet",
    "restate",
    "schema",
    "server",
    "source",
    "store",
    "telemetry",
    "theater",
    "transport",
  ],
  "chain/internal.ts": ["engine", "restate", "testing"],
  "packet/client-error.ts": ["cli"],
  "packet/client-reply.ts": ["cli"],
  "packet/client.ts": ["cli"],
  "packet/config.ts": ["cli"],
  "packet/packet-error.ts": ["cli"],
  "source/handle.ts": ["cli"],
  "source/merge.ts": ["cli"],
  "store/memory-sessions.ts": ["cli"],
  "store/memory-streams.ts": ["cli"],
  "store/mended-sessions.ts": ["cli"],
  "store/sqlite.ts": ["cli"],
  "transport/address.ts": ["theater"],
  "transport/end-refused.ts": ["theater"],
  "transport/http.ts": ["cli"],
  "transport/listen.ts": ["cli", "theater"],
  "transport/stdio.ts": ["cli"],
  "transport/tcp.ts": ["cli"],
  "transport/unix-socket.ts": ["theater"],
  "wasm/guest-state.ts": ["cli"],
};

/** The composition roots: they may import every folder, and nobody imports them. */
const roots = new Set(["cli", "index.ts"]);

const files = globSync("**/*.ts", { cwd: src }).filter((file) => !/\.(test|fixture)\.ts$/.test(file));

const IMPORT =
  /^\s*(?:import|export)\b(?<names>[^;"]*?)from\s+"(?<from>[^"]+)"|^\s*import\s+"(?<bare>[^"]+)"|\bimport\(\s*"(?<late>[^"]+)"/gm;

interface Import {
  readonly target: string;
  /** Gone once compiled. */
  readonly typesOnly: boolean;
}

/** Of files of this repository, by whatever name: a public subpath leads to a folder too. */
const imports = (file: string): readonly Import[] =>
  [...readFileSync(join(src, file), "utf8").matchAll(IMPORT)].flatMap(({ groups = {} }) => {
    const { names, from, bare, late } = groups;
    const specifier = from ?? bare ?? late ?? "";
    const typesOnly = /^\s+type\b/.test(names ?? "");
    if (specifier.startsWith(".")) return { target: relative(src, resolve(join(src, dirname(file)), specifier)), typesOnly };
    const [self, folder] = specifier.split("/");
    return self === "troupe" ? { target: join(folder ?? "", "index.ts"), typesOnly } : [];
  });

const folderOf = (file: string): string => file.split("/")[0] ?? file;

void test("the walk sees the sources and their imports", () => {
  assert.ok(files.length > 10);
  assert.ok(files.flatMap(imports).length > 20);
});

void test("every import follows the import table, and enters a folder through its index.ts", () => {
  const wrong: string[] = [];
  for (const file of files) {
    const from = folderOf(file);
    const allowed = roots.has(from) ? Object.keys(mayImport) : mayImport[from];
    if (allowed === undefined) {
      wrong.push(`${file}: the folder ${from} is not in the import table`);
      continue;
    }
    for (const { target } of imports(file)) {
      const to = folderOf(target);
      if (to === from) continue;
      if (!allowed.includes(to)) wrong.push(`${file} → ${target}`);
      else if (target !== `${to}/index.ts` && !sideDoors[target]?.includes(from))
        wrong.push(`${file} → ${target} (go through ${to}/index.ts)`);
    }
  }
  assert.deepEqual(wrong, []);
});

void test("the import table allows nothing that nobody needs", () => {
  const used = new Set(files.flatMap((file) => imports(file).map(({ target }) => `${folderOf(file)} ${folderOf(target)}`)));
  const idle = Object.entries(mayImport).flatMap(([from, allowed]) =>
    allowed.map((to) => `${from} ${to}`).filter((pair) => !used.has(pair)),
  );
  const entered = new Set(files.flatMap((file) => imports(file).map(({ target }) => `${folderOf(file)} ${target}`)));
  const shut = Object.entries(sideDoors).flatMap(([target, allowed]) =>
    allowed.map((from) => `${from} ${target}`).filter((pair) => !entered.has(pair)),
  );
  assert.deepEqual([...idle, ...shut], []);
});

void test("no file needs one that needs it, itself or by others", () => {
  const needs = new Map(files.map((file) => [file, imports(file).flatMap(({ target, typesOnly }) => (typesOnly ? [] : target))]));
  const settled = new Set<string>();
  const rings: string[] = [];
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) rings.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (way.includes(file) || settled.has(file)) return;
    for (const target of needs.get(file) ?? []) follow(target, [...way, file]);
    settled.add(file);
  };
  for (const file of files) follow(file, []);
  assert.deepEqual(rings, []);
});

void test("ARCHITECTURE.md carries the same table", () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  for (const folder of new Set(files.map(folderOf).filter((name) => !roots.has(name)))) {
    const row = page.split("\n").findLast((line) => line.startsWith(`| ${folder} |`));
    assert.ok(row, `ARCHITECTURE.md has no row for ${folder}`);
    const cell = row.split("|").at(-2)?.trim() ?? "";
    const told = cell === "nothing" ? [] : cell.split(",").map((name) => name.trim());
    assert.deepEqual(told.toSorted(), [...(mayImport[folder] ?? [])].toSorted(), `row of ${folder}`);
  }
});

void test("no file is called types, utils, helpers or common, nor anything Manager or Impl", () => {
  const bad = files.filter((file) => /(^|\/)(types|utils|helpers|common)(\.ts|\/)|Manager|Impl/.test(file));
  assert.deepEqual(bad, []);
});

void test("JSON-RPC numbers stand in gateway/errors.ts, and a foreign server's in sdk/codes.ts, only", () => {
  const bad = files.filter(
    (file) =>
      file !== "gateway/errors.ts" &&
      file !== "sdk/codes.ts" &&
      /-32[0-9]{3}\b/.test(readFileSync(join(src, file), "utf8").replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, "")),
  );
  assert.deepEqual(bad, []);
});
