import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId, Outgoing, Snapshot, Store } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });

const opened = (store?: Store): Promise<LocalEngine> =>
  LocalEngine.start({
    kinds: [tallyKind("tally", { persistence: "memory" }), ...(store === undefined ? [] : [tallyKind("kept")])],
    ...(store === undefined ? {} : { store }),
    clock: new SimulatedClock(),
    entropy: new SimulatedEntropy(3),
  });

/** What is known synchronously. */
const spot = (engine: LocalEngine, id: ActorId): Snapshot | undefined => {
  const read = engine.readNow(id);
  assert.ok(!(read instanceof Promise), `${id} is waited for`);
  return read;
};

test("law 2: readNow returns what read returns, at once for an actor in memory", async () => {
  await using engine = await opened();
  assert.equal(spot(engine, A), undefined);
  for (const [action, seq] of [
    ["add", 1],
    ["refuse", 1],
    ["add", 2],
  ] as const) {
    await engine.call(say(action));
    assert.equal(spot(engine, A)?.seq, seq);
    assert.deepEqual({ ...spot(engine, A) }, { ...(await engine.read(A)) });
  }
  await engine.stop(A, "over");
  assert.deepEqual(spot(engine, A), await engine.read(A));
  assert.throws(() => engine.readNow("tally/%"), { code: "BAD_ID" });
  await assert.rejects(engine.read("tally/%"), { code: "BAD_ID" });
});

test("law 2: readNow of an actor on disk is a promise until it is loaded, and shows no uncommitted turn", async () => {
  const store = memoryStore();
  const gate = Promise.withResolvers<void>();
  let held = false;
  const slow = new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== "function") return found;
      if (name !== "commit") return found.bind(target);
      return async (...args: readonly unknown[]) => {
        if (held) await gate.promise;
        return found.apply(target, args);
      };
    },
  });
  {
    await using before = await opened(store);
    await before.call(say("add", { to: "kept/a" }));
  }
  await using engine = await opened(slow);
  const first = engine.readNow("kept/a");
  assert.ok(first instanceof Promise);
  assert.equal((await first)?.seq, 1);
  held = true;
  const call = engine.call(say("add", { to: "kept/a" }));
  assert.equal(spot(engine, "kept/a")?.seq, 1);
  gate.resolve();
  await call;
  assert.equal(spot(engine, "kept/a")?.seq, 2);
});

test("actors in memory and on disk are listed in pages of any size, each once, in order", async () => {
  const kinds = [tallyKind("a", { persistence: "memory" }), tallyKind("a-b"), tallyKind("c", { persistence: "memory" })];
  await using engine = await LocalEngine.start({ kinds, store: memoryStore() });
  const all = kinds.flatMap(({ kind }) => Array.from({ length: 37 }, (_, at): ActorId => `${kind}/${String(at).padStart(2, "0")}`));
  // Not in their order.
  for (let at = 0; at < all.length; at += 1) {
    const to = all[(at * 52) % all.length];
    if (to !== undefined) await engine.call({ to, action: "add", args: null, start: null });
  }
  for (const limit of [1, 2, 7, 36, 37, 111, 1_000, Number.POSITIVE_INFINITY]) {
    const met: ActorId[] = [];
    for (let page = await engine.list({ limit }); page.length > 0;) {
      met.push(...page.map(({ id }) => id));
      const after = met.at(-1);
      assert.ok(after !== undefined && page.length <= limit);
      page = await engine.list({ limit, after });
    }
    assert.deepEqual(met, all, `pages of ${limit}`);
  }
});

test("other events run while a long chain is read", async () => {
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: memoryStore() });
  for (let n = 0; n < 2_000; n += 1) await engine.call({ to: "tally/a", action: "add", args: null, start: null });
  let [rounds, events] = [0, 0];
  const round = (): void => {
    rounds += 1;
    next = setImmediate(round);
  };
  let next = setImmediate(round);
  for await (const _ of engine.history("tally/a")) events += 1;
  clearImmediate(next);
  assert.equal(events, 2_000);
  assert.ok(rounds >= 5, `${rounds} rounds of the event loop`);
});
