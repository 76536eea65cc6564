// Whose code the commands run: that of modules which their user, or a server of that user, has named.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DataDirectory } from "../../src/cli/data-directory.ts";
import { root, serveChild } from "../serve-child.ts";
import { type Ran, running, troupe } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-trust-"));
const data = join(folder, "data");
const note = join(data, "server.json");
const ran = join(folder, "ran");
const evil = join(folder, "evil module.ts");
const MODULE = join(root, "examples/counter-disk/index.ts");
const on = (...args: readonly string[]): Promise<Ran> => troupe(...args, "--data", data);
const plant = (text: string): void => writeFileSync(note, text, { mode: 0o600 });

before(async () => {
  process.env["XDG_STATE_HOME"] = join(folder, "state");
  writeFileSync(
    evil,
    `import { writeFileSync } from "node:fs";
    import { actor } from "troupe";
    writeFileSync(${JSON.stringify(ran)}, "ran");
    export const counter = actor("counter", { description: "A counter.", initial: () => ({ count: 0 }), tools: {} });`,
  );
  assert.equal((await on("call", "counter/main", "tools/add", '{"by":2}', "--start", "--module", MODULE)).code, 0);
});

after(() => {
  delete process.env["XDG_STATE_HOME"];
  rmSync(folder, { recursive: true, force: true });
});

test("no command runs a module that a planted note names; those that need one print what to pass", async () => {
  plant(JSON.stringify({ pid: 1, modules: [evil], seal: "0".repeat(64) }));
  for (const args of [
    ["call", "counter/main", "tools/add"],
    ["stop", "counter/main"],
    ["restart", "counter/main"],
    ["letters", "replay", "x.1"],
  ]) {
    const refused = await on(...args);
    assert.equal(refused.code, 2, refused.stderr);
    assert.ok(refused.stderr.includes(`--module '${evil}'`), refused.stderr);
  }
  assert.equal(existsSync(ran), false);
});

test("commands that need no module load none, not even one that is named", async () => {
  plant(JSON.stringify({ pid: 1, modules: [evil] }));
  const named = ["--module", evil];
  for (const more of [[], named]) {
    const key = `counter/copy${more.length}`;
    assert.equal((await on("fork", "counter/main", key, ...more)).code, 0);
    assert.equal((await on("checkpoint", key, "--erase", ...more)).code, 0);
    const dropped = await on("letters", "drop", "x.1", ...more);
    assert.deepEqual([dropped.code, dropped.stderr.includes("no dead letter x.1")], [4, true], dropped.stderr);
    assert.equal((await on("checkpoint", "counter/none", ...more)).code, 4);
    assert.equal((await on("verify", key)).code, 0);
  }
  assert.match((await on("state", "counter/copy0")).stdout, /"count": 2/);
  assert.equal(existsSync(ran), false);
});

test("modules that a server of this user has noted are used, until others may write there", async () => {
  await using served = await serveChild(["examples/counter-disk"], { data });
  served.child.kill("SIGTERM");
  await served.ended;
  const call = (): Promise<Ran> => on("call", "counter/main", "tools/add", '{"by":1}');
  assert.equal((await call()).code, 0);
  const noted = readFileSync(note, "utf8");
  plant(noted.replace("examples/counter-disk", "examples/counter"));
  assert.equal((await call()).code, 2);
  plant(noted);
  chmodSync(data, 0o777);
  assert.equal((await call()).code, 2);
  chmodSync(data, 0o700);
  assert.equal((await call()).code, 0);
  process.env["XDG_STATE_HOME"] = join(folder, "other-state");
  mkdirSync(join(folder, "other-state"));
  assert.equal((await call()).code, 2);
});

test("no command waits for a pipe that an archive may have brought", async () => {
  for (const name of ["server.json", "troupe.db-wal", "troupe.db-journal", "troupe.db.lock", "troupe.db.pid", "troupe.db.log-lost"]) {
    const copy = join(folder, "piped");
    mkdirSync(copy);
    cpSync(join(data, "troupe.db"), join(copy, "troupe.db"));
    execFileSync("mkfifo", [join(copy, name)]);
    for (const args of [["actors"], ["checkpoint", "counter/main"]]) {
      const { code, stderr } = await troupe(...args, "--data", copy);
      if (name === "server.json") assert.equal(code, 0, stderr);
      else assert.match(stderr, /is a pipe/u, `${name} ${args.join(" ")}`);
    }
    rmSync(copy, { recursive: true });
  }
});

test("no command reads files of gigabytes that an archive may have brought", async () => {
  for (const name of ["server.json", "failures.json", "troupe.db.pid", "troupe.db.log-lost"]) {
    const copy = join(folder, "large");
    mkdirSync(copy);
    cpSync(join(data, "troupe.db"), join(copy, "troupe.db"));
    const hole = openSync(join(copy, name), "w");
    ftruncateSync(hole, 5_000_000_000);
    closeSync(hole);
    for (const args of [["actors"], ["checkpoint", "counter/main"]]) {
      const { code, stderr } = await troupe(...args, "--data", copy);
      if (name.endsWith(".json")) assert.equal(code, 0, stderr);
      else assert.match(stderr, /has 5000000000 bytes, which no server of Troupe wrote/u, `${name} ${args.join(" ")}`);
    }
    const directory = new DataDirectory(copy);
    assert.deepEqual([directory.readNote(), directory.readFailures()], [undefined, ""]);
    rmSync(copy, { recursive: true });
  }
});

test("a query in SQL does not wait for a pipe in place of the sessions: they are empty", async () => {
  const copy = join(folder, "piped-sessions");
  mkdirSync(copy);
  cpSync(join(data, "troupe.db"), join(copy, "troupe.db"));
  execFileSync("mkfifo", [join(copy, "sessions.db")]);
  const { code, stdout, stderr } = await troupe("sql", "SELECT count(*) AS n FROM sessions", "--csv", "--data", copy);
  assert.deepEqual([code, stdout.trim().split(/\s+/), stderr], [0, ["n", "0"], ""]);
  rmSync(copy, { recursive: true });
});

test("a server warns of a data directory that others may write to", async () => {
  chmodSync(data, 0o775);
  await using server = running("serve", "examples/counter-disk", "--data", data, "--json", "--http", "127.0.0.1:0");
  await server.said(/"event":"data-directory-shared"/);
  await server.said(/"http":/);
});
