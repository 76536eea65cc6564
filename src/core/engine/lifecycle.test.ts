import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { EngineError, StoreError, type ActorId, type Outgoing } from "../contract/index.ts";
import { checkpointEntry, reexecute } from "../chain/index.ts";
import { actor } from "../actor/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, SimulatedClock, until } from "../../testing/index.ts";
import { chainOf, tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });
const inMemory = tallyKind("note", { persistence: "memory" });

test("a memory actor is counted once per life, however fast it stops and starts", async () => {
  const gate = Promise.withResolvers<void>();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("note", { persistence: "memory" }, { gate: () => gate.promise })] });
  const to: ActorId = "note/a";
  await engine.call(say("add", { to }));
  await Promise.all([engine.stop(to, "one"), engine.stop(to, "another")]);
  assert.equal(await engine.count({ kind: "note" }), 0);
  await engine.call(say("add", { to }));
  const line = [engine.call(say("work", { to })), engine.call(say("stop", { to })), engine.call(say("add", { to }))];
  gate.resolve();
  await Promise.all(line);
  assert.equal(await engine.count({ kind: "note" }), 1);
  assert.equal((await engine.list({ kind: "note", limit: 10 })).length, 1);
});

for (const persistence of ["memory", "disk"] as const)
  test(`the error of a call whose work was stopped says that it had begun; that of one that waited does not (${persistence})`, async () => {
    const gate = Promise.withResolvers<void>();
    const kinds = [tallyKind("note", { persistence }, { gate: () => gate.promise })];
    await using engine = await LocalEngine.start({ kinds, store: memoryStore() });
    const to: ActorId = "note/a";
    await engine.call(say("add", { to }));
    const calls = [engine.call({ to, action: "work", args: null }), engine.call({ to, action: "add", args: null })];
    await turnOfLoop();
    const ended = Promise.allSettled(calls);
    await engine.stop(to, "enough");
    const faults = (await ended).map((one) => (one.status === "rejected" && one.reason instanceof EngineError ? one.reason : undefined));
    assert.deepEqual(
      faults.map((fault) => [fault?.code, fault?.applied, fault?.data]),
      [
        ["ACTOR_STOPPED", false, { begun: true }],
        ["ACTOR_STOPPED", false, undefined],
      ],
    );
    gate.resolve();
  });

test("an event without a message is refused for a memory actor, which is unchanged", async () => {
  await using engine = await LocalEngine.start({ kinds: [inMemory], store: memoryStore() });
  await engine.call(say("add", { to: "note/a" }));
  await assert.rejects(
    engine.append("note/a", () => assert.fail()),
    { code: "NO_ACTOR" },
  );
  assert.deepEqual(await engine.call({ to: "note/a", action: "add", args: null }), { ok: 2 });
});

for (const persistence of ["disk", "memory"] as const)
  test(`an actor that has just had a message does not expire, however old the message (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const store = memoryStore({ clock });
    const kinds = [tallyKind("sender"), tallyKind("tally", { persistence, expireMs: 60_000 })];
    await using engine = await LocalEngine.start({ kinds, store, clock });
    const send = { to: A, action: "note", with: { text: "at last" } };
    await engine.call(say("send", { to: "sender/s", args: send }));
    await clock.advance(5_000);
    const [letter] = await engine.letters();
    await clock.advance(600_000);
    await engine.call(say("add"));
    await engine.letter(letter?.message.id ?? "", "replay");
    await until("it has arrived", async () => JSON.stringify(await engine.read(A)).includes("at last"));
    // Something else that is due makes the engine look.
    await engine.call(say("wake", { to: "sender/s", args: { name: "w", at: clock.now() + 10 } }));
    await clock.advance(59_000);
    assert.equal((await engine.read(A))?.status, "live");
    await clock.advance(2_000);
    assert.notEqual((await engine.read(A))?.status, "live");
  });

test("C4 a keyed call that ended because all its callers cancelled starts again", async () => {
  const store = new FaultyStore(memoryStore(), (place) => (place === "before remembered" ? "delay" : "pass"));
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  await engine.read(A);
  const leaving = new AbortController();
  const first = engine.call(say("add"), { key: "k", signal: leaving.signal });
  leaving.abort();
  await turnOfLoop();
  const second = engine.call(say("add"), { key: "k" });
  await assert.rejects(first, { code: "CANCELLED", applied: false });
  assert.deepEqual(await second, { ok: 1 });
});

test("looking up missing actors retains no memory", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: memoryStore({ clock }), clock });
  const before = clock.pending;
  for (let n = 0; n < 100; n += 1) assert.equal(await engine.read(`tally/missing-${n}`), undefined);
  assert.equal(clock.pending, before);
  await engine.call(say("add"));
  assert.equal(clock.pending, before + 1, "only who is there is looked after");
});

test("start fails if the store is damaged", async () => {
  const store = memoryStore();
  const damaged = new StoreError("STORE_CORRUPT", "A message was changed.");
  store.undelivered = () => Promise.reject(damaged);
  await assert.rejects(LocalEngine.start({ kinds: [tallyKind("tally")], store }), { code: "STORE_CORRUPT" });
});

test("law 4: a timer's turn that changed nothing is re-executed with the same result", async () => {
  const clock = new SimulatedClock();
  const behaviour = tallyKind("tally");
  await using engine = await LocalEngine.start({ kinds: [behaviour], store: memoryStore({ clock }), clock });
  await engine.call(say("wake", { args: { name: "look.again", at: clock.now() + 10, action: "get" } }));
  await clock.advance(100);
  const chain = await chainOf(engine, A);
  assert.equal(chain.length, 2);
  assert.deepEqual(reexecute(behaviour, chain).mismatches, []);
});

test("actors on disk and in memory are listed in pages, each once, whatever the names of their kinds", async () => {
  const kinds = [tallyKind("a"), tallyKind("a-b"), tallyKind("a-m", { persistence: "memory" })];
  await using engine = await LocalEngine.start({ kinds, store: memoryStore() });
  const all: readonly ActorId[] = ["a/1", "a/2", "a/3", "a-b/1", "a-b/2", "a-m/1", "a-m/2"];
  for (const to of all) await engine.call(say("add", { to }));
  const paged: ActorId[] = [];
  for (let after: ActorId | undefined; ; after = paged.at(-1)) {
    const page = await engine.list({ limit: 3, ...(after === undefined ? {} : { after }) });
    paged.push(...page.map(({ id }) => id));
    if (page.length < 3) break;
  }
  assert.deepEqual(paged, all);
});

test("law 4: a behaviour's own stop, fork and checkpoint are re-executed; the engine's are read from the chain #chain.reexecute", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const own = tallyKind("tally");
  const receive: typeof own.receive = (state, message) =>
    ["stop", "fork", "checkpoint", "import"].includes(message.action)
      ? { state: { ...state, n: state.n + 1 }, reply: { ok: message.action } }
      : own.receive(state, message);
  const behaviour = { ...own, receive };
  await using engine = await LocalEngine.start({ kinds: [behaviour], store, clock });
  for (const action of ["add", "stop", "fork", "checkpoint", "import"]) await engine.call(say(action, { args: { reason: "mine" } }));
  await engine.append(A, (stored) => checkpointEntry(A, stored, { messageId: "m", at: clock.now(), seed: "00".repeat(16) }));
  await engine.stop(A, "the engine's");
  const again = reexecute(behaviour, await chainOf(engine, A));
  assert.deepEqual([again.run, again.taken.engine, again.mismatches], [5, 2, []]);
  const other: typeof own = { ...own, receive: (state) => ({ state: { ...state, n: state.n + 7 } }) };
  const changed = reexecute(other, await chainOf(engine, A));
  assert.deepEqual([...new Set(changed.mismatches.map(({ seq }) => seq))], [1, 2, 3, 4, 5]);
});

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

test("a turn that stops its actor replies to its own caller, whether it settles or defers", async () => {
  const sink = actor("sink", {
    description: "Counts.",
    per: "link",
    autoStart: true,
    initial: () => ({ n: 0 }),
    messages: { hit: { run: ({ state }) => void (state.n += 1) } },
  });
  const leaver = actor("leaver", {
    description: "Stops.",
    per: "shared",
    initial: () => ({}),
    messages: {
      settle: {
        run({ send, stop, settled }) {
          send(sink.at("one").hit());
          stop("done");
          return settled("Goodbye.");
        },
      },
      defer: {
        run({ stop, later }) {
          stop("done");
          return later();
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [sink, leaver], store: memoryStore() });
  for (const key of [undefined, "k", "k"]) {
    const options = key === undefined ? {} : { key };
    assert.deepEqual(await engine.call(leaver.at("main").settle(), options), { ok: "Goodbye." });
  }
  await until("the message is applied", async () => (await engine.read(sink.id("one")))?.seq === 2);
  const deferred = await engine.call(leaver.at("main").defer());
  assert.equal("refused" in deferred && deferred.refused.code, "ACTOR_STOPPED");
});
