// `troupe edit`: where it is allowed, what it writes, what it refuses, and the editor.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openEditor } from "../../src/cli/commands/edit.ts";
import { lines, running, troupe } from "./run.ts";

const COUNTER = "examples/counter-disk";
const ID = "counter/main";

describe("edit", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-edit-test-"));
  const data = join(folder, "data");
  after(() => rmSync(folder, { recursive: true, force: true }));
  const edit = (...args: readonly string[]): ReturnType<typeof troupe> => troupe("edit", ID, "--data", data, "--json", ...args);
  const stateOf = async (): Promise<unknown> => Object(lines((await troupe("state", ID, "--data", data, "--json")).stdout)[0]).state;
  const failureOf = ({ code, stderr }: { readonly code: number; readonly stderr: string }): readonly unknown[] => [
    code,
    Object(Object(lines(stderr)[0]).error).code,
  ];

  test("where no server runs, it needs --allow-edit", async () => {
    const started = await troupe("call", ID, "tools/add", "{}", "--data", data, "--module", COUNTER, "--start");
    assert.equal(started.code, 0, started.stderr);
    assert.deepEqual(failureOf(await edit("--reason", "Why.", "--patch", '{"count":5}')), [3, "NOT_AVAILABLE"]);
    // No module has been served here yet, so there is no schema.
    const unchecked = await edit("--reason", "Why.", "--patch", '{"count":5}', "--allow-edit");
    assert.deepEqual([unchecked.code, Object(Object(lines(unchecked.stdout)[0]).edited).checked], [0, false]);
    const checked = await edit("--reason", "Why.", "--patch", '{"count":6}', "--allow-edit", "--module", COUNTER);
    assert.deepEqual([checked.code, Object(Object(lines(checked.stdout)[0]).edited).checked], [0, true]);
    const misfit = await edit("--reason", "Why.", "--patch", '{"count":"6"}', "--allow-edit", "--module", COUNTER);
    assert.deepEqual(failureOf(misfit), [3, "STATE_MISFIT"]);
    assert.match(misfit.stderr, /\/count: .*The option is --force/);
    assert.equal(Object(await stateOf()).count, 6);
  });

  test("under dev it is allowed, from a value or a file; under serve only with --allow-edit", async () => {
    {
      await using server = running("dev", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json", "--no-console");
      await server.said(/"ready":true/);
      assert.equal((await edit("--reason", "Wrong.", "--state", '{"count":7}')).code, 0);
      const file = join(folder, "state.json");
      writeFileSync(file, '{"count":8}');
      assert.equal((await edit("--reason", "Wrong.", "--file", file)).code, 0);
      assert.deepEqual(failureOf(await edit("--reason", "Wrong.", "--state", '{"count":[]}')), [3, "STATE_MISFIT"]);
      assert.equal((await edit("--reason", "Wrong.", "--state", '{"count":9}', "--force")).code, 0);
      assert.equal(Object(await stateOf()).count, 9);
    }
    {
      await using server = running("serve", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json");
      await server.said(/"ready":true/);
      assert.deepEqual(failureOf(await edit("--reason", "Wrong.", "--patch", '{"count":1}', "--allow-edit")), [3, "NOT_AVAILABLE"]);
    }
    await using server = running("serve", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json", "--allow-edit");
    await server.said(/"ready":true/);
    assert.equal((await edit("--reason", "Wrong.", "--patch", '{"count":1}', "--as", "ann")).code, 0);
    const chain = lines((await troupe("chain", ID, "--data", data, "--json")).stdout);
    assert.equal(Object(Object(chain.at(-1)).header).type, "edit");
    assert.match(JSON.stringify(chain.at(-1)), /ann/);
  });

  test("what is given wrongly is a usage error, before anything is written", async () => {
    for (const args of [
      ["--patch", "{}"],
      ["--reason", " ", "--patch", "{}"],
      ["--reason", "Why."],
      ["--reason", "Why.", "--patch", "{}", "--state", "{}"],
      ["--reason", "Why.", "--patch", "{", "--allow-edit"],
      ["--reason", "Why.", "--file", join(folder, "none.json"), "--allow-edit"],
    ])
      assert.deepEqual(failureOf(await edit(...args)), [2, "USAGE"], args.join(" "));
  });

  test("the editor may have arguments, and one that fails is named", async () => {
    const editor = join(folder, "editor.sh");
    writeFileSync(editor, '#!/bin/sh\nprintf "%s" "$1" > "$2"\n');
    chmodSync(editor, 0o700);
    const file = join(folder, "a file.json");
    await openEditor(file, { EDITOR: `"${editor}" '{"count":2}'` });
    assert.equal(readFileSync(file, "utf8"), '{"count":2}');
    await openEditor(file, { VISUAL: `"${editor}" visual`, EDITOR: "false" });
    assert.equal(readFileSync(file, "utf8"), "visual");
    await assert.rejects(openEditor(file, { EDITOR: "false" }), { code: "EDITOR_FAILED" });
  });
});
