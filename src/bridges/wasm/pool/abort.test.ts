import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock, until } from "../../../testing/index.ts";
import type { GuestCall } from "../sandbox.ts";
import { type Answer, ECHO, GLOBALS, hostOf, request, said } from "./guests.fixture.ts";
import { createSandbox } from "./index.ts";

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
  const count = () => sandbox.run(request("a", "", { component: GLOBALS }));
  await count();
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
  assert.equal(said(await count()), "0");
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
