import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { until } from "../../../testing/index.ts";
import { type Answer, hostOf, request } from "./guests.fixture.ts";
import { createSandbox } from "./index.ts";

const CLOSED = { name: "EngineError", code: "DRAINING" };

test("what is in flight when it closes is refused in every phase, and all workers end", async () => {
  const sandbox = createSandbox({ workers: 2 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const calls = [sandbox.run(request("w", "timing.sleep 1\n&&\ntiming.sleep 1", { host })), sandbox.run(request("w", "get"))];
  await until("it waits", () => hosts.length === 1);
  for (let n = 0; n < 30; n += 1) calls.push(sandbox.run(request(`s${n}`, "spin")));
  await until("they spin", () => sandbox.measures.workers === 2);
  const refused = Promise.all(calls.map((call) => assert.rejects(call, CLOSED)));
  await Promise.all([sandbox[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]);
  await refused;
  gate.resolve({ result: { ok: undefined } });
  assert.deepEqual(sandbox.measures, { instances: 0, workers: 0, killed: 0, started: 2 });
  await assert.rejects(sandbox.run(request("w", "get")), CLOSED);
  sandbox.forget("w");
  await sandbox[Symbol.asyncDispose]();
  assert.deepEqual(hosts, [["timing.sleep"]]);
});

test("one that was never used closes", async () => {
  const sandbox = createSandbox();
  await sandbox[Symbol.asyncDispose]();
  assert.equal(sandbox.measures.started, 0);
});

test("it keeps the process alive while calls are in flight, and no longer", async () => {
  const child = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "alone.fixture.ts")], {
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  assert.deepEqual(child.stdout.split("\n"), ["ok none", "killed", "rejected", "ok", ""]);
});
