import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { type Answer, ECHO, HOSTILE, hostOf, LIMITS, request, resultOf, utf8 } from "./guests.fixture.ts";
import { createSandbox } from "./guest-pool.ts";

const SHORT = 60;
const spin = (guest: string, before = "", callMs = SHORT) => request(guest, `${before}spin`, { callMs });
const TOO_LONG = `killed: The guest computed for more than ${SHORT} ms in one call: let it do less in each.`;
const DONE: Answer = { result: { ok: undefined } };

test("a guest that spins is killed, and its neighbours' calls run again with correct results", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const waiting = hostOf(() => gate.promise);
  const waits = ["w1", "w2", "w3"].map((guest) =>
    sandbox.run(request(guest, `timing.sleep 1\n&&\nget`, { state: utf8(guest), host: waiting.host })),
  );
  await until("they wait", () => waiting.hosts.length === 3);
  const spins = sandbox.run(spin("s"));
  const echoes = Array.from({ length: 30 }, (_, n) => sandbox.run(request(`e${n}`, `echo ${n}`, { component: ECHO })));
  assert.equal(resultOf(await spins), TOO_LONG);
  assert.deepEqual(
    (await Promise.all(echoes)).map(resultOf),
    Array.from({ length: 30 }, (_, n) => `echo ${n}`),
  );
  assert.equal(waiting.hosts.length, 3, "they wait for what their first host is doing");
  gate.resolve(DONE);
  assert.deepEqual(
    (await Promise.all(waits)).map(resultOf),
    ["w1", "w2", "w3"].map((guest) => `ok\n&&\nok ${guest}`),
  );
  assert.deepEqual(
    waiting.hosts,
    Array.from({ length: 6 }, () => ["timing.sleep"]),
    "each was tried twice, with a host of its own",
  );
  assert.deepEqual(sandbox.measures, { instances: 33, workers: 1, killed: 1, started: 2 });
});

test("guests that compute one after the other are each watched", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const script = "timing.sleep 1\n&&\n";
  const calls = ["a", "b", "c", "d"].map((guest) => sandbox.run({ ...spin(guest, script), host }));
  await until("all wait", () => hosts.length === 4);
  gate.resolve({ ...DONE, lasting: true });
  const outcomes = await Promise.all(calls);
  assert.ok(
    outcomes.some((outcome) => resultOf(outcome) === TOO_LONG),
    "a worker ends with the first that spins, and the others with it",
  );
  assert.ok(outcomes.every((outcome) => outcome.end === "lost" || resultOf(outcome) === TOO_LONG));
});

test("an outcome has the host calls of its own attempt only, and its host", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  let asked = 0;
  const { host, hosts } = hostOf(() => ((asked += 1) === 2 ? gate.promise : DONE));
  const made = new Set<unknown>();
  const call = request("w", "runtime.log a\n&&\ntiming.sleep 1\n&&\ntiming.sleep 2\n&&\nruntime.log b", {
    host: () => {
      const one = host();
      made.add(one);
      return one;
    },
  });
  const waits = sandbox.run(call);
  await until("it waits", () => asked === 2);
  await sandbox.run(spin("s"));
  gate.resolve(DONE);
  const outcome = await waits;
  assert.deepEqual(
    outcome.did.map(({ name, args }) => [name, ...args]),
    [
      ["runtime.log", "a"],
      ["timing.sleep", 1n],
      ["timing.sleep", 2n],
      ["runtime.log", "b"],
    ],
  );
  assert.deepEqual(hosts, [
    ["timing.sleep", "timing.sleep"],
    ["timing.sleep", "timing.sleep"],
  ]);
  assert.equal([...made][1], outcome.host);
});

test("a killed call reports all its host calls, including the last log lines", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const outcome = await sandbox.run(spin("s", "runtime.log a\n&&\ntiming.sleep 1\n&&\nruntime.log b\n&&\ntiming.now\n&&\n"));
  assert.equal(resultOf(outcome), TOO_LONG);
  assert.deepEqual(
    outcome.did.map(({ name }) => name),
    ["runtime.log", "timing.sleep", "runtime.log", "timing.now"],
  );
  const many = Array.from({ length: 1_500 }, (_, n) => `runtime.log ${n}`);
  const wordy = await sandbox.run(spin("s", `${many.join("\n&&\n")}\n&&\n`, 500));
  assert.deepEqual(
    wordy.did.map(({ args }) => args[0]),
    Array.from({ length: 1_500 }, (_, n) => String(n)),
    "more than is kept for it",
  );
});

test("a call is not retried after a host call with a lasting effect", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  let asked = 0;
  const before = hostOf(() => ((asked += 1) === 1 ? { ...DONE, lasting: true } : gate.promise));
  const during = hostOf(() => gate.promise.then((answer) => ({ ...answer, lasting: true })));
  const script = "timing.sleep 1\n&&\ntiming.sleep 2";
  const calls = [sandbox.run(request("a", script, { host: before.host })), sandbox.run(request("b", script, { host: during.host }))];
  await until("both wait", () => asked === 2 && during.hosts.length === 1);
  await sandbox.run(spin("s"));
  gate.resolve(DONE);
  const outcomes = await Promise.all(calls);
  assert.deepEqual(
    outcomes.map(({ end, did }) => [end, did.length]),
    [
      ["lost", 2],
      ["lost", 1],
    ],
  );
  assert.deepEqual([before.hosts.length, during.hosts.length], [1, 1]);
  assert.equal(resultOf(await sandbox.run(request("a", "get"))), "ok none", "its guest is free again");
});

test("a call is lost after its worker was killed ten times for other guests", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const { host, hosts } = hostOf(() => gates[hosts.length - 1]?.promise ?? DONE);
  const gates = Array.from({ length: 10 }, () => Promise.withResolvers<Answer>());
  const waits = sandbox.run(request("w", "timing.sleep 1", { host }));
  for (const [times, gate] of gates.entries()) {
    await until("it waits", () => hosts.length === times + 1);
    await sandbox.run(spin("s"));
    gate.resolve(DONE);
  }
  const outcome = await waits;
  assert.ok(outcome.end === "lost" && outcome.message.includes("under it 10 times"), resultOf(outcome));
  assert.equal(hosts.length, gates.length);
});

test("a call that has not started is retried any number of times", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const calls = [1, 2, 3, 4, 5].map((n) => sandbox.run(spin(`s${n}`)));
  const last = sandbox.run(request("e", "at last", { component: ECHO }));
  assert.deepEqual(
    (await Promise.all(calls)).map(resultOf),
    Array.from({ length: 5 }, () => TOO_LONG),
  );
  assert.equal(resultOf(await last), "at last");
  assert.equal(sandbox.measures.killed, 5);
});

test("time spent waiting for the host does not count", async () => {
  const clock = new SimulatedClock();
  await using sandbox = createSandbox({ workers: 1, clock });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1", { callMs: 20, host }));
  await until("it waits", () => hosts.length === 1);
  await clock.advance(100_000);
  assert.equal(clock.pending, 0, "with nobody to watch it does not look");
  gate.resolve(DONE);
  assert.equal(resultOf(await waits), "ok");
});

const STAYS = 9_000;

test("many short intervals of computing add up", async () => {
  // The clock stands still, so the watchdog never checks. Many intervals, since some machines measure thread time in ticks.
  await using sandbox = createSandbox({ workers: 1, clock: new SimulatedClock() });
  const script = Array.from({ length: STAYS }, () => "timing.sleep 1").join("\n&&\n");
  const outcome = await sandbox.run(request("w", script, { callMs: 1 }));
  assert.ok(outcome.end === "killed" && outcome.why === "time", resultOf(outcome));
  assert.ok(outcome.did.length < STAYS);
  assert.equal(sandbox.measures.killed, 0, "its worker lives");
});

test("a guest that spins while it starts, allocates or cleans up is killed, and its instance is not reused", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const hostile = (message: string) => request("h", message, { component: HOSTILE, callMs: SHORT });
  const init = { ...hostile(""), export: "actor.init", state: utf8("l"), params: ["id"] } as const;
  assert.equal(resultOf(await sandbox.run(init)), TOO_LONG);
  for (const message of ["l", "X"]) assert.equal(resultOf(await sandbox.run(hostile(message))), TOO_LONG, message);
  assert.equal(resultOf(await sandbox.run(hostile("L"))), "still here", "from now on its allocator never ends");
  assert.equal(resultOf(await sandbox.run(hostile("?"))), TOO_LONG);
  assert.equal(resultOf(await sandbox.run(hostile("?"))), "still here");
  assert.equal(sandbox.measures.killed, 4);
});

test("a memory bomb and deep recursion stay in their instance", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const hostile = (message: string) => request("h", message, { component: HOSTILE });
  const neighbour = () => sandbox.run(request("e", "here", { component: ECHO }));
  for (const [message, end] of [
    ["m", "ok"],
    ["M", "trap"],
    ["r", "trap"],
    ["r", "trap"],
  ] as const) {
    const [outcome, beside] = await Promise.all([sandbox.run(hostile(message)), neighbour()]);
    assert.deepEqual([outcome.end, resultOf(beside)], [end, "here"], resultOf(outcome));
  }
  assert.deepEqual(sandbox.measures, { instances: 1, workers: 1, killed: 0, started: 1 });
});

test("when a worker dies by itself, only the guest that was running is blamed", async () => {
  await using sandbox = createSandbox({ workers: 1, heapMb: 24 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1", { host }));
  await until("it waits", () => hosts.length === 1);
  // With these limits, a million log lines fill the heap.
  const limits = { ...LIMITS, hostCalls: 1e9, hostBytes: 1e12 };
  const logs = sandbox.run(request("h", "G", { component: HOSTILE, limits }));
  const beside = sandbox.run(request("e", "here", { component: ECHO }));
  const outcome = await logs;
  assert.ok(outcome.end === "trap" && outcome.message.includes("memory"), resultOf(outcome));
  assert.ok(outcome.did.length > 0);
  assert.equal(resultOf(await beside), "here");
  gate.resolve(DONE);
  assert.equal(resultOf(await waits), "ok");
  assert.deepEqual([hosts.length, sandbox.measures.started], [2, 2]);
});
