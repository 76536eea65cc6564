// Plays transcripts of another server against this one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { guideCalled, namesInTable } from "../guide-code.ts";
import { aboutTasks, readFixture } from "./fixture.ts";
import { PROMPTS, TOOLS } from "./handlers.ts";
import { play } from "./play.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(import.meta.dirname, "fixtures");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));

/** Transcripts about tasks, which are not supported yet. */
const NOT_RUN: readonly string[] = [];

test("all transcripts are present, and only those about tasks are listed as not run", () => {
  assert.ok(files.length >= 22);
  assert.deepEqual(
    files.filter((name) => aboutTasks(readFixture(join(folder, name)))),
    NOT_RUN,
  );
});

for (const name of files)
  if (!NOT_RUN.includes(name))
    test(`the profile apptheory-v3 answers as in ${name} #apptheory.later.fixtures`, async () => {
      assert.deepEqual(await play(readFixture(join(folder, name)), "apptheory-v3"), []);
    });

test("the strict profile differs from another dialect's transcripts, and the runner names the step", async () => {
  const wrong = await play(readFixture(join(folder, "sessions-lifecycle-create-delete-reject.json")), "strict");
  assert.ok(wrong.includes("delete_session: the status is 204, not 202"), wrong.join("\n"));
});

const fixtures = (...args: readonly string[]): Promise<{ readonly code: unknown; readonly out: string }> =>
  new Promise((done) => {
    execFile(process.execPath, ["--conditions=troupe-source", "test/apptheory/run.ts", ...args], { cwd: root }, (error, out) =>
      done({ code: error?.code ?? 0, out }),
    );
  });

test("npm run fixtures plays a directory, prints a line per file, and exits accordingly #apptheory.later.runner", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-fixtures-"));
  try {
    const sample = "core-tools-list-call.json";
    cpSync(join(folder, sample), join(directory, sample));
    const good = await fixtures(directory);
    assert.deepEqual(good, { code: 0, out: `pass     ${sample}\n1 passed, 0 failed, 0 not run, under apptheory-v3\n` });
    const text = readFileSync(join(folder, sample), "utf8");
    writeFileSync(join(directory, "other.json"), text.replaceAll("hello contract", "something else").replace("something else", "another"));
    writeFileSync(join(directory, "none.json"), "{}");
    const bad = await fixtures(directory);
    assert.equal(bad.code, 1);
    assert.match(bad.out, /FAIL {5}none\.json[\s\S]*FAIL {5}other\.json\n +tools_call: the body is .+\n1 passed, 2 failed/);
    const bare = JSON.parse(text);
    delete bare.setup.mcp.tools;
    writeFileSync(join(directory, "bare.json"), JSON.stringify(bare));
    assert.match(
      (await fixtures(directory)).out,
      /FAIL {5}bare\.json\n[\s\S]+?no tools, resources or prompts[^\n]+replayTranscript[\s\S]+FAIL {5}none/,
    );
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
    const tasks = JSON.parse(text);
    tasks.setup.mcp.task_runtime = { enabled: true };
    tasks.expect.mcp.steps[0].body_json.result.capabilities.tasks = {};
    writeFileSync(join(directory, "tasks.json"), JSON.stringify(tasks));
    assert.deepEqual(await fixtures(directory), {
      code: 0,
      out: "not run  tasks.json  (tasks)\n0 passed, 0 failed, 1 not run, under apptheory-v3\n",
    });
    writeFileSync(join(directory, "broken.json"), "{");
    assert.match((await fixtures(directory)).out, /^FAIL {5}broken\.json\n +.*JSON.*\nnot run/);
    rmSync(directory, { recursive: true });
    assert.equal((await fixtures(directory)).code, 2);
    mkdirSync(directory);
    assert.deepEqual(await fixtures(directory), { code: 1, out: "0 passed, 0 failed, 0 not run, under apptheory-v3\n" });
    assert.equal((await fixtures()).code, 2);
    assert.equal((await fixtures(directory, "unknown")).code, 2);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("the page for AppTheory lists every handler of the runner", () => {
  const documented = namesInTable(guideCalled("apptheory.md"), "| `handler` | it |", 1);
  assert.deepEqual(documented, [...Object.keys(TOOLS), ...Object.keys(PROMPTS)].toSorted());
});
