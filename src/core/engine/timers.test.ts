import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError, type Behaviour, type Due, type Figures, type Json, type Message } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { tallyOf } from "../../testing/conformance/turn-suite.ts";
import { LocalEngine } from "./index.ts";

const A = "tally/a";
const B = "tally/b";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

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

  test(`a timer that fails delays no other timer of its actor (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine, wake, came } = await open(tallyKind("tally", { persistence, minEveryMs: 20 }), clock);
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

  for (const max of [0, 1, 2])
    test(`a parent's restarts let a timer crash three times, not for ever (${persistence}, max ${max})`, async () => {
      const clock = new SimulatedClock();
      let ran = 0;
      const saw = (what: string, { action }: Message): void => {
        if (what === "receive" && action === "throw") ran += 1;
      };
      const { engine } = await open(tallyKind("tally", { persistence, restart: { max, withinMs: HOUR } }, { saw }), clock);
      await using _ = engine;
      await engine.call({ to: A, action: "send", args: { to: B, action: "add", start: null }, start: null });
      await clock.advance(10);
      await engine.call({ to: B, action: "wake", args: { name: "bad", at: clock.now() + 1_000, action: "throw" } });
      for (let second = 0; second < 20; second += 1) {
        await clock.advance(1_000);
        if ((await engine.read(B))?.status === "failed") await engine.call({ to: A, action: "restart", args: { child: B } });
      }
      assert.equal(ran, 3);
      assert.deepEqual((await engine.row(B))?.wakes ?? {}, {});
    });

  test(`a timer repeats no faster than its kind allows, wherever it comes from (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine, wake, came } = await open(tallyKind("tally", { persistence }), clock);
    await using _ = engine;
    // As a dump may have it: `wake` of an author refuses it.
    await wake("fast", 10, { everyMs: 1 });
    for (let ms = 0; ms < 250; ms += 1) await clock.advance(1);
    assert.deepEqual(await came(), ["fast 10", "fast 110", "fast 210"]);
  });

  test(`a timer that failed in one life is not retried in the next (${persistence})`, async () => {
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

  test(`an actor does not expire if the clock is ahead only briefly, but does once it stays ahead (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine, wake } = await open(tallyKind("tally", { persistence, expireMs: 24 * HOUR }), clock);
    await using _ = engine;
    await wake("w", 1);
    await clock.advance(MINUTE);
    clock.setForward(25 * HOUR);
    await clock.advance(10 * MINUTE);
    clock.setBack(25 * HOUR);
    await clock.advance(10 * MINUTE);
    assert.equal((await engine.read(A))?.status, "live");
    clock.setForward(25 * HOUR);
    await clock.advance(23 * HOUR);
    assert.equal((await engine.read(A))?.status, "live");
    await clock.advance(3 * HOUR);
    assert.notEqual((await engine.read(A))?.status, "live");
  });

  test(`a keyed call is not applied again if the clock is ahead only briefly (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine } = await open(tallyKind("tally", { persistence }), clock);
    await using _ = engine;
    const call = () => engine.call({ to: A, action: "add", args: null, start: null }, { key: "k" });
    const first = await call();
    clock.setForward(25 * HOUR);
    assert.deepEqual(await call(), first);
    await clock.advance(26 * HOUR);
    assert.notDeepEqual(await call(), first, "keys are forgotten a day after the call");
  });

  test(`a timer that fell due while the machine slept fires within a minute of its waking (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const { engine, wake, came } = await open(tallyKind("tally", { persistence }), clock);
    await using _ = engine;
    await wake("w", 8 * HOUR);
    await wake("later", 20 * HOUR);
    await clock.advance(HOUR);
    clock.setForward(10 * HOUR);
    await clock.advance(MINUTE);
    assert.deepEqual(
      (await came()).map((line) => line.split(" ")[0]),
      ["w"],
    );
    await clock.advance(9 * HOUR);
    assert.deepEqual((await came()).at(-1), `later ${20 * HOUR}`);
  });

  test(`timers that were put off because their actor had failed fire once it is restarted (${persistence})`, async () => {
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

const FAILED = 1_000;

/** A store with what is due of actors that were of an earlier version, which may fail to be brought to this one. */
const brokenKind = (more: Parameters<typeof tallyKind>[1] = {}) => {
  const has = { mended: false };
  const migrate = (): { n: number; log: readonly string[] } => {
    if (!has.mended) throw new Error("a mistake");
    return { n: 0, log: [] };
  };
  return { has, kind: tallyKind("old", more, {}, { version: 2, migrate }) };
};

const withDue = async (clock: SimulatedClock, count: number) => {
  const store = memoryStore({ clock });
  await using engine = await LocalEngine.start({ kinds: [tallyKind("old")], store, clock });
  for (let key = 0; key < count; key += 1)
    await engine.call({ to: `old/${key}`, action: "wake", start: null, args: { name: "w", at: clock.now() + 1 } });
  return store;
};

test("due timers of failed actors are not read again for each timer of others", async () => {
  const clock = new SimulatedClock();
  const store = await withDue(clock, FAILED);
  const { kind, has } = brokenKind();
  await clock.advance(10);
  await using engine = await LocalEngine.start({ kinds: [kind, tallyKind("tally")], store, clock });
  for (let ms = 0; ms < 100; ms += 1) await clock.advance(10);
  assert.match(engine.health("old/999")?.failure ?? "", /could not be brought to this version/);
  const wake = (name: string, inMs: number, more: { readonly [key: string]: Json } = {}) =>
    engine.call({ to: A, action: "wake", start: null, args: { name, at: clock.now() + inMs, ...more } });
  await wake("w", 100, { everyMs: 100 });
  await clock.advance(150);
  let read = 0;
  const due = store.due.bind(store);
  store.due = async (...args) => {
    const answer = await due(...args);
    read += answer.length;
    return answer;
  };
  await clock.advance(1_000);
  assert.equal((await engine.read(A))?.seq, 12);
  assert.ok(read < 40, `${read} were read for 10 wakes`);
  // Behind those of the failed, one that fails holds up no other wake of its actor.
  await wake("bad", 10, { action: "throw" });
  await wake("good", 20);
  const begun = clock.now();
  for (let ms = 0; ms < 30; ms += 1) await clock.advance(1);
  assert.match((await tallyOf(engine, A)).log.at(-1) ?? "", new RegExp(`^tick good ${begun + 20}$`));
  has.mended = true;
  for (let key = 0; key < FAILED; key += 1) await engine.restart(`old/${key}`);
  for (let ms = 0; ms < 100; ms += 1) await clock.advance(10);
  for (let key = 0; key < FAILED; key += 1) assert.equal((await engine.read(`old/${key}`))?.seq, 2, `old/${key}`);
});

test("a due timer of a failed actor fires by itself once the actor can be loaded", async () => {
  const clock = new SimulatedClock();
  const store = await withDue(clock, 1);
  const { kind, has } = brokenKind({ idleMs: 5_000 });
  await using engine = await LocalEngine.start({ kinds: [kind], store, clock });
  await clock.advance(20_000);
  assert.equal((await store.load("old/0"))?.seq, 1);
  assert.equal(engine.health("old/0"), undefined, "it is asleep");
  has.mended = true;
  await clock.advance(60_000);
  assert.equal((await store.load("old/0"))?.seq, 2);
});

for (const [what, answer] of [
  ["an answer", (): readonly Due[] => []],
  [
    "a fault",
    (): readonly Due[] => {
      throw new StoreError("STORE_CLOSED", "The store is closed. Open it again.");
    },
  ],
] as const)
  test(`a drained engine reads no more due timers and reports nothing, even if the store answers later: ${what}`, async () => {
    const clock = new SimulatedClock();
    const store = memoryStore({ clock });
    const released = Promise.withResolvers<void>();
    let requests = 0;
    store.due = async () => {
      requests += 1;
      await released.promise;
      return answer();
    };
    const faults: unknown[] = [];
    const engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store, clock, onFault: (error) => void faults.push(error) });
    await clock.advance(1);
    assert.equal(requests, 1);
    await engine[Symbol.asyncDispose]();
    released.resolve();
    await clock.advance(60_000);
    assert.equal(requests, 1);
    assert.deepEqual(faults, []);
  });

const MANY = 400;

test("very many due timers fire in small portions, and stopped actors do not stay in memory", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const kinds = [tallyKind("tally", { idleMs: 5_000_000, expireMs: 10_000_000 }), tallyKind("other")];
  {
    await using engine = await LocalEngine.start({ kinds, store, clock });
    for (let key = 0; key < MANY; key += 1) await engine.call({ to: `tally/${key}`, action: "add", args: 1, start: null });
  }
  // While no engine ran, the time of all of them has come.
  await clock.advance(20_000_000);
  const pages: number[] = [];
  const due = store.due.bind(store);
  store.due = async (...args) => {
    const answer = await due(...args);
    pages.push(answer.length);
    return answer;
  };
  let figures: (() => Figures) | undefined;
  const observer = { shows: (read: () => Figures) => ((figures = read), () => undefined) };
  await using engine = await LocalEngine.start({ kinds, store, clock, observer });
  for (let ms = 0; ms < MANY; ms += 1) await clock.advance(1);
  assert.equal(await engine.count({ live: true }), 0);
  assert.ok(Math.max(...pages) <= 64, `pages of ${Math.max(...pages)}`);
  for (let second = 0; second < 4; second += 1) await clock.advance(1_000);
  assert.equal(figures?.().actors, 0);
});

test("if more timers are due than one page, those that fail delay none of their actor's", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  {
    await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store, clock });
    const wake = (name: string, more: { readonly [key: string]: Json } = {}) =>
      engine.call({ to: A, action: "wake", args: { name, at: clock.now() + 1_000, ...more }, start: null });
    for (let one = 0; one < 200; one += 1) await wake(`bad${one}`, { action: "throw" });
    for (let one = 0; one < 100; one += 1) await wake(`good${one}`);
  }
  await clock.advance(2_000);
  let requests = 0;
  const due = store.due.bind(store);
  store.due = (...query) => {
    requests += 1;
    return due(...query);
  };
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store, clock });
  // Those that failed are tried again after 100 ms.
  for (let ms = 0; ms < 50; ms += 1) await clock.advance(1);
  assert.equal((await tallyOf(engine, A)).log.filter((line) => line.startsWith("tick good")).length, 100);
  const before = requests;
  for (let ms = 0; ms < 40; ms += 1) await clock.advance(1);
  assert.ok(requests - before <= 2, `the store got ${requests - before} requests while nothing could run`);
});
