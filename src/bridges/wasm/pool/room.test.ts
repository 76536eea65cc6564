import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../testing/index.ts";
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
  await using sandbox = createSandbox({ workers: 1, instances: 10_000 });
  const guests = 100;
  for (let n = 0; n < guests; n += 1) assert.equal(said(await sandbox.run(echo(`g${n}`))), `g${n}`);
  const taken = fill();
  assert.ok(taken.length > 1_000);
  // Those that a collection gives back meanwhile are had first.
  let more = 0;
  while (sandbox.measures.instances === guests + more && more < 2_000) {
    more += 1;
    assert.equal(said(await sandbox.run(echo(`m${more}`))), `m${more}`);
  }
  const { instances, started } = sandbox.measures;
  assert.equal(started, 1);
  assert.ok(instances < guests + more, `${instances} instances are kept`);
});

/** What becomes of a call for which no memory can be had, while another guest waits; undefined: there was some. */
async function squeezed(taken: object[]): Promise<string | undefined> {
  await using sandbox = createSandbox({ workers: 1 });
  const gate = Promise.withResolvers<Answer>();
  const { host, hosts } = hostOf(() => gate.promise);
  const waits = sandbox.run(request("w", "timing.sleep 1\n&&\nget", { state: utf8("kept"), host }));
  await until("it waits", () => hosts.length === 1);
  taken.push(...fill());
  const outcome = await sandbox.run(echo("a"));
  gate.resolve({ result: { ok: undefined } });
  assert.equal(said(await waits), "ok\n&&\nok kept");
  assert.equal(sandbox.measures.started, 1);
  return outcome.end === "ok" ? undefined : said(outcome);
}

test("where there is none to make, a call is given up with a sentence, and nobody is harmed", async () => {
  const taken: object[] = [];
  let told = await squeezed(taken);
  // What a collection gives back meanwhile is had first.
  for (let again = 0; told === undefined && again < 30; again += 1) told = await squeezed(taken);
  assert.match(told ?? "none", /^lost: .*no room/);
  assert.ok(taken.length > 1_000);
});
