// Enforces the import table of ARCHITECTURE.md: a folder is a concept, entered through its index.ts.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "..");
const src = join(root, "src");

/** The groups of folders, and the other groups that each may import. */
const mayUse: Readonly<Record<string, readonly string[]>> = {
  core: [],
  mcp: ["core"],
  bridges: ["core", "mcp"],
  hosts: ["core"],
  testing: ["core", "mcp", "bridges"],
  config: [],
};

/** The folders each folder may import; what is in a group must also be allowed by `mayUse`. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  "core/contract": [],
  "core/actor": ["core/contract", "core/schema"],
  "core/chain": ["core/contract"],
  "core/engine": ["core/contract", "core/chain"],
  "core/store": ["core/contract"],
  "core/platform": [],
  "core/schema": ["core/contract", "core/platform"],
  "mcp/source": ["core/contract", "core/platform", "core/schema"],
  "mcp/gateway": ["core/contract", "core/platform", "core/schema", "mcp/source"],
  "mcp/transport": ["core/contract", "mcp/gateway"],
  "mcp/server": ["core/contract", "core/engine", "core/store", "mcp/source", "mcp/gateway", "mcp/transport"],
  "mcp/mount": ["core/contract", "mcp/source"],
  "bridges/agentic": ["core/contract", "mcp/source"],
  "bridges/embed": ["core/contract", "mcp/gateway", "bridges/agentic"],
  "bridges/packet": ["core/contract", "core/actor", "core/platform", "core/schema", "mcp/source"],
  "bridges/wasm": ["core/contract", "core/chain", "core/platform"],
  "bridges/operate": ["core/contract", "core/chain", "core/engine"],
  "bridges/sql": ["core/contract", "core/chain", "core/store", "mcp/gateway"],
  "bridges/console": [
    "core/contract",
    "core/chain",
    "core/platform",
    "core/schema",
    "mcp/source",
    "mcp/gateway",
    "bridges/operate",
    "bridges/packet",
    "bridges/sql",
  ],
  "bridges/theater": ["core/contract", "core/chain", "core/platform", "mcp/source", "mcp/transport", "bridges/wasm"],
  "hosts/restate": ["core/contract", "core/chain"],
  "hosts/cluster": ["core/contract"],
  "hosts/dynamo": ["core/contract"],
  "hosts/lambda": ["core/contract"],
  "hosts/telemetry": ["core/contract"],
  config: [],
  testing: [
    "core/contract",
    "core/actor",
    "core/chain",
    "core/engine",
    "core/store",
    "mcp/source",
    "mcp/gateway",
    "bridges/agentic",
    "bridges/packet",
  ],
};

/** Entries to a folder besides its index.ts, and their allowed importers: for internal code, or to load less at the start. */
const sideDoors: Readonly<Record<string, readonly string[]>> = {
  "core/contract/internal.ts": [
    "core/actor",
    "bridges/agentic",
    "core/chain",
    "cli",
    "core/engine",
    "mcp/gateway",
    "bridges/packet",
    "hosts/restate",
    "core/schema",
    "mcp/server",
    "mcp/source",
    "core/store",
    "hosts/cluster",
    "hosts/lambda",
    "hosts/telemetry",
    "bridges/console",
    "bridges/operate",
    "bridges/theater",
    "bridges/wasm",
    "mcp/transport",
    "mcp/mount",
    "testing",
  ],
  "core/chain/internal.ts": ["core/engine", "hosts/restate", "testing"],
  "bridges/packet/client-error.ts": ["cli"],
  "bridges/packet/client.ts": ["cli"],
  "bridges/packet/packet-json.ts": ["cli"],
  "bridges/packet/packet.ts": ["cli"],
  "bridges/operate/operation-error.ts": ["cli"],
  "bridges/operate/paging.ts": ["cli"],
  "mcp/gateway/session-name.ts": ["bridges/console", "bridges/sql"],
  "mcp/source/actor-views.ts": ["bridges/console"],
  "mcp/source/actor-access.ts": ["cli"],
  "mcp/source/merge.ts": ["cli"],
  "mcp/source/names.ts": ["mcp/server", "bridges/console"],
  "core/store/log-hooks.ts": ["cli", "mcp/server"],
  "core/store/memory-sessions.ts": ["cli"],
  "core/store/secret-file.ts": ["cli", "mcp/server"],
  "core/store/sqlite-sessions.ts": ["cli"],
  "core/store/sqlite.ts": ["cli"],
  "core/store/sql/index.ts": ["bridges/sql"],

  "mcp/transport/http.ts": ["cli"],
  "mcp/transport/listen.ts": ["cli", "bridges/theater"],
  "mcp/transport/stdio.ts": ["cli"],
  "mcp/transport/tcp.ts": ["cli"],

  "bridges/wasm/guest-state.ts": ["cli"],
};

/** The composition roots: they may import every folder, and no folder imports them. */
const roots = new Set(["cli", "index.ts"]);

/** These groups contain folders; the others are one folder each. */
const grouped = new Set(["core", "mcp", "bridges", "hosts"]);

const { exports }: { readonly exports: Readonly<Record<string, { readonly "troupe-source": string }>> } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

const files = globSync("**/*.ts", { cwd: src }).filter((file) => !/\.(test|fixture)\.ts$/.test(file));

const IMPORT =
  /^\s*(?:import|export)\b(?<names>[^;"]*?)from\s+"(?<from>[^"]+)"|^\s*import\s+"(?<bare>[^"]+)"|\bimport\(\s*"(?<dynamic>[^"]+)"/gm;

interface Import {
  readonly target: string;
  /** Erased by the compiler. */
  readonly typesOnly: boolean;
}

/** Imported files of this repository; public subpaths resolve to files too. */
const imports = (file: string): readonly Import[] =>
  [...readFileSync(join(src, file), "utf8").matchAll(IMPORT)].flatMap(({ groups = {} }) => {
    const { names, from, bare, dynamic } = groups;
    const specifier = from ?? bare ?? dynamic ?? "";
    const typesOnly = /^\s+type\b/.test(names ?? "");
    if (specifier.startsWith(".")) return { target: relative(src, resolve(join(src, dirname(file)), specifier)), typesOnly };
    const own = specifier === "troupe" ? "." : specifier.replace(/^troupe\//, "./");
    const target = own === specifier ? undefined : exports[own]?.["troupe-source"];
    return target === undefined ? [] : { target: relative(src, join(root, target)), typesOnly };
  });

const groupOf = (file: string): string => file.split("/")[0] ?? file;
/** `core/engine` of `core/engine/cell.ts`; outside of groups, the top-level folder. */
const folderOf = (file: string): string =>
  file
    .split("/")
    .slice(0, grouped.has(groupOf(file)) ? 2 : 1)
    .join("/");

void test("the sources and their imports are found", () => {
  assert.ok(files.length > 10);
  assert.ok(files.flatMap(imports).length > 20);
});

void test("every import follows the import table, and enters a folder through its index.ts #repository.imports", () => {
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

void test("a group of folders imports only the groups below it", () => {
  const wrong = files.flatMap((file) => {
    const from = groupOf(file);
    const allowed = roots.has(from) ? Object.keys(mayUse) : mayUse[from];
    return imports(file)
      .map(({ target }) => groupOf(target))
      .filter((to) => to !== from && allowed?.includes(to) !== true)
      .map((to) => `${file} → ${to}`);
  });
  assert.deepEqual(wrong, []);
});

void test("the import table allows no import that is unused", () => {
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

void test("no file depends on itself through its imports", () => {
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

/** Groups of files that import each other, directly or through others (Tarjan's strongly connected components). */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const indexes = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  /** Returns the lowest index on the stack that the file reaches. */
  const visit = (file: string): number => {
    const index = indexes.size;
    const place = stack.length;
    indexes.set(file, index);
    stack.push(file);
    let lowest = index;
    for (const target of graph.get(file) ?? []) {
      const known = indexes.get(target);
      if (known === undefined) lowest = Math.min(lowest, visit(target));
      else if (stack.includes(target)) lowest = Math.min(lowest, known);
    }
    if (lowest === index) cycles.push(stack.splice(place));
    return lowest;
  };
  for (const file of graph.keys()) if (!indexes.has(file)) visit(file);
  return cycles.filter((cycle) => cycle.length > 1);
}

void test("cyclesOf finds the files that import each other", () => {
  const graph = new Map([
    ["a", ["b", "d"]],
    ["b", ["c"]],
    ["c", ["a"]],
    ["d", ["e", "c"]],
    ["e", []],
    ["f", ["a", "f"]],
  ]);
  assert.deepEqual(
    cyclesOf(graph).map((cycle) => cycle.toSorted()),
    [["a", "b", "c", "d"]],
  );
});

void test("no cycle of type imports has more than four files", () => {
  const graph = new Map(files.map((file) => [file, imports(file).map(({ target }) => target)]));
  const large = cyclesOf(graph).filter((cycle) => cycle.length > 4);
  assert.deepEqual(large, []);
});

void test("each file of the sources begins with a line that states what it owns", () => {
  const lacking = files.filter(
    (file) => !/(^|\/)(index|internal)\.ts$/.test(file) && !readFileSync(join(src, file), "utf8").startsWith("// Owns: "),
  );
  assert.deepEqual(lacking, []);
});

void test("ARCHITECTURE.md carries both tables #repository.imports", () => {
  const lines = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split("\n");
  const carries = (row: string | undefined, name: string, allowed: readonly string[]): void => {
    assert.ok(row, `ARCHITECTURE.md has no row for ${name}`);
    const cell = row.split("|").at(-2)?.trim() ?? "";
    const named = cell === "nothing" ? [] : cell.split(",").map((one) => one.trim());
    assert.deepEqual(named.toSorted(), allowed.toSorted(), `row of ${name}`);
  };
  // The table of groups is the first of the two.
  const rowOf = (name: string) => (line: string) => line.startsWith(`| ${name} |`);
  for (const [group, allowed] of Object.entries(mayUse)) carries(lines.find(rowOf(group)), group, allowed);
  for (const folder of new Set(files.map(folderOf).filter((name) => !roots.has(name))))
    carries(
      lines.findLast(rowOf(folder)),
      folder,
      // No two folders have the same name, so the page leaves their groups out.
      (mayImport[folder] ?? []).map((name) => basename(name)),
    );
});

void test("no file is called types, utils, helpers or common, nor anything Manager or Impl #repository.imports", () => {
  const bad = files.filter((file) => /(^|\/)(types|utils|helpers|common)(\.ts|\/)|Manager|Impl/.test(file));
  assert.deepEqual(bad, []);
});

void test("JSON-RPC error numbers occur only in gateway/errors.ts, and a mounted server's in mount/failures.ts", () => {
  const bad = files.filter(
    (file) =>
      file !== "mcp/gateway/errors.ts" &&
      file !== "mcp/mount/failures.ts" &&
      /-32[0-9]{3}\b/.test(readFileSync(join(src, file), "utf8").replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, "")),
  );
  assert.deepEqual(bad, []);
});
