import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../testing/index.ts";
import { type Answer, ECHO, hostOf, request, said, utf8 } from "./guests.fixture.ts";
import { createSandbox } from "./index.ts";

declare const WebAssembly: { readonly Memory: new (limits: { readonly initial: number }) => object };

const echo = (guest: string) => request(guest, guest, { component: ECHO });

/** Takes the address space of the process. */
function fill(): readonly object[] {
  const memories: object[] = [];
  try {
    for (;;) memories.push(new WebAssembly.Memory({ initial: 1 }));
  } catch {
    return memories;
  }
}

test("where no memory can be had, idle instances make room", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const guests = Array.from({ length: 100 }, (_, n) => `g${n}`);
  for (const guest of guests) await sandbox.run(echo(guest));
  const taken = fill();
  for (const guest of ["x", "y", "z"]) assert.equal(said(await sandbox.run(echo(guest))), guest);
  const { instances, started } = sandbox.measures;
  assert.deepEqual([started, instances < 100, taken.length > 1_000], [1, true, true]);
});

test("where there is none to make, a call is given up with a sentence, and nobody is harmed", async () => {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1\n&&\nget", { state: utf8("kept"), host }));
  await until("it waits", () => hosts.length === 1);
  const taken = fill();
  const outcome = await sandbox.run(echo("a"));
  assert.ok(outcome.end === "lost" && outcome.message.includes("no room"), said(outcome));
  gate.resolve({ result: { ok: undefined } });
  assert.equal(said(await waits), "ok\n&&\nok kept");
  assert.deepEqual([sandbox.measures.started, taken.length > 1_000], [1, true]);
});
