import assert from "node:assert/strict";
import { test } from "node:test";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { SimulatedClock, until } from "../../../testing/index.ts";
import type { GuestCall, GuestOutcome } from "../sandbox.ts";
import { type Answer, ASKER, ECHO, GLOBALS, HOSTILE, hostOf, LIMITS, request, said, utf8 } from "./guests.fixture.ts";
import { createSandbox } from "./guest-pool.ts";

const echo = (guest: string, text: string) => request(guest, text, { component: ECHO });
const count = (guest: string, more = {}) => request(guest, "", { component: GLOBALS, ...more });
const state = (outcome: GuestOutcome) =>
  outcome.end === "ok" && outcome.state !== undefined ? new TextDecoder().decode(outcome.state) : undefined;

test("a call has its state, its host's answers, and tells all host calls in order", async () => {
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
  assert.equal(said(outcome), ["ok before", "ok", "ok pong", "ok 1700000000000", "ok", "ok", "ok"].join("\n&&\n"));
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

test("large bytes come across whole, in both directions and through the host", async () => {
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
  // The caller's own are left as they were.
  assert.equal(large.length, 64_000);
});

test("a host's throw is told to the guest, and traps where the import cannot say it", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { host } = hostOf(() => {
    throw new Error("not today");
  });
  const told = await sandbox.run(request("a", "timing.sleep 1", { host }));
  assert.equal(said(told), "err not today");
  assert.deepEqual(told.did, [{ name: "timing.sleep", args: [1n], result: { err: "not today" } }]);
  const trapped = await sandbox.run(request("a", "runtime.get-chain", { host }));
  assert.ok(trapped.end === "trap" && trapped.message.includes("not today"), said(trapped));
});

test("C1 of one guest there is one call at a time, in the order they came", async () => {
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
  assert.equal(said(await sandbox.run(request("b", "get"))), "ok none", "another guest is not held up");
  resolve();
  await Promise.all(calls);
  assert.deepEqual(order, ["first asks", "first over", "second asks", "second over", "third asks", "third over"]);
});

test("an instance is kept, and discarded when its call does not end well, is forgotten, or its component is another", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const next = async () => said(await sandbox.run(count("a")));
  assert.deepEqual([await next(), await next(), await next()], ["0", "1", "2"]);
  const failed = await sandbox.run(count("a", { export: "message-server-client.handle-send", params: [utf8("x")] }));
  assert.equal(failed.end, "trap");
  assert.equal(sandbox.measures.instances, 0);
  assert.deepEqual([await next(), await next()], ["0", "1"]);
  sandbox.forget("a");
  assert.equal(sandbox.measures.instances, 0);
  assert.deepEqual([await next(), await next()], ["0", "1"]);
  assert.equal(said(await sandbox.run(request("a", "get"))), "ok none");
  assert.equal(await next(), "0");
  assert.equal(said(await sandbox.run(count("a", { limits: { ...LIMITS, memoryBytes: 32 * 65_536 } }))), "0", "with another limit too");
  assert.deepEqual(sandbox.measures, { instances: 1, workers: 1, killed: 0, started: 1 });
});

test("2,000 guests share one worker that keeps 50 instances", async () => {
  await using sandbox = createSandbox({ workers: 1, instances: 50 });
  for (const round of [1, 2]) {
    const answers = await Promise.all(Array.from({ length: 2_000 }, (_, n) => sandbox.run(echo(`g${n}`, `${n} in ${round}`))));
    assert.deepEqual(
      answers.map(said),
      Array.from({ length: 2_000 }, (_, n) => `${n} in ${round}`),
    );
    assert.equal(sandbox.measures.instances, 50);
  }
  for (let n = 0; n < 60; n += 1) assert.equal(said(await sandbox.run(count(`c${n}`))), "0");
  assert.equal(said(await sandbox.run(count("c59"))), "1", "one of the last is kept");
  assert.equal(said(await sandbox.run(count("c0"))), "0", "one of the first is not");
});

test("kept instances are bounded by their memory too", async () => {
  await using sandbox = createSandbox({ workers: 1, instanceBytes: 2.5 * LIMITS.memoryBytes });
  const bomb = (guest: string) => request(guest, "m", { component: HOSTILE });
  for (const guest of ["a", "b", "c", "d", "e"]) assert.equal(said(await sandbox.run(bomb(guest))), "still here");
  assert.equal(sandbox.measures.instances, 2);
});

test("guests are spread over workers, and move from one that is crowded", async () => {
  await using sandbox = createSandbox({ workers: 3 });
  // One after another they need one worker only.
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
  assert.deepEqual(new Set((await Promise.all(calls)).map(said)), new Set(["ok"]));
  assert.equal(sandbox.measures.instances, 40);
});

test("a module that cannot be held to the limit, or does not compile, is a trap that says so", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const capped = await sandbox.run(request("a", "get", { limits: { ...LIMITS, memoryBytes: 0 } }));
  assert.ok(capped.end === "trap" && /memory/.test(capped.message), said(capped));
  const broken = {
    ...ASKER,
    digest: "0".repeat(64),
    module: Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 5, 1, 3, 0, 255, 11),
  };
  const outcome = await sandbox.run(request("a", "get", { component: broken }));
  assert.ok(outcome.end === "trap" && /compile/i.test(outcome.message), said(outcome));
  assert.equal(said(await sandbox.run(request("a", "get"))), "ok none");
});

test("options that are no whole numbers above 0 are refused", () => {
  for (const wrong of [{ workers: 0 }, { instances: 1.5 }, { heapMb: -1 }, { instanceBytes: Number.NaN }])
    assert.throws(() => createSandbox(wrong), RangeError);
});

const GONE = new Error("the caller has gone");
const DONE: Answer = { result: { ok: undefined } };
const SHORT = 60;

/** A call, and the caller's way to leave it. */
function leaving(guest: string, script: string, more: Partial<GuestCall> & { readonly callMs?: number } = {}) {
  const controller = new AbortController();
  return { call: request(guest, script, { ...more, signal: controller.signal }), leave: () => controller.abort(GONE) };
}
const rejects = (promise: Promise<unknown>) => assert.rejects(promise, GONE);

test("one that comes aborted is not tried", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { call, leave } = leaving("a", "get");
  leave();
  await rejects(sandbox.run(call));
  assert.equal(sandbox.measures.started, 0);
});

test("one that waits for its module, or for an earlier call of its guest, is taken out", async () => {
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
  assert.deepEqual([said(await first), said(await third)], ["ok", "ok none"]);
  assert.deepEqual(hosts, []);
});

test("one that waits for its worker is taken out, and one that the worker has not begun ends there", async () => {
  // Time stands still, so nobody is killed until it is moved.
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
  assert.equal(said(await last), "at last");
  assert.deepEqual(hosts, []);
});

test("C1 one that computes is left to the watchdog, and its guest's next call waits for that", async () => {
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
  // Another worker is free: only the guest is not.
  assert.equal(said(await sandbox.run(request("b", "get"))), "ok none");
  assert.equal(over, false);
  await until("it is killed", async () => {
    await clock.advance(SHORT);
    return over;
  });
  assert.equal(said(await next), "ok none");
  assert.equal(sandbox.measures.killed, 1);
});

test("one that waits for its host ends at once, its instance goes, and what its host says later is nobody's", async () => {
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
  assert.equal(said(next), "ok\n&&\nok none");
  assert.equal(said(await callOnce()), "0");
  assert.deepEqual(hosts, [["timing.sleep"]]);
  assert.equal(sandbox.measures.killed, 0);
});

test("one that leaves while it ends does no harm, whatever comes first", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  let ended = 0;
  for (let n = 0; n < 200; n += 1) {
    const { call, leave } = leaving("a", "timing.sleep 1", {
      host: hostOf(() => {
        // Into different turns of what follows.
        const later = (turns: number): void => void (turns === 0 ? leave() : setImmediate(later, turns - 1));
        later(n % 8);
        return DONE;
      }).host,
    });
    const outcome = await sandbox.run(call).catch((error: unknown) => error);
    if (outcome !== GONE) ended += 1;
    assert.equal(said(await sandbox.run(request("a", "get"))), "ok none");
  }
  assert.ok(ended < 200);
  assert.deepEqual(sandbox.measures, { instances: 1, workers: 1, killed: 0, started: 1 });
});

test("one whose worker died ends while its first host is still at it", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waiting = leaving("w", "timing.sleep 1", { host });
  const waits = sandbox.run(waiting.call);
  await until("it waits", () => hosts.length === 1);
  await sandbox.run(request("s", "spin", { callMs: SHORT }));
  waiting.leave();
  await rejects(waits);
  assert.equal(said(await sandbox.run(request("w", "get"))), "ok none");
  gate.resolve(DONE);
  assert.equal(said(await sandbox.run(request("w", "get"))), "ok none");
  assert.equal(hosts.length, 1);
});

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
