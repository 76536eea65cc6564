import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, tallyKind } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

const A = "tally/a";
const say = (action: string) => ({ to: A, action, args: null, start: null }) as const;

for (const persistence of ["memory", "disk"] as const) {
  test(`restart aborts running work, but not work that a watcher starts meanwhile (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const before = Promise.withResolvers<void>();
    let gates: Promise<void>[] = [before.promise, Promise.resolve()];
    const gate = async (): Promise<void> => gates.shift();
    const kinds = [tallyKind("tally", { persistence, restart: { max: 0, withinMs: 1_000 } }, { gate })];
    await using engine = await LocalEngine.start({ kinds, clock, store: memoryStore({ clock }) });
    await engine.call(say("add"));
    const running = engine.call(say("work"));
    const aborted = assert.rejects(running, { code: "CANCELLED" });
    await engine.restart(A);
    await aborted;
    await assert.rejects(engine.call(say("throw")), { code: "CRASHED" });
    gates = [Promise.resolve()];
    let begun: Promise<unknown> | undefined;
    engine.watch(A, () => {
      begun ??= engine.call(say("work"));
    });
    await engine.restart(A);
    assert.deepEqual(await begun, { ok: 2 });
    before.resolve();
  });

  test(`a send during a drain is either delivered or refused (${persistence})`, async () => {
    const store = memoryStore();
    const kinds = [tallyKind("tally", { persistence })];
    const engine = await LocalEngine.start({ kinds, store });
    await engine.call(say("add"));
    const sent = engine.send(say("add")).then(
      () => "taken",
      (error: { code: string }) => error.code,
    );
    await engine.drain(0);
    assert.equal(await sent, persistence === "memory" ? "DRAINING" : "taken");
    assert.equal((await store.undelivered(10)).length, persistence === "memory" ? 0 : 1);
  });

  test(`a timer whose name cannot be stored is refused (${persistence})`, async () => {
    const faults: string[] = [];
    const kinds = [tallyKind("tally", { persistence })];
    await using engine = await LocalEngine.start({ kinds, store: memoryStore(), onFault: (error) => faults.push(String(error)) });
    const wake = { to: A, action: "wake", args: { name: "__proto__", at: 1 }, start: null } as const;
    await assert.rejects(engine.call(wake), { code: "CRASHED" });
    assert.deepEqual(faults, ['RangeError: "__proto__" is no name for a wake: use 1 to 256 characters.']);
  });
}
