import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId, Outgoing } from "../contract/index.ts";
import { forkEntry, readBody } from "../chain/index.ts";
import { memoryStore } from "../store/index.ts";
import { settle, SimulatedClock, SimulatedEntropy, until } from "../../testing/index.ts";
import { chainOf, tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const ORIGIN: ActorId = "tally/origin";
const FORK: ActorId = "tally/fork";
const OTHER: ActorId = "tally/other";

const note = (from: ActorId): Outgoing => ({
  to: from,
  action: "send",
  args: { to: OTHER, action: "note", with: { text: `from ${from}` }, start: null },
});

test("a fork is muted: its sends are recorded but not delivered, and its state is separate from its origin's #chain.fork", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store, clock });
  await engine.call({ to: ORIGIN, action: "add", args: { by: 5 }, start: null });
  await engine.call({ to: ORIGIN, action: "wake", args: { name: "beat", at: clock.now() + 100, everyMs: 100 } });
  const entropy = new SimulatedEntropy();
  const stamped = { messageId: "m", at: clock.now(), seed: entropy.hex(16) };
  await store.commit(FORK, forkEntry(await chainOf(engine, ORIGIN), { to: FORK, origin: {}, life: entropy.uuid(), ...stamped }));

  assert.deepEqual(await engine.call({ to: FORK, action: "add", args: { by: 1 } }), { ok: 6 });
  await engine.call(note(FORK));
  await settle(20);
  assert.deepEqual(await store.undelivered(10), []);
  assert.equal(await engine.read(OTHER), undefined);
  const last = (await chainOf(engine, FORK)).at(-1);
  assert.equal(last && readBody(last)?.sent.length, 1);

  await engine.call(note(ORIGIN));
  await until("the origin is heard", async () => (await engine.read(OTHER)) !== undefined);
  assert.match(JSON.stringify((await engine.read(OTHER))?.state), /from tally\/origin/);
  assert.match(JSON.stringify((await engine.read(ORIGIN))?.state), /"n":5/);
  const before = (await engine.read(FORK))?.seq;
  await clock.advance(250);
  assert.equal((await engine.read(FORK))?.seq, before, "wakes stay with the origin");
});

for (const persistence of ["retained", "dropped"] as const)
  test(`a fork is muted in all its lives (its cell ${persistence} in between), unless it was forked unmuted #chain.fork`, async () => {
    const clock = new SimulatedClock();
    const store = memoryStore({ clock });
    const kinds = [tallyKind("tally", { restart: { max: 0, withinMs: 1_000 } })];
    const engine = await LocalEngine.start({ kinds, store, clock });
    await engine.call({ to: ORIGIN, action: "add", args: { by: 5 }, start: null });
    const entropy = new SimulatedEntropy();
    const origin = await chainOf(engine, ORIGIN);
    const HEARD: ActorId = "tally/heard";
    for (const [to, muted] of [
      [FORK, true],
      [HEARD, false],
    ] as const)
      await store.commit(
        to,
        forkEntry(origin, { to, origin: {}, life: entropy.uuid(), messageId: to, at: clock.now(), seed: entropy.hex(16), muted }),
      );
    for (const to of [FORK, HEARD]) await engine.stop(to, "enough");
    if (persistence === "dropped") await engine[Symbol.asyncDispose]();
    await using now = persistence === "dropped" ? await LocalEngine.start({ kinds, store, clock }) : engine;
    for (const to of [FORK, HEARD]) {
      assert.deepEqual(await now.call({ to, action: "add", args: { by: 1 }, start: null }), { ok: 1 }, "another life");
      await now.call(note(to));
    }
    await until("the other is heard", async () => (await now.read(OTHER)) !== undefined);
    await settle(20);
    const heard = JSON.stringify((await now.read(OTHER))?.state);
    assert.match(heard, /from tally\/heard/);
    assert.doesNotMatch(heard, /from tally\/fork/);
    for (const to of [FORK, HEARD]) {
      await now.stop(to, "enough");
      await now.call({ to: ORIGIN, action: "send", args: { to, action: "add", start: null } });
      await until("it is a child", async () => (await now.read(to))?.status === "live");
      await assert.rejects(now.call({ to, action: "throw", args: null }), { code: "CRASHED" });
    }
    await settle(20);
    const originState = JSON.stringify((await now.read(ORIGIN))?.state);
    assert.match(originState, /failed tally\/heard/);
    assert.doesNotMatch(originState, /failed tally\/fork/);
    assert.deepEqual((await store.load(FORK))?.row.muted, true);
  });
