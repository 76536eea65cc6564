// The MCP Inspector's command line lists, reads and calls, in both eras.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { installJudges } from "../foreign/install.ts";
import { root, serveChild } from "../serve-child.ts";
import { at } from "../wire.ts";

const LAUNCHER = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const ERAS = ["legacy", "modern"] as const;

const home = mkdtempSync(join(tmpdir(), "troupe-inspector-"));
after(() => rmSync(home, { recursive: true, force: true }));

interface Inspected {
  readonly code: number;
  readonly result: unknown;
  readonly stderr: string;
}

/** One run of the Inspector: its output and exit code. */
const inspect = async (era: string, target: readonly string[], method: string, ...more: readonly string[]): Promise<Inspected> => {
  const args = [join(installJudges(), LAUNCHER), "--cli", "--protocol-era", era, "--method", method, ...more, ...target];
  const run = await new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((settle) => {
    execFile(process.execPath, args, { cwd: root, timeout: 60_000, env: { ...process.env, HOME: home } }, (error, stdout, stderr) => {
      settle({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });
  assert.notEqual(run.stdout.trim(), "", run.stderr);
  return { code: run.code, result: JSON.parse(run.stdout), stderr: run.stderr };
};

const overStdio = (module: string, data: string): readonly string[] => [
  "--",
  process.execPath,
  join(root, "bin/troupe.js"),
  "serve",
  module,
  "--stdio",
  "--data",
  data,
  "--log",
  "error",
];

const web = (url: string): readonly string[] => ["--transport", "http", "--server-url", url];

const names = (result: unknown, list: string): readonly unknown[] => {
  const entries = at(result, list);
  return Array.isArray(entries) ? entries.map((entry) => at(entry, "name")) : [];
};

const textOf = (result: unknown): unknown => at(result, "content", 0, "text");

describe("the Inspector over stdio", { concurrency: 2 }, () => {
  for (const era of ERAS) {
    test(`lists and calls the counter on disk, ${era}: each run continues from the last`, async () => {
      const target = overStdio("examples/counter-disk", join(home, `counter-${era}`));
      assert.deepEqual(names((await inspect(era, target, "tools/list")).result, "tools"), ["add", "get"]);
      const call = ["--tool-name", "add", "--tool-arg", "by=20"];
      assert.equal(textOf((await inspect(era, target, "tools/call", ...call)).result), "20");
      assert.equal(textOf((await inspect(era, target, "tools/call", ...call)).result), "40");
    });
  }

  test("lists, reads and calls in the MUD #spec.4.reading #spec.8.inspector", async () => {
    const era = "modern";
    const target = overStdio("examples/mud", join(home, "mud"));
    assert.match(String(textOf((await inspect(era, target, "tools/call", "--tool-name", "look")).result)), /dungeon entrance/);
    const read = await inspect(era, target, "resources/read", "--uri", "game://player/state");
    assert.equal(at(JSON.parse(String(at(read.result, "contents", 0, "text"))), "room"), "entrance");
    const prompt = await inspect(era, target, "prompts/get", "--prompt-name", "game_help", "--prompt-args", "topic=combat");
    assert.match(String(at(prompt.result, "messages", 0, "content", "text")), /battle/);
  });
});

test("the Inspector over HTTP lists and calls the counter, in both eras #spec.8.inspector", async () => {
  await using served = await serveChild(["examples/counter"]);
  const url = String(served.ready.http);
  for (const [index, era] of ERAS.entries()) {
    assert.deepEqual(names((await inspect(era, web(url), "tools/list")).result, "tools"), ["add", "get"]);
    assert.equal(
      textOf((await inspect(era, web(url), "tools/call", "--tool-name", "add", "--tool-arg", "by=3")).result),
      String(3 * (index + 1)),
    );
  }
});

test("the Inspector over HTTP finds only tools of the MUD that a host can use, in both eras #spec.8.inspector #spec.8.input-schema", async () => {
  await using served = await serveChild(["examples/mud"]);
  const url = String(served.ready.http);
  for (const era of ERAS) {
    const { code, result, stderr } = await inspect(era, web(url), "tools/list", "--strict");
    assert.equal(code, 0, stderr);
    assert.ok(names(result, "tools").includes("look"));
  }
  const started = await inspect("modern", web(url), "tools/call", "--tool-name", "start_player");
  const handle = at(started.result, "structuredContent", "handle");
  assert.ok(typeof handle === "string" && handle.startsWith("h_"));
  const looked = await inspect("modern", web(url), "tools/call", "--tool-name", "look", "--tool-arg", `handle=${handle}`);
  assert.match(String(textOf(looked.result)), /dungeon entrance/);
});
