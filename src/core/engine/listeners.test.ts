import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancellation, Watchers, type ActorId, type Change, type Outgoing } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { settle } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { type FaultContext, LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });
const mine = new Error("mine");
const throws = (): never => {
  throw mine;
};
const rejects = (): unknown => Promise.reject(mine);

for (const [how, bad] of [
  ["throws", throws],
  ["rejects", rejects],
] as const)
  test(`a listener that ${how} changes no outcome, does not stop other listeners, and is reported to the operator`, async () => {
    const faults: (readonly [unknown, FaultContext["where"]])[] = [];
    await using engine = await LocalEngine.start({
      kinds: [tallyKind("tally")],
      store: memoryStore(),
      onFault: (error, { where }) => {
        faults.push([error, where]);
        return bad();
      },
    });
    const heard: number[] = [];
    engine.watch(A, bad);
    engine.watch("tally/*", bad);
    engine.watch(A, ({ seq }) => heard.push(seq));
    engine.watch("tally/*", ({ seq }) => heard.push(seq));
    const options = { onProgress: bad, onLog: bad, onReceipt: bad };
    assert.deepEqual(await engine.call(say("work"), options), { ok: 1 });
    assert.deepEqual(await engine.call(say("add"), options), { ok: 2 });
    await settle();
    assert.deepEqual(heard, [1, 1, 2, 2]);
    assert.deepEqual(faults.map(([, where]) => where).toSorted(), [
      "progress",
      "progress",
      "receipt",
      "receipt",
      "watcher",
      "watcher",
      "watcher",
      "watcher",
    ]);
    assert.ok(faults.every(([error]) => error === mine));
    assert.equal(engine.health(A)?.crashes.length, 0);
  });

test("a listener that re-subscribes while it is notified is called once per change", () => {
  const watchers = new Watchers(() => undefined);
  const change: Change = { id: A, seq: 1, head: "h", status: "live" };
  let calls = 0;
  let undo = (): void => undefined;
  const again = (): void => {
    calls += 1;
    undo();
    undo = watchers.add(A, again);
  };
  undo = watchers.add(A, again);
  let left = 0;
  const last = watchers.add(A, () => (left += 1));
  watchers.add(A, () => last());
  watchers.tell(change, "tally/*");
  watchers.tell(change, "tally/*");
  assert.deepEqual([calls, left], [2, 1]);
});

test("all listeners of a cancellation are called, even if one throws", () => {
  const cancellation = new Cancellation();
  let calls = 0;
  cancellation.addEventListener("abort", throws);
  cancellation.addEventListener("abort", () => (calls += 1));
  cancellation.addEventListener("abort", () => (calls += 1));
  assert.throws(() => cancellation.abort(), mine);
  assert.equal(calls, 2);
  cancellation.abort();
  assert.equal(calls, 2);
});

test("a behaviour whose `lapses` throws refuses the call and reports the error", async () => {
  const faults: unknown[] = [];
  await using engine = await LocalEngine.start({
    kinds: [tallyKind("tally", { persistence: "memory" }, {}, { lapses: throws })],
    onFault: (error) => void faults.push(error),
  });
  await assert.rejects(engine.call({ to: A, action: "add", args: null }), { code: "NO_ACTOR", applied: false });
  assert.deepEqual(faults, [mine]);
});

test("sends to a memory actor with running work are limited, and so are calls behind them", async () => {
  const gate = Promise.withResolvers<void>();
  const kind = tallyKind("tally", { persistence: "memory", mailbox: 3 }, { gate: () => gate.promise });
  await using engine = await LocalEngine.start({ kinds: [kind] });
  const working = engine.call(say("work"));
  for (let n = 0; n < 2; n += 1) await engine.send(say("add"));
  await settle();
  await engine.send(say("add")).catch(() => undefined);
  await assert.rejects(engine.send(say("add")), { code: "MAILBOX_FULL", applied: false });
  const calls = Array.from({ length: 4 }, () => engine.call(say("add")));
  await assert.rejects(calls[3] ?? Promise.resolve(), { code: "MAILBOX_FULL", applied: false });
  gate.resolve();
  assert.deepEqual(await working, { ok: 1 });
  for (const reply of await Promise.all(calls.slice(0, 3))) assert.ok("ok" in reply);
});
