// The Restate server that Troupe starts: where it comes from, and that it never outlives who started it.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { restateExecutable, RestateServer } from "../../src/cli/cluster/restate-server.ts";
import { until } from "../../src/testing/index.ts";
import { install } from "../restate/install.ts";
import { runningScript } from "./run.ts";

const source = join(import.meta.dirname, "../../src/cli/cluster/restate-server.ts");
let executable: string;

before(async () => {
  executable = (await install()).server;
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test("the executable is the project's own, and where there is none the command that installs it is told", () => {
  assert.equal(restateExecutable(join(import.meta.dirname, "../restate")), executable);
  assert.throws(() => restateExecutable(tmpdir()), {
    code: "RESTATE_MISSING",
    message: /run "npm install --save-dev --ignore-scripts @restatedev\/restate-server@\d/,
  });
});

test("it ends with the process that started it, and its temporary data with it, told to or not, also where that fails", async () => {
  const start = `
    const { RestateServer } = await import(${JSON.stringify(source)});
    const server = await RestateServer.start({ executable: ${JSON.stringify(executable)} });
    console.log("pid=" + server.pid);`;
  const place = mkdtempSync(join(tmpdir(), "troupe-restate-place-"));
  for (const [script, signal] of [
    [`${start} setInterval(() => {}, 1000);`, "SIGTERM"],
    [`${start} setInterval(() => {}, 1000);`, "SIGHUP"],
    [`${start} throw new Error("stray");`, undefined],
  ] as const) {
    await using running = runningScript({
      env: { TMPDIR: place },
      args: ["--conditions=troupe-source", "--input-type=module", "-e", script],
    });
    await running.said(/pid=\d+/);
    const pid = Number(/pid=(\d+)/.exec(running.out())?.[1]);
    if (signal !== undefined) running.child.kill(signal);
    await running.ended;
    await until("the server is gone", () => !isAlive(pid));
    assert.deepEqual(readdirSync(place), []);
  }
  rmSync(place, { recursive: true });
});

test("its data stays in a folder that is named, and goes with it in one that is not; it is stopped in good order", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-restate-kept-"));
  try {
    const first = await RestateServer.start({ executable, directory });
    const ended = first.ended;
    await first[Symbol.asyncDispose]();
    assert.equal(await ended, 0);
    assert.equal(first.pid, undefined);
    await using second = await RestateServer.start({ executable, directory });
    assert.ok((await fetch(`${second.admin}/health`)).ok);
    await assert.rejects(RestateServer.start({ executable, directory }), {
      code: "RESTATE_FAILED",
      message: /it ended with 1\. Its log ends:\n./,
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("what it takes for temporary goes with it, also beside data that is kept, and where it did not start", async () => {
  const place = mkdtempSync(join(tmpdir(), "troupe-restate-place-"));
  const [directory, temporary] = [join(place, "data"), join(place, "temporary")];
  mkdirSync(temporary);
  const script = `
    const { readdirSync } = await import("node:fs");
    const { RestateServer } = await import(${JSON.stringify(source)});
    const held = () => readdirSync(${JSON.stringify(temporary)}, { recursive: true }).length;
    const options = { executable: ${JSON.stringify(executable)}, directory: ${JSON.stringify(directory)} };
    const server = await RestateServer.start(options);
    // Its own folder, and what the server makes in it once it leads a partition.
    for (let n = 0; n < 500 && held() < 2; n += 1) await new Promise((done) => setTimeout(done, 10));
    const during = held();
    const refused = await RestateServer.start(options).catch(({ code }) => code);
    const kept = held() >= during;
    await server[Symbol.asyncDispose]();
    console.log(JSON.stringify({ made: during > 1, refused, kept, after: held() }));`;
  try {
    await using running = runningScript({
      env: { TMPDIR: temporary },
      args: ["--conditions=troupe-source", "--input-type=module", "-e", script],
    });
    await running.ended;
    assert.deepEqual(JSON.parse(/^\{.*\}$/m.exec(running.out())?.[0] ?? "null"), {
      made: true,
      refused: "RESTATE_FAILED",
      kept: true,
      after: 0,
    });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});

test("a start that is given up ends what was started", async () => {
  const signal = AbortSignal.abort();
  await assert.rejects(RestateServer.start({ executable, signal }), { code: "RESTATE_FAILED" });
  await assert.rejects(RestateServer.start({ executable: join(tmpdir(), "no-such-server") }), {
    code: "RESTATE_FAILED",
    message: /ENOENT/,
  });
});
