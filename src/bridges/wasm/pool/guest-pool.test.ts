import assert from "node:assert/strict";
import { test } from "node:test";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { SimulatedClock, until } from "../../../testing/index.ts";
import type { GuestCall, GuestOutcome } from "../sandbox.ts";
import { type Answer, ASKER, ECHO, GLOBALS, HOSTILE, hostOf, LIMITS, request, resultOf, utf8 } from "./guests.fixture.ts";
import { createSandbox } from "./guest-pool.ts";

const echo = (guest: string, text: string) => request(guest, text, { component: ECHO });
const count = (guest: string, more = {}) => request(guest, "", { component: GLOBALS, ...more });
const state = (outcome: GuestOutcome) =>
  outcome.end === "ok" && outcome.state !== undefined ? new TextDecoder().decode(outcome.state) : undefined;

test("a call gets its state and its host's answers, and reports all host calls in order", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { host, hosts } = hostOf((name) => ({ result: { ok: name.endsWith("request") ? utf8("pong") : undefined } }));
  const script = [
    "get",
    "runtime.log one",
    "message-server-host.request b ping",
    "timing.now",
    "timing.sleep 5",
    "set after",
    "runtime.log two",
  ];
  const outcome = await sandbox.run(request("a", script.join("\n&&\n"), { state: utf8("before"), host }));
  assert.equal(resultOf(outcome), ["ok before", "ok", "ok pong", "ok 1700000000000", "ok", "ok", "ok"].join("\n&&\n"));
  assert.equal(state(outcome), "after");
  assert.deepEqual(outcome.did, [
    { name: "runtime.log", args: ["one"], result: undefined },
    { name: "message-server-host.request", args: ["b", utf8("ping")], result: { ok: utf8("pong") } },
    { name: "timing.now", args: [], result: 1_700_000_000_000n },
    { name: "timing.sleep", args: [5n], result: { ok: undefined } },
    { name: "runtime.log", args: ["two"], result: undefined },
  ]);
  assert.deepEqual(hosts, [["message-server-host.request", "timing.sleep"]]);
});

test("large byte arrays pass completely, in both directions and through the host", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const large = utf8("0123456789abcdef".repeat(4_000));
  const given: unknown[] = [];
  const { host } = hostOf((_name, args) => {
    given.push(args[1]);
    return { result: { ok: large } };
  });
  const outcome = await sandbox.run(
    request("a", `message-server-host.request b ${new TextDecoder().decode(large)}\n&&\nget`, { state: large, host }),
  );
  assert.ok(outcome.end === "ok");
  assert.deepEqual([outcome.state, given], [large, [large]]);
  assert.deepEqual(outcome.did, [{ name: "message-server-host.request", args: ["b", large], result: { ok: large } }]);
  // The caller's arrays are not detached.
  assert.equal(large.length, 64_000);
});

test("an error of the host is returned to the guest, or traps if the import has no result type", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { host } = hostOf(() => {
    throw new Error("not today");
  });
  const told = await sandbox.run(request("a", "timing.sleep 1", { host }));
  assert.equal(resultOf(told), "err not today");
  assert.deepEqual(told.did, [{ name: "timing.sleep", args: [1n], result: { err: "not today" } }]);
  const trapped = await sandbox.run(request("a", "runtime.get-chain", { host }));
  assert.ok(trapped.end === "trap" && trapped.message.includes("not today"), resultOf(trapped));
});

test("C1 calls of one guest run one at a time, in order", async () => {
  await using sandbox = createSandbox({ workers: 2 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  const host = (name: string) =>
    hostOf(async () => {
      order.push(`${name} asks`);
      await promise;
      return { result: { ok: undefined } };
    }).host;
  const calls = ["first", "second", "third"].map(async (name) => {
    await sandbox.run(request("a", "timing.sleep 1", { host: host(name) }));
    order.push(`${name} over`);
  });
  await until("the first asks", () => order.length > 0);
  assert.equal(resultOf(await sandbox.run(request("b", "get"))), "ok none", "another guest is not held up");
  resolve();
  await Promise.all(calls);
  assert.deepEqual(order, ["first asks", "first over", "second asks", "second over", "third asks", "third over"]);
});

test("an instance is reused, unless its call failed, it was discarded, or its component changed", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const next = async () => resultOf(await sandbox.run(count("a")));
  assert.deepEqual([await next(), await next(), await next()], ["0", "1", "2"]);
  const failed = await sandbox.run(count("a", { export: "message-server-client.handle-send", params: [utf8("x")] }));
  assert.equal(failed.end, "trap");
  assert.equal(sandbox.measures.instances, 0);
  assert.deepEqual([await next(), await next()], ["0", "1"]);
  sandbox.forget("a");
  assert.equal(sandbox.measures.instances, 0);
  assert.deepEqual([await next(), await next()], ["0", "1"]);
  assert.equal(resultOf(await sandbox.run(request("a", "get"))), "ok none");
  assert.equal(await next(), "0");
  assert.equal(resultOf(await sandbox.run(count("a", { limits: { ...LIMITS, memoryBytes: 32 * 65_536 } }))), "0", "with another limit too");
  assert.deepEqual(sandbox.measures, { instances: 1, workers: 1, killed: 0, started: 1 });
});

test("2,000 guests share one worker that retains 50 instances", async () => {
  await using sandbox = createSandbox({ workers: 1, instances: 50 });
  for (const round of [1, 2]) {
    const answers = await Promise.all(Array.from({ length: 2_000 }, (_, n) => sandbox.run(echo(`g${n}`, `${n} in ${round}`))));
    assert.deepEqual(
      answers.map(resultOf),
      Array.from({ length: 2_000 }, (_, n) => `${n} in ${round}`),
    );
    assert.equal(sandbox.measures.instances, 50);
  }
  for (let n = 0; n < 60; n += 1) assert.equal(resultOf(await sandbox.run(count(`c${n}`))), "0");
  assert.equal(resultOf(await sandbox.run(count("c59"))), "1", "one of the last is kept");
  assert.equal(resultOf(await sandbox.run(count("c0"))), "0", "one of the first is not");
});

test("retained instances are bounded by their memory too", async () => {
  await using sandbox = createSandbox({ workers: 1, instanceBytes: 2.5 * LIMITS.memoryBytes });
  const bomb = (guest: string) => request(guest, "m", { component: HOSTILE });
  for (const guest of ["a", "b", "c", "d", "e"]) assert.equal(resultOf(await sandbox.run(bomb(guest))), "still here");
  assert.equal(sandbox.measures.instances, 2);
});

test("guests are spread over workers, and move away from a busy one", async () => {
  await using sandbox = createSandbox({ workers: 3 });
  // Sequential calls need only one worker.
  for (let n = 0; n < 40; n += 1) await sandbox.run(count(`g${n}`));
  assert.equal(sandbox.measures.started, 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const { host, hosts } = hostOf(async () => {
    await promise;
    return { result: { ok: undefined } };
  });
  const calls = Array.from({ length: 40 }, (_, n) => sandbox.run(request(`g${n}`, "timing.sleep 1", { host })));
  await until("all wait", () => hosts.length === 40);
  assert.equal(sandbox.measures.started, 3);
  resolve();
  assert.deepEqual(new Set((await Promise.all(calls)).map(resultOf)), new Set(["ok"]));
  assert.equal(sandbox.measures.instances, 40);
});

test("a module that cannot be bounded or does not compile is a trap with a message", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const capped = await sandbox.run(request("a", "get", { limits: { ...LIMITS, memoryBytes: 0 } }));
  assert.ok(capped.end === "trap" && /memory/.test(capped.message), resultOf(capped));
  const broken = {
    ...ASKER,
    digest: "0".repeat(64),
    module: Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 5, 1, 3, 0, 255, 11),
  };
  const outcome = await sandbox.run(request("a", "get", { component: broken }));
  assert.ok(outcome.end === "trap" && /compile/i.test(outcome.message), resultOf(outcome));
  assert.equal(resultOf(await sandbox.run(request("a", "get"))), "ok none");
});

test("options that are not positive whole numbers are refused", () => {
  for (const wrong of [{ workers: 0 }, { instances: 1.5 }, { heapMb: -1 }, { instanceBytes: Number.NaN }])
    assert.throws(() => createSandbox(wrong), RangeError);
});

const GONE = new Error("the caller has gone");
const DONE: Answer = { result: { ok: undefined } };
const SHORT = 60;

/** A call, and a function that aborts it. */
function leaving(guest: string, script: string, more: Partial<GuestCall> & { readonly callMs?: number } = {}) {
  const controller = new AbortController();
  return { call: request(guest, script, { ...more, signal: controller.signal }), leave: () => controller.abort(GONE) };
}
const rejects = (promise: Promise<unknown>) => assert.rejects(promise, GONE);

test("an aborted call is not started", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { call, leave } = leaving("a", "get");
  leave();
  await rejects(sandbox.run(call));
  assert.equal(sandbox.measures.started, 0);
});

test("aborting a call that waits for its module or an earlier call removes it", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { host, hosts } = hostOf();
  const compiling = leaving("a", "timing.sleep 1", { host });
  const compiled = sandbox.run(compiling.call);
  compiling.leave();
  await rejects(compiled);
  const gate = Promise.withResolvers<Answer>();
  const slow = hostOf(() => gate.promise);
  const first = sandbox.run(request("a", "timing.sleep 1", { host: slow.host }));
  const second = leaving("a", "timing.sleep 2", { host });
  const queued = sandbox.run(second.call);
  const third = sandbox.run(request("a", "get"));
  await until("the first waits", () => slow.hosts.length === 1);
  second.leave();
  await rejects(queued);
  gate.resolve(DONE);
  assert.deepEqual([resultOf(await first), resultOf(await third)], ["ok", "ok none"]);
  assert.deepEqual(hosts, []);
});

test("aborting a call removes it from its worker's backlog, or ends it before it starts there", async () => {
  // The clock stands still, so no guest is killed until it advances.
  const clock = new SimulatedClock();
  await using sandbox = createSandbox({ workers: 1, clock });
  const { host, hosts } = hostOf();
  const spins = sandbox.run(request("s", "spin", { callMs: SHORT }));
  const calls = Array.from({ length: 20 }, (_, n) => leaving(`g${n}`, "timing.sleep 1", { host }));
  const runs = calls.map(({ call }) => sandbox.run(call));
  const last = sandbox.run(request("e", "at last", { component: ECHO }));
  await until("its module is compiled", () => sandbox.measures.instances === 22);
  for (const { leave } of calls) leave();
  await Promise.all(runs.map(rejects));
  await until("the one that spins is killed", async () => {
    await clock.advance(SHORT);
    return sandbox.measures.killed === 1;
  });
  assert.equal((await spins).end, "killed");
  assert.equal(resultOf(await last), "at last");
  assert.deepEqual(hosts, []);
});

test("C1 an aborted call that computes is left to the watchdog, and its guest's next call waits", async () => {
  const clock = new SimulatedClock();
  await using sandbox = createSandbox({ workers: 2, clock });
  const { host, hosts } = hostOf();
  const spinning = leaving("a", "timing.sleep 1\n&&\nspin", { callMs: SHORT, host });
  const spins = sandbox.run(spinning.call);
  await until("it has begun", () => hosts.length === 1);
  spinning.leave();
  await rejects(spins);
  let over = false;
  const next = sandbox.run(request("a", "get")).finally(() => (over = true));
  // Another worker is idle; only the guest is busy.
  assert.equal(resultOf(await sandbox.run(request("b", "get"))), "ok none");
  assert.equal(over, false);
  await until("it is killed", async () => {
    await clock.advance(SHORT);
    return over;
  });
  assert.equal(resultOf(await next), "ok none");
  assert.equal(sandbox.measures.killed, 1);
});

test("aborting a call that waits for its host ends it and drops its instance; a later answer is ignored", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const callOnce = () => sandbox.run(request("a", "", { component: GLOBALS }));
  await callOnce();
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waiting = leaving("a", "timing.sleep 1\n&&\ntiming.sleep 2", { host });
  const waits = sandbox.run(waiting.call);
  await until("it waits", () => hosts.length === 1);
  waiting.leave();
  await rejects(waits);
  const next = await sandbox.run(request("a", "timing.sleep 3\n&&\nget"));
  gate.resolve(DONE);
  assert.equal(resultOf(next), "ok\n&&\nok none");
  assert.equal(resultOf(await callOnce()), "0");
  assert.deepEqual(hosts, [["timing.sleep"]]);
  assert.equal(sandbox.measures.killed, 0);
});

test("aborting a call while it ends is harmless in any order", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  let ended = 0;
  for (let n = 0; n < 200; n += 1) {
    const { call, leave } = leaving("a", "timing.sleep 1", {
      host: hostOf(() => {
        // Aborts in different turns of the event loop.
        const later = (turns: number): void => void (turns === 0 ? leave() : setImmediate(later, turns - 1));
        later(n % 8);
        return DONE;
      }).host,
    });
    const outcome = await sandbox.run(call).catch((error: unknown) => error);
    if (outcome !== GONE) ended += 1;
    assert.equal(resultOf(await sandbox.run(request("a", "get"))), "ok none");
  }
  assert.ok(ended < 200);
  assert.deepEqual(sandbox.measures, { instances: 1, workers: 1, killed: 0, started: 1 });
});

test("aborting a call whose worker died ends it before its first host has answered", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waiting = leaving("w", "timing.sleep 1", { host });
  const waits = sandbox.run(waiting.call);
  await until("it waits", () => hosts.length === 1);
  await sandbox.run(request("s", "spin", { callMs: SHORT }));
  waiting.leave();
  await rejects(waits);
  assert.equal(resultOf(await sandbox.run(request("w", "get"))), "ok none");
  gate.resolve(DONE);
  assert.equal(resultOf(await sandbox.run(request("w", "get"))), "ok none");
  assert.equal(hosts.length, 1);
});

const CLOSED = { name: "EngineError", code: "DRAINING" };

test("closing refuses calls in every phase, and ends all workers", async () => {
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

test("an unused sandbox can be closed", async () => {
  const sandbox = createSandbox();
  await sandbox[Symbol.asyncDispose]();
  assert.equal(sandbox.measures.started, 0);
});

test("a sandbox keeps the process alive only while calls are in flight", async () => {
  const child = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "alone.fixture.ts")], {
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  assert.deepEqual(child.stdout.split("\n"), ["ok none", "killed", "rejected", "ok", ""]);
});
