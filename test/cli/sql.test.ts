// The page on SQL shows what works: each query, and each command.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sqliteSql } from "../../src/bridges/sql/index.ts";
import { root } from "../serve-child.ts";
import { lines, troupe } from "./run.ts";

const page = readFileSync(join(root, "docs/guide/sql.md"), "utf8");
const blocks = (language: string): readonly string[] =>
  Array.from(page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``, "g")), ([, code = ""]) => code);

const folder = mkdtempDisposableSync(join(tmpdir(), "troupe-sql-page-"));
const data = join(folder.path, "data");
const exported = join(folder.path, "all.jsonl.gz");
const module = "examples/counter-disk";

before(async () => {
  const call = (...more: readonly string[]) => troupe("call", "counter/main", "tools/add", ...more, "--data", data, "--module", module);
  assert.equal((await call("--start")).code, 0);
  assert.equal((await call()).code, 0);
  assert.equal((await troupe("export", exported, "--data", data)).code, 0);
});

after(() => folder.remove());

test("the queries of the page run, and those about a counter find it", async () => {
  const sql = sqliteSql({ directory: data });
  const counts: number[] = [];
  for (const query of blocks("sql")) counts.push((await sql.query({ sql: query })).rows.length);
  assert.ok(counts.length >= 6);
  const [byHour = 0, changed = 0, letters, largest = 0] = counts;
  assert.ok(byHour > 0 && changed > 0 && letters === 0 && largest > 0, String(counts));
});

/** What a shell would make of it. */
const inShell = (command: string): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> =>
  new Promise((settle) => {
    const defined = `troupe() { "${process.execPath}" "${join(root, "bin/troupe.js")}" "$@"; }\n${command}`;
    const child = spawn("sh", ["-c", defined], { cwd: folder.path });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    child.once("close", (code) => settle({ code, out, err }));
    child.stdin.end();
  });

test("the commands of the page print tables, CSV and JSON, of a directory and an exported file", { timeout: 120_000 }, async () => {
  const commands = blocks("sh").flatMap((block) => block.split("\n"));
  const outs: string[] = [];
  for (const command of commands) {
    const { code, out, err } = await inShell(command.includes("--data") ? command : `${command} --data data`);
    assert.equal(code, 0, `${command}\n${err}`);
    outs.push(out);
  }
  const [counted = "", csv = "", json = "", letters = ""] = outs;
  assert.match(counted, /^kind +status +actors\ncounter +live +1\n$/);
  assert.equal(csv, "id,n\ncounter/main,2\n");
  const [result] = lines(json);
  assert.deepEqual(Object.keys(Object(result)).toSorted(), ["columns", "ms", "rows"]);
  assert.equal(letters, "No rows.\n");
});

test("troupe sql lists its views, and says where a query is wrong", { timeout: 60_000 }, async () => {
  const views = await troupe("sql", "--views", "--json", "--data", data);
  const names = lines(views.stdout).map((view): unknown => Object(view).name);
  assert.deepEqual(names, ["actors", "events", "letters", "outbox", "timers", "sessions", "tasks"]);
  const wrong = await troupe("sql", "SELECT id FORM actors", "--json", "--data", data);
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /^\{"error":\{"code":"SQL_WRONG","message":"near .*actors.*, at line 1, column 16\."\}\}\n$/);
  const denied = await troupe("sql", "SELECT * FROM actor", "--data", data);
  assert.deepEqual([denied.code, denied.stdout], [3, ""]);
  const cluster = await troupe("sql", "SELECT 1", "--engine", "restate://127.0.0.1");
  assert.deepEqual([cluster.code, /restate sql/.test(cluster.stderr)], [2, true]);
});
