import assert from "node:assert/strict";
import { test } from "node:test";
import { verify } from "../chain/index.ts";
import { type ActorId, type Outgoing, type Snapshot, type Store, StoreError } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { chainOf, ChainWriter, tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });

const opened = (store?: Store): Promise<LocalEngine> =>
  LocalEngine.start({
    kinds: [tallyKind("tally", { persistence: "memory" }), ...(store === undefined ? [] : [tallyKind("durable")])],
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
    await before.call(say("add", { to: "durable/a" }));
  }
  await using engine = await opened(slow);
  const first = engine.readNow("durable/a");
  assert.ok(first instanceof Promise);
  assert.equal((await first)?.seq, 1);
  held = true;
  const call = engine.call(say("add", { to: "durable/a" }));
  assert.equal(spot(engine, "durable/a")?.seq, 1);
  gate.resolve();
  await call;
  assert.equal(spot(engine, "durable/a")?.seq, 2);
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

const DAY = 86_400_000;
async function world() {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const engine = await LocalEngine.start({ kinds: [tallyKind("tally"), tallyKind("other")], store, clock });
  return { clock, store, engine, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

const prunedIds = async (engine: LocalEngine, before: number, more: object = {}): Promise<readonly string[]> =>
  (await engine.prune({ before, ...more })).ended.map(({ id, seq }) => `${id} ${seq}`);

test("actors that stopped before the given time are pruned, others stay", async () => {
  await using the = await world();
  const { engine, clock, store } = the;
  for (const to of [A, "tally/b", "tally/c", "other/a"] as const) await engine.call(say("add", { to }));
  await engine.stop(A, "over");
  await engine.stop("other/a", "over");
  await clock.advance(2 * DAY);
  await engine.stop("tally/b", "over");
  await clock.advance(2 * DAY);
  assert.deepEqual(await prunedIds(engine, clock.now() - 3 * DAY, { kind: "other" }), ["other/a 2"]);
  assert.deepEqual(await prunedIds(engine, clock.now() - 3 * DAY), ["tally/a 2"]);
  assert.deepEqual(
    (await engine.list({ limit: 10 })).map(({ id, status }) => `${id} ${status}`),
    ["tally/b stopped", "tally/c live"],
  );
  assert.equal(await engine.read(A), undefined);
  assert.equal(await store.load(A), undefined);
});

test("an actor that starts under a pruned id is a new one with a valid chain", async () => {
  await using the = await world();
  const { engine, clock } = the;
  await engine.call(say("add"));
  const before = await engine.read(A);
  await engine.stop(A, "over");
  await clock.advance(2 * DAY);
  assert.equal((await engine.read(A))?.status, "stopped", "it is in memory, too");
  assert.deepEqual(await prunedIds(engine, clock.now() - DAY), ["tally/a 2"]);
  await assert.rejects(engine.call({ to: A, action: "add", args: null }), { code: "NO_ACTOR" });
  assert.deepEqual(await engine.call(say("add")), { ok: 1 });
  const after = await engine.read(A);
  assert.equal(after?.seq, 1);
  assert.notEqual(after.uid, before?.uid);
  const verdict = verify(await chainOf(engine, A));
  assert.deepEqual([verdict.flaw, verdict.events], [undefined, 1]);
});

test("C6 a call that starts an actor while it is pruned is applied completely or not at all", async () => {
  for (let turn = 0; turn < 8; turn += 1) {
    await using the = await world();
    const { engine, clock } = the;
    await engine.call(say("add"));
    await engine.stop(A, "over");
    await clock.advance(2 * DAY);
    const called = (n: number): Promise<unknown> =>
      Array.from({ length: n })
        .reduce((wait: Promise<unknown>) => wait.then(() => undefined), Promise.resolve())
        .then(() => engine.call(say("add")));
    const [pruned, reply] = await Promise.allSettled([prunedIds(engine, clock.now() - DAY), called(turn)]);
    assert.equal(pruned.status, "fulfilled");
    const now = await engine.read(A);
    if (reply.status === "rejected") assert.equal(reply.reason.applied, false);
    assert.equal(now !== undefined, reply.status === "fulfilled", `at ${turn}`);
    assert.deepEqual(await engine.call(say("add")), { ok: reply.status === "fulfilled" ? 2 : 1 });
    assert.equal(verify(await chainOf(engine, A)).flaw, undefined);
  }
});

test("C4 an actor whose keyed replies may still be requested is not pruned", async () => {
  await using the = await world();
  const { engine, clock } = the;
  await engine.call(say("add"), { key: "k" });
  await engine.stop(A, "over");
  await clock.advance(DAY - 1_000);
  assert.deepEqual(await prunedIds(engine, clock.now()), []);
  assert.deepEqual(await engine.call(say("add"), { key: "k" }), { ok: 1 });
  await clock.advance(2_000);
  assert.deepEqual(await prunedIds(engine, clock.now()), ["tally/a 2"]);
});

test("an actor with living children is not pruned until they have stopped", async () => {
  await using the = await world();
  const { engine, clock, store } = the;
  const parent = new ChainWriter(A);
  const child = new ChainWriter("other/child");
  await store.commit(A, parent.next({ row: { status: "stopped" } }));
  await store.commit(child.id, child.next({ row: { parent: A } }));
  await clock.advance(2 * DAY);
  assert.deepEqual(await prunedIds(engine, clock.now()), []);
  await store.commit(child.id, child.next({ row: { parent: A, status: "stopped" } }));
  assert.deepEqual(await prunedIds(engine, clock.now()), ["other/child 2", "tally/a 1"]);
});

test("pruning works in pages; an actor that cannot be read is reported and does not stop the others", async () => {
  await using the = await world();
  const { engine, clock, store } = the;
  for (let n = 0; n < 5; n += 1) {
    await engine.call(say("add", { to: `tally/${n}` }));
    await engine.stop(`tally/${n}`, "over");
  }
  await clock.advance(2 * DAY);
  const remove = store.remove.bind(store);
  store.remove = async (ended) => {
    if (ended.id === "tally/1") throw new StoreError("STORE_CORRUPT", "Its row was changed.");
    return remove(ended);
  };
  const pruned: string[] = [];
  const damaged: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await engine.prune({ before: clock.now(), limit: 2, ...(after === undefined ? {} : { after }) });
    pruned.push(...page.ended.map(({ id }) => id));
    damaged.push(...page.damaged);
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.deepEqual([pruned, damaged], [["tally/0", "tally/2", "tally/3", "tally/4"], ["tally/1"]]);
  store.remove = () => Promise.reject(new StoreError("STORE_IO", "The disk failed."));
  await assert.rejects(engine.prune({ before: clock.now() }), { code: "STORE_IO" });
});

test("a number that cannot be right is refused by name, at the start and in each question", async () => {
  const kinds = [tallyKind("tally", { persistence: "memory" })];
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
    await assert.rejects(LocalEngine.start({ kinds, keyMs: wrong }), { code: "BAD_OPTION", message: /^keyMs has to be/ });
    await assert.rejects(LocalEngine.start({ kinds, retryMs: wrong }), { code: "BAD_OPTION", message: /^retryMs has to be/ });
  }
  await using store = memoryStore();
  await using engine = await opened(store);
  await engine.call(say("add", { to: "durable/a" }));
  const limit = { code: "BAD_QUERY", message: "`limit` is a whole number of 0 or more." };
  for (const wrong of [Number.NaN, 0.5, -1]) await assert.rejects(engine.list({ limit: wrong }), limit);
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 0.5, -1]) {
    await assert.rejects(engine.letters(wrong), limit);
    await assert.rejects(engine.prune({ before: 0, limit: wrong }), limit);
    assert.throws(() => engine.mailbox("durable/a", wrong), { code: "BAD_QUERY" });
  }
  assert.equal((await chainOf(engine, "durable/a")).length, 1);
});
