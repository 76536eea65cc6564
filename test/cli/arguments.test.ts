// What is wrong with an argument is told with code 2 and in words, before anything is done.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { lines, troupe } from "./run.ts";

const MODULE = "examples/counter-disk";

describe("arguments of commands", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-arguments-"));
  const data = join(folder, "data");
  const crash = join(folder, "crash.ts");
  const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data);

  before(async () => {
    writeFileSync(
      crash,
      `import { actor } from "troupe";
      export const jar = actor("jar", { description: "A jar.", initial: () => ({}), tools: { drop: { description: "Drop it.", run() { throw new RangeError("in pieces"); } } } });`,
    );
    writeFileSync(join(folder, "words.txt"), "no key at all");
    await on("call", "counter/main", "tools/add", "{}", "--start", "--module", MODULE);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("numbers, files and directories that are none are told as such", async () => {
    const words = join(folder, "words.txt");
    for (const [args, sentence] of [
      [["actors", "--limit", "x"], /whole number of 1 or more/],
      [["actors", "--limit", "0"], /whole number of 1 or more/],
      [["chain", "counter/main", "--after", "x"], /whole number of 0 or more/],
      [["chain", "counter/main", "--after=-3"], /whole number of 0 or more/],
      [["verify", "--public-key", join(folder, "none.pem")], /none\.pem cannot be read: there is no such file/],
      [["verify", "--public-key", folder], /cannot be read: it is a folder/],
      [["verify", "--public-key", words], /words\.txt holds no public key in PEM/],
      [["serve", MODULE, "--api-keys", join(folder, "none.json")], /none\.json cannot be read: there is no such file/],
      [["serve", MODULE, "--api-keys", words], /words\.txt is no JSON/],
      [["serve", MODULE, "--http", "3000x"], /\[host:\]port/],
      [["serve", join(folder, "absent.ts"), "--http", "3000x"], /\[host:\]port/],
      [["fork", "counter/main", "counter/copy", "--at", "0"], /from 1 on/],
    ] as const) {
      const ran = await on(...args);
      assert.equal(ran.code, 2, `${args.join(" ")}: ${ran.stderr}`);
      assert.match(ran.stderr, /^troupe: /);
      assert.match(ran.stderr, sentence);
      assert.equal(ran.stdout, "");
    }
    const nowhere = await troupe("actors", "--data", "");
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /--data/);
  });

  test("a directory that is not there is not made by a command that cannot begin anything", async () => {
    const none = join(folder, "none");
    for (const args of [
      ["stop", "counter/main"],
      ["restart", "counter/main"],
      ["checkpoint", "counter/main"],
      ["fork", "counter/main", "counter/copy"],
      ["letters", "drop", "one"],
      ["call", "counter/main", "tools/add"],
    ]) {
      const ran = await troupe(...args, "--module", MODULE, "--data", none);
      assert.equal(ran.code, 4, `${args.join(" ")}: ${ran.stderr}`);
      assert.match(ran.stderr, /There are no actors in .*none/);
    }
    assert.equal(existsSync(none), false);
  });

  test("a data directory that is a file is told as such", async () => {
    const ran = await troupe("serve", MODULE, "--http", "127.0.0.1:0", "--data", join(folder, "words.txt"));
    assert.equal(ran.code, 6);
    assert.match(ran.stderr, /words\.txt is a file: name a folder with --data/);
    const read = await troupe("actors", "--data", join(folder, "words.txt"));
    assert.equal(read.code, 6);
    writeFileSync(join(folder, "all.jsonl"), "{}");
    const verified = await troupe("verify", "--data", join(folder, "all.jsonl"));
    assert.equal(verified.code, 6);
    assert.match(verified.stderr, /To verify an export, run "troupe import \S+all\.jsonl --dry-run"/);
    mkdirSync(join(folder, "empty"), { recursive: true });
    assert.equal((await troupe("actors", "--data", join(folder, "empty"))).code, 4);
  });

  test("what stops a command is told in the words of the command line", async () => {
    for (const [args, code, sentence] of [
      [["call", "counter/none", "tools/add"], 4, /no actor counter\/none in \S+: add --start to begin it/],
      [["call", "counter/main", "add"], 3, /There is no add here.* tools\/add/],
      [["call", "shelf/main", "tools/add"], 2, /kind "shelf".* --module/],
      [["checkpoint", "counter/none"], 4, /no actor counter\/none in \S+; "troupe actors" lists them/],
      [["stop", "counter/none"], 4, /no actor counter\/none in \S+; "troupe actors" lists them/],
    ] as const) {
      const ran = await on(...args, "--module", MODULE);
      assert.equal(ran.code, code, ran.stderr);
      assert.match(ran.stderr, sentence);
    }
    await on("fork", "counter/main", "counter/over", "--module", MODULE);
    await on("stop", "counter/over", "--module", MODULE);
    const over = await on("call", "counter/over", "tools/add", "--module", MODULE);
    assert.match(over.stderr, /counter\/over has stopped: add --start to begin another life/);
  });

  test("of several actors each is done, and those that fail are told of, the first with the command's exit code", async () => {
    const several = ["counter/none", "counter/main", "counter/nobody"];
    const checked = await on("checkpoint", ...several, "--module", MODULE);
    assert.equal(checked.code, 4);
    assert.match(checked.stdout, /^counter\/main has a checkpoint at event \d+, .*\n$/);
    assert.match(checked.stderr, /^troupe: There is no actor counter\/nobody.*\ntroupe: There is no actor counter\/none in \S+;.*\n$/);
    for (const key of ["one", "two"]) await on("fork", "counter/main", `counter/${key}`, "--module", MODULE);
    const stopped = await on("stop", "counter/one", "counter/none", "counter/two", "--module", MODULE, "--json");
    assert.deepEqual([stopped.code, stopped.stdout], [4, '{"ok":true}\n{"ok":true}\n']);
    assert.deepEqual(lines(stopped.stderr).length, 1);
    const many = await on("checkpoint", ...Array.from({ length: 12 }, () => "counter/main"), "--module", MODULE);
    assert.deepEqual([many.code, many.stderr], [0, ""]);
    const wrong = await on("stop", "counter", "counter/none", "--module", MODULE);
    assert.deepEqual([wrong.code, wrong.stderr.split("\n").length], [2, 2]);
  });

  test("a crash of a command's own turn is told with what was thrown and where", async () => {
    for (const json of [[], ["--json"]]) {
      const ran = await on("call", "jar/one", "tools/drop", "--start", "--module", crash, ...json);
      assert.equal(ran.code, 1);
      assert.match(ran.stderr, /crashed.*RangeError: in pieces \(.*crash\.ts:2:\d+\)/);
    }
  });

  test("a checkpoint is told in words: which event, signed or not, how much was erased", async () => {
    const told = await on("checkpoint", "counter/main", "--erase", "--module", MODULE);
    assert.match(told.stdout, /^counter\/main has a checkpoint at event \d+, head [0-9a-f]{12}, not signed; 1 body erased\.\n$/);
  });

  test("a checkpoint that is the last event already is told again, and another is written once something has come since", async () => {
    const checkpoint = async (): Promise<unknown> =>
      JSON.parse((await on("checkpoint", "counter/main", "--erase", "--module", MODULE, "--json")).stdout);
    const first = await checkpoint();
    assert.deepEqual(await checkpoint(), first);
    await on("call", "counter/main", "tools/add", "--start", "--module", MODULE);
    assert.notDeepEqual(await checkpoint(), first);
  });

  test("a list that is cut says so, on standard error", async () => {
    const all = await on("actors", "--json");
    assert.doesNotMatch(all.stderr, /more/);
    const cut = await on("actors", "--limit", "1");
    assert.match(cut.stderr, /There are more: --limit/);
  });
});
