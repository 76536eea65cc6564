import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../testing/index.ts";
import { coreModule, op } from "../abi/core-module.fixture.ts";
import type { Component } from "../component.ts";
import { type Answer, ASKER, hostOf, LIMITS, request, said } from "./guests.fixture.ts";
import { createSandbox } from "./index.ts";

const PAGE = 65_536;
const PAGES = 16;
const i32s = (count: number): readonly "i32"[] => Array.from({ length: count }, () => "i32");

/** Takes a mebibyte of memory, then waits. */
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

test("where guests that wait hold too much memory, those with the most end, and what they did is on record", async () => {
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
    assert.match(said(outcome), /no room in this process/);
    assert.deepEqual(
      outcome.did.map(({ name, result }) => [name, result]),
      [["timing.sleep", { ok: undefined }]],
    );
  }
  assert.equal(said(await small), "ok");
  assert.equal((await wait("large 0", large)).end, "ok", "its guest is free again");
  assert.equal(sandbox.measures.killed, 0);
});

test("of calls that hold the same memory the newest end, and a single call may wait", async () => {
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
