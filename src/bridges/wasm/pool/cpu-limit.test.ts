import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { type Answer, ECHO, HOSTILE, hostOf, LIMITS, request, said, utf8 } from "./guests.fixture.ts";
import { createSandbox } from "./guest-pool.ts";

const SHORT = 60;
const spin = (guest: string, before = "", callMs = SHORT) => request(guest, `${before}spin`, { callMs });
const TOO_LONG = `killed: The guest computed for more than ${SHORT} ms in one call: let it do less in each.`;
const DONE: Answer = { result: { ok: undefined } };

test("a guest that spins is killed, and its neighbours' calls run again to the right answers", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const waiting = hostOf(() => gate.promise);
  const waits = ["w1", "w2", "w3"].map((guest) =>
    sandbox.run(request(guest, `timing.sleep 1\n&&\nget`, { state: utf8(guest), host: waiting.host })),
  );
  await until("they wait", () => waiting.hosts.length === 3);
  const spins = sandbox.run(spin("s"));
  const echoes = Array.from({ length: 30 }, (_, n) => sandbox.run(request(`e${n}`, `echo ${n}`, { component: ECHO })));
  assert.equal(said(await spins), TOO_LONG);
  assert.deepEqual(
    (await Promise.all(echoes)).map(said),
    Array.from({ length: 30 }, (_, n) => `echo ${n}`),
  );
  assert.equal(waiting.hosts.length, 3, "they wait for what their first host is doing");
  gate.resolve(DONE);
  assert.deepEqual(
    (await Promise.all(waits)).map(said),
    ["w1", "w2", "w3"].map((guest) => `ok\n&&\nok ${guest}`),
  );
  assert.deepEqual(
    waiting.hosts,
    Array.from({ length: 6 }, () => ["timing.sleep"]),
    "each was tried twice, with a host of its own",
  );
  assert.deepEqual(sandbox.measures, { instances: 33, workers: 1, killed: 1, started: 2 });
});

test("guests that are answered at once compute one after the other, each watched", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const script = "timing.sleep 1\n&&\n";
  const calls = ["a", "b", "c", "d"].map((guest) => sandbox.run({ ...spin(guest, script), host }));
  await until("all wait", () => hosts.length === 4);
  gate.resolve({ ...DONE, lasting: true });
  const outcomes = await Promise.all(calls);
  assert.ok(
    outcomes.some((outcome) => said(outcome) === TOO_LONG),
    "a worker ends with the first that spins, and the others with it",
  );
  assert.ok(outcomes.every((outcome) => outcome.end === "lost" || said(outcome) === TOO_LONG));
});

test("an outcome tells the host calls of its own attempt only, and its host", async () => {
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

test("one that was killed tells all it did, its last words too", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const outcome = await sandbox.run(spin("s", "runtime.log a\n&&\ntiming.sleep 1\n&&\nruntime.log b\n&&\ntiming.now\n&&\n"));
  assert.equal(said(outcome), TOO_LONG);
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

test("a call whose host did something that lasts is not run again", async () => {
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
  assert.equal(said(await sandbox.run(request("a", "get"))), "ok none", "its guest is free again");
});

test("a call whose worker is ended under it ten times, each for another guest, is given up", async () => {
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
  assert.ok(outcome.end === "lost" && outcome.message.includes("under it 10 times"), said(outcome));
  assert.equal(hosts.length, gates.length);
});

test("one that had not begun is run again however often", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const calls = [1, 2, 3, 4, 5].map((n) => sandbox.run(spin(`s${n}`)));
  const last = sandbox.run(request("e", "at last", { component: ECHO }));
  assert.deepEqual(
    (await Promise.all(calls)).map(said),
    Array.from({ length: 5 }, () => TOO_LONG),
  );
  assert.equal(said(await last), "at last");
  assert.equal(sandbox.measures.killed, 5);
});

test("while a guest waits nothing is counted, however often the watchdog looks", async () => {
  const clock = new SimulatedClock();
  await using sandbox = createSandbox({ workers: 1, clock });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1", { callMs: 20, host }));
  await until("it waits", () => hosts.length === 1);
  await clock.advance(100_000);
  assert.equal(clock.pending, 0, "with nobody to watch it does not look");
  gate.resolve(DONE);
  assert.equal(said(await waits), "ok");
});

const STAYS = 9_000;

test("many short stays count together", async () => {
  // The watchdog never looks: time stands still. Many, since a thread's time is told in ticks on some machines.
  await using sandbox = createSandbox({ workers: 1, clock: new SimulatedClock() });
  const script = Array.from({ length: STAYS }, () => "timing.sleep 1").join("\n&&\n");
  const outcome = await sandbox.run(request("w", script, { callMs: 1 }));
  assert.ok(outcome.end === "killed" && outcome.why === "time", said(outcome));
  assert.ok(outcome.did.length < STAYS);
  assert.equal(sandbox.measures.killed, 0, "its worker lives");
});

test("a guest that spins where it is made, allocates or cleans up is killed, and what it broke is not used again", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const hostile = (message: string) => request("h", message, { component: HOSTILE, callMs: SHORT });
  const init = { ...hostile(""), export: "actor.init", state: utf8("l"), params: ["id"] } as const;
  assert.equal(said(await sandbox.run(init)), TOO_LONG);
  for (const message of ["l", "X"]) assert.equal(said(await sandbox.run(hostile(message))), TOO_LONG, message);
  assert.equal(said(await sandbox.run(hostile("L"))), "still here", "from now on its allocator never ends");
  assert.equal(said(await sandbox.run(hostile("?"))), TOO_LONG);
  assert.equal(said(await sandbox.run(hostile("?"))), "still here");
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
    assert.deepEqual([outcome.end, said(beside)], [end, "here"], said(outcome));
  }
  assert.deepEqual(sandbox.measures, { instances: 1, workers: 1, killed: 0, started: 1 });
});

test("a worker that dies by itself takes the guest inside for guilty, and nobody else", async () => {
  await using sandbox = createSandbox({ workers: 1, heapMb: 24 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1", { host }));
  await until("it waits", () => hosts.length === 1);
  // A million lines that it logs fill the heap, where these limits allow it.
  const limits = { ...LIMITS, hostCalls: 1e9, hostBytes: 1e12 };
  const logs = sandbox.run(request("h", "G", { component: HOSTILE, limits }));
  const beside = sandbox.run(request("e", "here", { component: ECHO }));
  const outcome = await logs;
  assert.ok(outcome.end === "trap" && outcome.message.includes("memory"), said(outcome));
  assert.ok(outcome.did.length > 0);
  assert.equal(said(await beside), "here");
  gate.resolve(DONE);
  assert.equal(said(await waits), "ok");
  assert.deepEqual([hosts.length, sandbox.measures.started], [2, 2]);
});
