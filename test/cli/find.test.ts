import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { isJsonObject } from "../wire.ts";
import { lines, troupe } from "./run.ts";

const DESK = `
import { actor, index } from "troupe";
export const incident = actor("incident", {
  description: "An incident.", per: "link", autoStart: true,
  initial: ({ key }) => ({ title: "incident " + key, severity: key.length, status: "open" }),
  tools: { resolve: { description: "Resolve.", run({ state }) { state.status = "resolved"; } } },
});
export const open = index(incident, {
  where: ({ state }) => state.status !== "resolved", pick: ["title", "severity"], text: ["title"], order: "severity", uri: "incidents://open",
});
`;

test("indexes are queried, listed, verified and rebuilt by command #cli.index", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-find-"));
  try {
    const data = join(folder, "data");
    const module = join(folder, "desk.ts");
    writeFileSync(module, DESK);
    const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data);
    // A call that changes nothing else starts each of them.
    for (const key of ["aa", "b", "cccc"]) {
      const started = await on("call", `incident/${key}`, "troupe/begin", "--start", "--module", module);
      assert.equal(started.code, 0, started.stderr);
    }
    assert.equal((await on("call", "incident/cccc", "tools/resolve", "--module", module)).code, 0);
    assert.match(
      (await on("find", "incident")).stdout,
      /actor +title +severity\n.*incident\/b +incident b +1\n.*incident\/aa +incident aa +2\n$/u,
    );
    const found = lines((await on("find", "incidents-open", "--where", "severity>=2", "--count", "--json")).stdout);
    assert.deepEqual(found, [{ id: "incident/aa", key: "aa", title: "incident aa", severity: 2 }, { count: 1 }]);
    const both = lines(
      (await on("find", "incident", "--where", "severity=1", "--where", "severity=2", "--order", "desc", "--json")).stdout,
    );
    assert.deepEqual(
      both.map((one) => isJsonObject(one) && one["key"]),
      ["aa", "b"],
    );
    assert.equal((await on("find", "incident", "--where", "title^=incident b")).stdout.includes("incident/aa"), false);
    assert.match((await on("find", "incident", "--text", '"incident b"')).stdout, /^actor.*\nincident\/b +incident b +1\n$/u);
    assert.match((await on("find", "incident", "--text", "x*")).stderr, /too short/u);
    assert.match((await on("find", "incident", "--where", "nothing=1")).stderr, /has no field "nothing"/u);
    assert.equal((await on("find", "incident", "--where", "nothing")).code, 2);
    assert.match((await on("find", "door")).stderr, /There is no index of door/u);
    assert.match((await on("index")).stdout, /incidents-open +incident +2 +complete +severity +title, severity/u);
    assert.match((await on("index", "verify", "--module", module)).stdout, /incidents-open: whole, 3 actors\./u);
    const database = new DatabaseSync(join(data, "troupe.db"));
    database.exec("DELETE FROM index_rows_1 WHERE key = 'b'");
    database.close();
    const flawed = await on("index", "verify", "--module", module);
    assert.equal(flawed.code, 5, flawed.stderr);
    assert.match(flawed.stdout, /1 row of 3 actors wrong\.\n {2}incident\/b: missing/u);
    assert.match((await on("index", "rebuild", "incidents-open", "--module", module)).stdout, /rebuilt from 3 actors/u);
    assert.equal((await on("index", "verify", "--module", module)).code, 0);
    // An export has no indexes: the server builds them.
    const dump = join(folder, "dump.jsonl");
    const restored = join(folder, "restored");
    assert.equal((await on("export", dump)).code, 0);
    assert.equal((await troupe("import", dump, "--data", restored)).code, 0);
    for (const command of ["verify", "rebuild"]) assert.equal((await troupe("index", command, "--data", restored)).stdout, "No indexes.\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a second condition of one field that cannot be combined with the first is refused #cli.index", async () => {
  const find = (...conditions: readonly string[]): ReturnType<typeof troupe> =>
    troupe("find", "incident", "--data", "nowhere", "--json", ...conditions.flatMap((one) => ["--where", one]));
  for (const [first, second] of [
    ["severity=1", "severity>=2"],
    ["severity<=2", "severity=1"],
    ["title^=disk", "title=disk"],
    ["title>=a", "title^=disk"],
    ["title^=disk", "title^=di"],
    ["severity>=3", "severity>=1"],
    ["severity<=1", "severity <=3"],
  ] as const) {
    const { code, stderr } = await find(first, "status=open", second);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /"USAGE".*has a condition with (?:\^=|>=|<=|=) already: remove one/u);
  }
  // These are combined: what fails is the data directory.
  for (const both of [
    ["severity>=1", "severity<=3"],
    ["status=open", "status=held"],
    ["severity>=1", "title^=disk"],
  ])
    assert.match((await find(...both)).stderr, /"NOT_FOUND"/u);
});
