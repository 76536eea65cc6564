import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError, type ActorId, type Behaviour, type Outgoing } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, settle, SimulatedClock, until } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const CHILD: ActorId = "child/c";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });
const bear = (child: ActorId, action = "add"): Outgoing => say("send", { args: { to: child, action, start: null } });
const kindsWith = (gate?: () => Promise<unknown>): readonly Behaviour[] => [
  tallyKind("tally"),
  tallyKind("child", {}, gate === undefined ? {} : { gate }),
];
const kinds = kindsWith();

const begun = (engine: LocalEngine, id: ActorId): Promise<void> => until(`${id} begins`, async () => (await engine.read(id)) !== undefined);
const statusOf = async (engine: LocalEngine, id: ActorId): Promise<string | undefined> => (await engine.read(id))?.status;

test("C2 a parent whose stop could not be committed retains its children #actors.children", async () => {
  let failing = false;
  let hit = false;
  const store = new (class extends FaultyStore {
    override commit(...[id, entry]: Parameters<FaultyStore["commit"]>): Promise<void> {
      const lost = failing && id === A && entry.row.status === "stopped";
      return lost ? Promise.reject(new StoreError("STORE_FULL", "No space.")) : super.commit(id, entry);
    }
  })(memoryStore(), () => "pass");
  await using engine = await LocalEngine.start({ kinds, store });
  await engine.call(bear(CHILD));
  await begun(engine, CHILD);
  engine.watch(CHILD, ({ status }) => (hit ||= status === "stopped"));
  failing = true;
  await assert.rejects(engine.call(say("stop", { args: { reason: "no" } })), { code: "STORE_FULL", applied: false });
  await assert.rejects(engine.stop(A, "no"), { code: "STORE_FULL", applied: false });
  failing = false;
  assert.deepEqual([await statusOf(engine, A), await statusOf(engine, CHILD), hit], ["live", "live", false]);
  await engine.stop(A, "yes");
  assert.deepEqual([await statusOf(engine, A), await statusOf(engine, CHILD)], ["stopped", "stopped"]);
});

test("children of a stopped parent stop, even if the process dies before they do #actors.children", async () => {
  const inner = memoryStore();
  const store = new FaultyStore(inner, (place) => (place === "before children" ? "crash" : "pass"));
  const first = await LocalEngine.start({ kinds, store });
  await first.call(bear(CHILD));
  await begun(first, CHILD);
  void first.stop(A, "done");
  await store.whenCrashed;
  assert.equal((await inner.load(A))?.row.status, "stopped");
  assert.equal((await inner.load(CHILD))?.row.status, "live");
  await using second = await LocalEngine.start({ kinds, store: inner });
  await until("the child has ended", async () => (await statusOf(second, CHILD)) === "stopped");
  await until("nothing is left to do", async () => (await inner.undelivered(1)).length === 0);
});

test("children that cannot be stopped at once delay no other actor, and are stopped later", async () => {
  const clock = new SimulatedClock();
  const inner = memoryStore({ clock });
  let failing = true;
  const store = new FaultyStore(inner, (place) => (failing && place === "before children" ? "fail" : "pass"));
  await using engine = await LocalEngine.start({ kinds, store, clock });
  await engine.call(bear(CHILD));
  await begun(engine, CHILD);
  await engine.stop(A, "done");
  assert.deepEqual([await statusOf(engine, A), await statusOf(engine, CHILD)], ["stopped", "live"]);
  failing = false;
  await clock.advance(1_000);
  assert.equal(await statusOf(engine, CHILD), "stopped");
  assert.deepEqual(await inner.undelivered(1), []);
});

test("a new life of a parent starts without the children of the last one, and retains its own #actors.children", async () => {
  const clock = new SimulatedClock();
  let failing = true;
  const store = new FaultyStore(memoryStore({ clock }), (place) => (failing && place === "before children" ? "fail" : "pass"));
  await using engine = await LocalEngine.start({ kinds, store, clock });
  await engine.call(bear(CHILD));
  await begun(engine, CHILD);
  await engine.stop(A, "done");
  failing = false;
  await engine.call(bear("child/new"));
  assert.equal(await statusOf(engine, CHILD), "stopped");
  await begun(engine, "child/new");
  await clock.advance(1_000);
  assert.deepEqual([await statusOf(engine, A), await statusOf(engine, "child/new")], ["live", "live"]);
});

for (const persistence of ["disk", "memory"] as const)
  test(`a child whose parent has stopped meanwhile is not started, and the send is a dead letter (${persistence}) #actors.children`, async () => {
    const clock = new SimulatedClock();
    const gate = Promise.withResolvers<void>();
    const own = [tallyKind("tally", { persistence }), tallyKind("child", { persistence }, { gate: () => gate.promise })];
    await using engine = await LocalEngine.start({ kinds: own, store: memoryStore({ clock }), clock });
    await engine.call(say("add"));
    // The lane from parent to child is held up by a send that fails.
    await engine.call(say("send", { args: { to: CHILD, action: "throw", start: null } }));
    await engine.call(bear(CHILD));
    await engine.call(bear("child/second", "work"));
    await settle(20);
    await engine.stop(A, "done");
    gate.resolve();
    await clock.advance(5_000);
    assert.deepEqual([await engine.read(CHILD), await engine.read("child/second")], [undefined, undefined]);
    assert.deepEqual((await engine.letters()).map(({ message, why }) => `${message.action} ${why.slice(0, 13)}`).toSorted(), [
      "add ACTOR_STOPPED",
      "throw ACTOR_STOPPED",
      "work ACTOR_STOPPED",
    ]);
  });

test("a child requested in an earlier life of its parent is not started in the next one", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const first = await LocalEngine.start({
    kinds,
    store: new FaultyStore(store, (place) => (place === "before load" ? "delay" : "pass")),
    clock,
  });
  await first.call(say("add"));
  // Both are in the store, none is delivered yet.
  await Promise.all([first.call(bear(CHILD)), first.call(bear("child/other"))]);
  await first.stop(A, "done");
  await first.call(say("add"));
  await first[Symbol.asyncDispose]();
  await using second = await LocalEngine.start({ kinds, store, clock });
  await clock.advance(5_000);
  assert.deepEqual([await second.read(CHILD), await second.read("child/other")], [undefined, undefined]);
  assert.equal((await second.letters()).length, 2);
});

test("other actors are served while very many children stop", async () => {
  for (const persistence of ["memory", "disk"] as const) {
    const many = [tallyKind("tally", { persistence }), tallyKind("child", { persistence })];
    await using engine = await LocalEngine.start({ kinds: many, store: memoryStore() });
    const ids = Array.from({ length: 1_000 }, (_, at): ActorId => `child/${at}`);
    for (const id of ids) await engine.call(bear(id));
    await until("all are there", async () => (await engine.count({ kind: "child" })) === ids.length);
    let rounds = 0;
    const round = (): void => {
      rounds += 1;
      next = setImmediate(round);
    };
    let next = setImmediate(round);
    await engine.stop(A, "done");
    clearImmediate(next);
    assert.equal((await engine.list({ kind: "child", live: true, limit: 10 })).length, 0, persistence);
    assert.ok(rounds >= 5, `${rounds} rounds of the event loop`);
  }
});
