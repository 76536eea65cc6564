import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../testing/index.ts";
import { coreModule, op } from "../abi/runnable-module.fixture.ts";
import type { Component } from "../component/component.ts";
import { createSandbox } from "./guest-pool.ts";
import { type Answer, ASKER, ECHO, hostOf, LIMITS, request, resultOf, utf8 } from "./guests.fixture.ts";

const PAGE = 65_536;
const PAGES = 16;
const i32s = (count: number): readonly "i32"[] => Array.from({ length: count }, () => "i32");

/** Allocates a mebibyte of memory, then waits for its host. */
const large: Component = {
  ...ASKER,
  digest: "large",
  module: coreModule({
    imports: [{ module: "timing", field: "sleep", params: ["i64", "i32"], results: [] }],
    functions: [
      {
        name: "request",
        params: i32s(7),
        results: ["i32"],
        body: [...op.i32(PAGES - 1), ...op.grow, ...op.drop, 0x42, 1, ...op.i32(16), ...op.call(0), ...op.i32(1_024)],
      },
      { name: "cabi_realloc", params: i32s(4), results: ["i32"], body: op.i32(4_096) },
    ],
  }),
  realloc: "cabi_realloc",
  memory: "memory",
  imports: [{ name: "timing.sleep", module: "timing", field: "sleep" }],
  exports: { "message-server-client.handle-request": { core: "request" } },
};

test("when waiting guests hold too much memory, the largest end, and their host calls are recorded", async () => {
  await using sandbox = createSandbox({ workers: 2, waitingBytes: 4.5 * PAGES * PAGE });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const wait = (guest: string, component: Component) =>
    sandbox.run(request(guest, "timing.sleep 1", { component, host, limits: { ...LIMITS, memoryBytes: PAGES * PAGE } }));
  const small = wait("small", ASKER);
  await until("it waits", () => hosts.length === 1);
  const all = Array.from({ length: 12 }, (_, n) => wait(`large ${n}`, large));
  await until("all have waited", () => hosts.length === 13);
  gate.resolve({ result: { ok: undefined } });
  const outcomes = await Promise.all(all);
  const lost = outcomes.filter(({ end }) => end === "lost");
  assert.deepEqual([lost.length, outcomes.filter(({ end }) => end === "ok").length], [8, 4]);
  for (const outcome of lost) {
    assert.match(resultOf(outcome), /no room in this process/);
    assert.deepEqual(
      outcome.did.map(({ name, result }) => [name, result]),
      [["timing.sleep", { ok: undefined }]],
    );
  }
  assert.equal(resultOf(await small), "ok");
  assert.equal((await wait("large 0", large)).end, "ok", "its guest is free again");
  assert.equal(sandbox.measures.killed, 0);
});

test("among calls with equal memory the newest end, and a single call may always wait", async () => {
  await using sandbox = createSandbox({ workers: 1, waitingBytes: 2.5 * PAGES * PAGE });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const wait = (guest: string) =>
    sandbox.run(request(guest, "timing.sleep 1", { component: large, host, limits: { ...LIMITS, memoryBytes: PAGES * PAGE } }));
  const all: ReturnType<typeof wait>[] = [];
  for (let n = 1; n <= 4; n += 1) {
    all.push(wait(`large ${n}`));
    await until("it waits", () => hosts.length === n);
  }
  gate.resolve({ result: { ok: undefined } });
  assert.deepEqual(
    (await Promise.all(all)).map(({ end }) => end),
    ["ok", "ok", "lost", "lost"],
  );
  await using narrow = createSandbox({ workers: 1, waitingBytes: PAGE });
  const alone = request("alone", "timing.sleep 1", { component: large, host, limits: { ...LIMITS, memoryBytes: PAGES * PAGE } });
  assert.equal((await narrow.run(alone)).end, "ok");
});

declare const WebAssembly: { readonly Memory: new (limits: { readonly initial: number }) => object };

const echo = (guest: string) => request(guest, guest, { component: ECHO });

/** Uses up the address space of the process. */
function fill(): readonly object[] {
  const memories: object[] = [];
  try {
    for (;;) memories.push(new WebAssembly.Memory({ initial: 1 }));
  } catch {
    return memories;
  }
}

test("when no memory can be allocated, idle instances are dropped", async () => {
  await using sandbox = createSandbox({ workers: 1, instances: 10_000 });
  const guests = 100;
  for (let n = 0; n < guests; n += 1) assert.equal(resultOf(await sandbox.run(echo(`g${n}`))), `g${n}`);
  const taken = fill();
  assert.ok(taken.length > 1_000);
  // Memories that the garbage collector frees meanwhile are used first.
  let more = 0;
  while (sandbox.measures.instances === guests + more && more < 2_000) {
    more += 1;
    assert.equal(resultOf(await sandbox.run(echo(`m${more}`))), `m${more}`);
  }
  const { instances, started } = sandbox.measures;
  assert.equal(started, 1);
  assert.ok(instances < guests + more, `${instances} instances are kept`);
});

/** The result of a call for which no memory can be allocated while another guest waits; undefined if there was memory. */
async function squeezed(taken: object[]): Promise<string | undefined> {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1\n&&\nget", { state: utf8("kept"), host }));
  await until("it waits", () => hosts.length === 1);
  taken.push(...fill());
  const outcome = await sandbox.run(echo("a"));
  gate.resolve({ result: { ok: undefined } });
  assert.equal(resultOf(await waits), "ok\n&&\nok kept");
  assert.equal(sandbox.measures.started, 1);
  return outcome.end === "ok" ? undefined : resultOf(outcome);
}

test("a call for which no memory can be freed is lost with a message, and others continue", async () => {
  const taken: object[] = [];
  let told = await squeezed(taken);
  // Memory that the garbage collector frees meanwhile is used first.
  for (let again = 0; told === undefined && again < 30; again += 1) told = await squeezed(taken);
  assert.match(told ?? "none", /^lost: .*no room/);
  assert.ok(taken.length > 1_000);
});
