import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_POLICY, type ActorId, type Clock, type Figures, type Outgoing } from "../contract/index.ts";
import { checkpointEntry, stateFrom } from "../chain/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, settle, SimulatedClock, SimulatedEntropy, until } from "../../testing/index.ts";
import { chainOf, tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine, type LocalOptions } from "./index.ts";

const A: ActorId = "tally/a";
const ask = (to: string, given: object): object => ({ to, action: "call", with: given, start: null });
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });

test("start fails if a kind needs a store or an engine that is missing", async () => {
  await assert.rejects(LocalEngine.start({ kinds: [tallyKind("tally")] }), { code: "ENGINE_MISSING", message: /give the engine a store/ });
  await assert.rejects(LocalEngine.start({ kinds: [tallyKind("tally", { persistence: "distributed" })], store: memoryStore() }), {
    code: "ENGINE_MISSING",
  });
  const memory = tallyKind("tally", { persistence: "memory" });
  await assert.rejects(LocalEngine.start({ kinds: [memory, memory] }), { code: "NAME_COLLISION" });
  await using engine = await LocalEngine.start({ kinds: [memory] });
  await assert.rejects(engine.call(say("add", { policy: { persistence: "disk" } })), { code: "ENGINE_MISSING", applied: false });
  await assert.rejects(engine.call(say("add", { policy: { persistence: "distributed" } })), { code: "ENGINE_MISSING", applied: false });
});

test("start fails if a required option is missing or an option is unknown", async () => {
  const kinds = [tallyKind("tally", { persistence: "memory" })];
  const start = (options: unknown): Promise<LocalEngine> => LocalEngine.start(Object(options));
  for (const wrong of [{}, { kinds: kinds[0] }, { kinds: [kinds] }])
    await assert.rejects(start(wrong), { code: "BAD_OPTION", message: /^kinds has to be a list of kinds, as actor\(/ });
  await assert.rejects(start({ kinds, onFaults: () => undefined }), {
    code: "BAD_OPTION",
    message: /^LocalEngine\.start has no option "onFaults", do you mean "onFault"\?/,
  });
});

test("a crash is reported to the operator with its cause, and counted #spec.7.error-logs", async () => {
  const reported: unknown[] = [];
  await using engine = await LocalEngine.start({
    kinds: [tallyKind("tally")],
    store: memoryStore(),
    onFault: (error, context) => reported.push([error, context]),
  });
  await engine.call(say("add"));
  await assert.rejects(engine.call(say("throw")), { code: "CRASHED" });
  assert.deepEqual(reported, [[new Error("secret detail"), { where: "turn", actor: A, action: "throw" }]]);
  assert.equal(engine.health(A)?.crashes.length, 1);
});

test("a behaviour that returns a promise crashes the message, whatever the promise resolves to", async () => {
  const asynchronous = tallyKind(
    "tally",
    { persistence: "memory" },
    {},
    {
      // @ts-expect-error a turn is no promise
      receive: async (state) => ({ state }),
    },
  );
  await using engine = await LocalEngine.start({ kinds: [asynchronous] });
  await assert.rejects(engine.call(say("add")), { code: "CRASHED", applied: false });
});

test("an idle cell is dropped and loaded again; one with running work is not dropped #actors.idle #engine.passivation", async () => {
  const clock = new SimulatedClock();
  const gate = Promise.withResolvers<void>();
  await using engine = await LocalEngine.start({
    kinds: [tallyKind("tally", { idleMs: 5_000 }, { gate: () => gate.promise })],
    store: memoryStore({ clock }),
    clock,
  });
  await engine.call(say("add"));
  await clock.advance(4_000);
  await engine.call(say("add"));
  await clock.advance(4_000);
  assert.ok(engine.health(A), "used meanwhile");
  await clock.advance(6_000);
  assert.equal(engine.health(A), undefined);
  assert.deepEqual(await engine.call(say("add")), { ok: 3 });
  const working = engine.call(say("work"));
  await clock.advance(20_000);
  assert.ok(engine.health(A));
  gate.resolve();
  assert.deepEqual(await working, { ok: 4 });
});

test("cells of actors that never started are dropped", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({
    kinds: [tallyKind("tally"), tallyKind("note", { persistence: "memory", idleMs: 1_000 })],
    store: memoryStore(),
    clock,
  });
  for (const to of ["tally/x", "note/x"] as const) {
    await assert.rejects(engine.call({ to, action: "add", args: null }), { code: "NO_ACTOR" });
    assert.ok("refused" in (await engine.call(say("refuse", { to }))));
    assert.equal(await engine.read(to), undefined);
    assert.equal(engine.health(to), undefined);
  }
  await assert.rejects(engine.call(say("add", { to: "note/bad", start: { explode: true } })), { code: "CRASHED" });
  assert.equal(engine.health("note/bad"), undefined);
  await engine.call(say("add", { to: "note/bad" }));
});

test("start-up makes the same store requests with ten actors and a thousand #engine.start-up", async () => {
  const counts: number[] = [];
  for (const actors of [10, 1_000]) {
    const clock = new SimulatedClock();
    const inner = memoryStore({ clock });
    const first = await LocalEngine.start({
      kinds: [tallyKind("tally"), tallyKind("note", { persistence: "memory" })],
      store: inner,
      clock,
    });
    await Promise.all(Array.from({ length: actors }, (_, index) => first.call(say("add", { to: `tally/${index}` }))));
    await first[Symbol.asyncDispose]();
    let count = 0;
    const store = new FaultyStore(inner, (place) => {
      assert.ok(!place.endsWith("load"), "no actor is loaded");
      count += 1;
      return "pass";
    });
    await using engine = await LocalEngine.start({
      kinds: [tallyKind("tally"), tallyKind("note", { persistence: "memory" })],
      store,
      clock,
    });
    await clock.advance(1_000);
    counts.push(count);
    assert.equal(engine.health("tally/1"), undefined);
  }
  assert.equal(counts[0], counts[1]);
});

test("snapshots are written often enough that loading an actor reads little", async () => {
  const store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  for (let turn = 0; turn < 500; turn += 1) await engine.call(say("note", { args: { text: `${turn}` } }));
  const stored = await store.load(A);
  const bytes = stored?.tail.reduce((sum, { body }) => sum + (body?.length ?? 0), 0) ?? 0;
  const full = (await store.events(A, 0, 1_000)).filter(({ body }) => body?.includes('"state":'));
  assert.ok(bytes < 30_000, `${bytes} bytes to wake it`);
  assert.ok(full.length < 150 && full.length > 5, `${full.length} of 500 events are whole`);
});

test("draining lets running work finish, with the calls it makes, and refuses new calls #cli.sigterm", async () => {
  const clock = new SimulatedClock();
  const gate = Promise.withResolvers<void>();
  const store = memoryStore({ clock });
  const engine = await LocalEngine.start({ kinds: [tallyKind("tally", {}, { gate: () => gate.promise })], store, clock });
  await engine.call(say("wake", { args: { name: "far", at: clock.now() + 1e9 } }));
  const working = engine.call(say("work"));
  const waiting = engine.call(say("call", { args: { to: "tally/b", action: "add", start: null } }));
  await settle();
  const drained = engine.drain(10_000);
  await assert.rejects(engine.call(say("add")), { code: "DRAINING", applied: false });
  await assert.rejects(engine.send(say("add")), { code: "DRAINING" });
  gate.resolve();
  assert.deepEqual(await Promise.all([working, waiting]), [{ ok: 1 }, { ok: 1 }]);
  await drained;
  assert.equal(clock.pending, 0, "no timer is left");
});

test("disposing aborts work, refuses waiting calls, and does not close the store", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const saw: string[] = [];
  const engine = await LocalEngine.start({
    kinds: [tallyKind("tally", { expireMs: 1e9 }, { gate: () => new Promise(() => undefined), saw: (what) => saw.push(what) })],
    store,
    clock,
  });
  const later = engine.call(say("later", { to: "tally/l" }));
  await engine.call(say("add"));
  const ends = [engine.call(say("work")), engine.call(say("add")), later].map((call) => call.catch((error: unknown) => error));
  await settle();
  await engine[Symbol.asyncDispose]();
  const codes = (await Promise.all(ends)).map((error) =>
    error instanceof Error ? [Reflect.get(error, "code"), Reflect.get(error, "applied")] : error,
  );
  assert.deepEqual(codes, [
    ["DRAINING", false],
    ["DRAINING", false],
    ["DRAINING", true],
  ]);
  assert.ok(saw.includes("abort"));
  assert.equal(clock.pending, 0);
  assert.equal((await store.load(A))?.seq, 1);
});

test("a checkpoint goes between two turns, and the next turn follows it #chain.checkpoint", async () => {
  const store = memoryStore();
  const gate = Promise.withResolvers<void>();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", {}, { gate: () => gate.promise })], store });
  await engine.call(say("add"));
  const heads: string[] = [];
  engine.watch(A, ({ head }) => heads.push(head));
  const working = engine.call(say("work"));
  const entropy = new SimulatedEntropy();
  const checkpoint = engine.append(A, (stored) => checkpointEntry(A, stored, { messageId: "m", at: 5, seed: entropy.hex(16) }));
  const after = engine.call(say("add"));
  gate.resolve();
  assert.deepEqual([await working, (await checkpoint).seq, await after], [{ ok: 2 }, 3, { ok: 3 }]);
  const chain = await chainOf(engine, A);
  assert.deepEqual(chain.map(({ id }) => id).slice(1), heads);
  assert.equal(await store.erase(A, 3), 2);
  assert.deepEqual(stateFrom((await store.load(A))?.tail ?? []).state, { n: 3, log: ["begun a"] });
  await assert.rejects(
    engine.append("tally/none", () => assert.fail()),
    { code: "NO_ACTOR" },
  );
});

test("a failed actor is announced, and its timers wait for its restart", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({
    kinds: [tallyKind("tally", { restart: { max: 0, withinMs: 1_000 } })],
    store: memoryStore({ clock }),
    clock,
  });
  const statuses: string[] = [];
  await engine.call(say("wake", { args: { name: "w", at: clock.now() + 500 } }));
  engine.watch(A, ({ status }) => statuses.push(status));
  await assert.rejects(engine.call(say("throw")), { code: "CRASHED" });
  await clock.advance(10_000);
  assert.equal((await engine.read(A))?.seq, 1);
  await engine.restart(A);
  await clock.advance(100);
  assert.equal((await engine.read(A))?.seq, 2);
  assert.deepEqual(statuses, ["failed", "live", "live"]);
});

test("due timers of a kind that is not served are not read, and fire once it is served again", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const unserved = tallyKind("unserved");
  const set = { action: "wake", args: { name: "w", at: clock.now() + 1 }, start: null };
  {
    await using engine = await LocalEngine.start({ kinds: [unserved], store, clock });
    for (let key = 0; key < 200; key += 1) await engine.call({ to: `unserved/${key}`, ...set });
  }
  await clock.advance(10);
  const met: ActorId[] = [];
  const due = store.due.bind(store);
  store.due = async (...args) => {
    const answer = await due(...args);
    met.push(...answer.map(({ id }) => id));
    return answer;
  };
  {
    await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store, clock });
    await engine.call({ to: A, ...set });
    await clock.advance(10);
    assert.equal((await engine.read(A))?.seq, 2);
    assert.deepEqual(new Set(met), new Set([A]));
  }
  await using engine = await LocalEngine.start({ kinds: [unserved], store, clock });
  await clock.advance(10);
  assert.equal((await engine.read("unserved/199"))?.seq, 2);
});

test("a cycle of waits over three actors is refused while others go on", async () => {
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { ...DEFAULT_POLICY, persistence: "memory" })] });

  const ring = ask("tally/b", ask("tally/c", { to: "tally/a", action: "add", start: null }));
  const args: Outgoing["args"] = JSON.parse(JSON.stringify(ring));
  await assert.rejects(engine.call(say("call", { args })), { code: "CRASHED" });
  await until("all are free again", async () => "ok" in (await engine.call(say("add"))));
});

test("C4 work that runs again makes the same calls and gets the same replies", async () => {
  const store = memoryStore();
  const B: ActorId = "tally/b";
  let crashing = true;
  const gate = (): Promise<never> | Promise<void> => (crashing ? new Promise<never>(() => undefined) : Promise.resolve());
  const asker = tallyKind(
    "asker",
    {},
    {},
    {
      receive: (state) => async (context) => {
        const reply = await context.call({ to: B, action: "add", args: null, start: null });
        await gate();
        return { state: { ...state, log: [...state.log, JSON.stringify(reply)] }, reply };
      },
    },
  );
  const kinds = [tallyKind("tally"), asker];
  const first = await LocalEngine.start({ kinds, store });
  await first.send({ to: "asker/main", action: "ask", args: null, start: null });
  await until("its request has arrived", async () => (await first.read(B)) !== undefined);
  await first[Symbol.asyncDispose]();
  crashing = false;
  await using second = await LocalEngine.start({ kinds, store });
  await until("it has run again", async () => (await second.read("asker/main")) !== undefined);
  assert.deepEqual((await second.read("asker/main"))?.state, { n: 0, log: ['{"ok":1}'] });
  assert.equal((await second.read(B))?.seq, 1);
});

test("an infinite time in a policy is infinite on disk too", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const kinds = [tallyKind("tally", { expireMs: Infinity, idleMs: Infinity, workMs: Infinity })];
  const first = await LocalEngine.start({ kinds, store, clock });
  await first.call(say("add", { policy: { idleMs: Infinity, expireMs: Infinity } }));
  await clock.advance(1e10);
  await first[Symbol.asyncDispose]();
  await using second = await LocalEngine.start({ kinds, store, clock });
  await clock.advance(1e10);
  assert.equal((await second.read(A))?.status, "live");
});

test("a turn that takes 100 ms or more is reported with actor and action, and counted", async () => {
  let now = 1_000;
  const clock: Clock = { now: () => now, after: () => () => undefined };
  const takes = { add: 99, get: 100, throw: 2_000 };
  for (const persistence of ["memory", "disk"] as const) {
    const kind = tallyKind("tally", { persistence });
    const slow: unknown[] = [];
    let figures: (() => Figures) | undefined;
    const taking: typeof kind = {
      ...kind,
      receive(state, message, ...more) {
        now += message.action === "add" ? takes.add : message.action === "throw" ? takes.throw : takes.get;
        return kind.receive(state, message, ...more);
      },
    };
    const options: LocalOptions = {
      kinds: [taking],
      store: memoryStore(),
      clock,
      onSlowTurn: (turn) => slow.push(turn),
      observer: {
        shows(given) {
          figures = given;
          return () => undefined;
        },
      },
    };
    await using engine = await LocalEngine.start(options);
    const call = (action: string) => engine.call({ to: "tally/a", action, args: null, start: null });
    await call("add");
    assert.deepEqual(slow, []);
    await assert.rejects(call("throw"), { code: "CRASHED" });
    assert.deepEqual(slow, [{ actor: "tally/a", action: "throw", ms: 2_000 }]);
    await call("get").catch(() => undefined);
    assert.deepEqual(slow[1], { actor: "tally/a", action: "get", ms: 100 });
    assert.equal(figures?.().slowTurns, 2);
    // A store in memory has no log.
    assert.equal(figures?.().backlog, undefined);
  }
});
