import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour, Json, Message } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, tallyKind } from "../testing/index.ts";
import { tallyOf } from "../testing/turn-suite.ts";
import { LocalEngine } from "./index.ts";

const A = "tally/a";

for (const persistence of ["memory", "disk"] as const) {
  const open = async (kind: Behaviour, clock: SimulatedClock) => {
    const engine = await LocalEngine.start({ kinds: [kind], clock, store: memoryStore({ clock }) });
    const begun = clock.now();
    return {
      engine,
      wake: (name: string, inMs: number, more: { readonly [key: string]: Json } = {}) =>
        engine.call({ to: A, action: "wake", args: { name, at: begun + inMs, ...more }, start: null }),
      /** Which wakes have come, and when. */
      came: async (): Promise<readonly string[]> =>
        (await tallyOf(engine, A)).log
          .filter((line) => line.startsWith("tick"))
          .map((line) => line.replace(/tick (\S+) (\d+)/, (_, name: string, at: string) => `${name} ${Number(at) - begun}`)),
    };
  };

  test(`a wake that fails holds up no other wake of its actor (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine, wake, came } = await open(tallyKind("tally", { persistence }), clock);
    await using _ = engine;
    await wake("bad", 10, { action: "throw" });
    await wake("good", 20);
    await wake("often", 15, { everyMs: 20 });
    for (let ms = 0; ms < 60; ms += 1) await clock.advance(1);
    assert.deepEqual(await came(), ["often 15", "good 20", "often 35", "often 55"]);
    await engine.call({ to: A, action: "cancel", args: { name: "often" } });
    for (let round = 0; round < 8; round += 1) await clock.advance(1_000);
    assert.equal(engine.health(A)?.crashes.length, 3);
  });

  test(`a wake that failed in one life is not tried again in the next (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine, wake, came } = await open(tallyKind("tally", { persistence }), clock);
    await using _ = engine;
    await wake("w", 10, { action: "throw" });
    await clock.advance(20);
    await engine.stop(A, "enough");
    await wake("w", 200);
    await wake("x", 500);
    for (let ms = 0; ms < 60; ms += 1) await clock.advance(10);
    assert.deepEqual(await came(), ["w 200", "x 500"]);
    assert.deepEqual(engine.health(A)?.crashes, []);
  });

  test(`wakes that were put off since their actor had failed come as soon as it is restarted (${persistence})`, async () => {
    const clock = new SimulatedClock();
    let broken = true;
    const saw = (_: string, { action }: Message): void => {
      if (broken && action === "tick") throw new Error("broken");
    };
    const { engine, wake, came } = await open(tallyKind("tally", { persistence, restart: { max: 0, withinMs: 1_000 } }, { saw }), clock);
    await using _ = engine;
    await wake("once", 10);
    await clock.advance(20);
    assert.equal((await engine.read(A))?.status, "failed");
    await clock.advance(1_980);
    broken = false;
    await engine.restart(A);
    await clock.advance(1);
    assert.deepEqual(await came(), ["once 2000"]);
  });
}
