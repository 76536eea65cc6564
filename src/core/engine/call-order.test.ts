import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { EngineError, StoreError, type ActorId, type Entry, type Outgoing, type Reply, type Store } from "../contract/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { FaultyStore, settle } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });

interface Handed {
  readonly entry: Entry;
  commit(): Promise<void>;
  fail(): void;
  /** It is stored, but the store's answer is lost. */
  lose(): Promise<void>;
}

/** A store whose commits wait until the test decides their outcome. */
class HeldStore extends FaultyStore {
  readonly inner: Store;
  readonly handed: Handed[] = [];
  held = true;
  readonly onHandOver: (entry: Entry) => void;

  constructor(inner: Store = memoryStore(), onHandOver: (entry: Entry) => void = () => undefined) {
    super(inner, () => "pass");
    this.inner = inner;
    this.onHandOver = onHandOver;
  }

  override commit(id: ActorId, entry: Entry): Promise<void> {
    this.onHandOver(entry);
    if (!this.held) return this.inner.commit(id, entry);
    return new Promise((resolve, reject) => {
      this.handed.push({
        entry,
        commit: () => this.inner.commit(id, entry).then(resolve, reject),
        fail: () => reject(new StoreError("STORE_FULL", "No space.")),
        lose: async () => {
          await this.inner.commit(id, entry);
          reject(new Error("the answer was lost"));
        },
      });
    });
  }
}

/** The outcomes of calls, in order. */
function watching(): { readonly outcomes: string[]; readonly call: (name: string, call: Promise<Reply>) => Promise<void> } {
  const outcomes: string[] = [];
  const call = async (name: string, reply: Promise<Reply>): Promise<void> => {
    try {
      outcomes.push(`${name} ${JSON.stringify(await reply)}`);
    } catch (error) {
      assert.ok(error instanceof Error);
      outcomes.push(`${name} ${String(Reflect.get(error, "code"))} ${String(Reflect.get(error, "applied"))}`);
    }
  };
  return { outcomes, call };
}

/** What happens to the calls of one actor, event by event. */
async function traced(persistence: "disk" | "memory"): Promise<{
  readonly engine: LocalEngine;
  readonly store: HeldStore;
  readonly trace: string[];
  readonly openGate: () => void;
  /** Makes a call, whose reply becomes an event. */
  readonly call: (action: string) => Promise<void>;
  /** Ends the oldest commit that was handed over. */
  readonly commit: (how: "commit" | "fail") => Promise<void>;
}> {
  const trace: string[] = [];
  const note = (event: string): void => void trace.push(event);
  const gate = Promise.withResolvers<undefined>();
  const store = new HeldStore(memoryStore(), ({ seq }) => note(`handed over ${seq}`));
  const kind = tallyKind(
    "tally",
    { persistence },
    { gate: () => gate.promise, saw: (what, { action }) => note(what === "receive" ? `received ${action}` : `${what} ${action}`) },
  );
  const engine = await LocalEngine.start({ kinds: [kind], store });
  engine.watch(A, ({ seq }) => note(`changed ${seq}`));
  return {
    engine,
    store,
    trace,
    openGate: () => gate.resolve(undefined),
    call: async (action) => {
      note(`call ${action}`);
      try {
        const reply = await engine.call(say(action), { onReceipt: ({ seq }) => note(`receipt ${seq}`) });
        note(`reply ${JSON.stringify(reply)}`);
      } catch (error) {
        note(`error ${String(Reflect.get(Object(error), "code"))}`);
      }
    },
    commit: async (how) => {
      const handed = store.handed.shift();
      assert.ok(handed);
      note(`${how === "commit" ? "committed" : "commit failed"} ${handed.entry.seq}`);
      await handed[how]();
      await settle();
    },
  };
}

test("C2 C8 the order of one call: received, handed over, committed, announced, replied", async () => {
  const { engine, trace, call, commit } = await traced("disk");
  await using _ = engine;
  const add = call("add");
  await settle();
  trace.push("settled");
  await commit("commit");
  await add;
  assert.deepEqual(trace, [
    "call add",
    "received add",
    "handed over 1",
    "settled",
    "committed 1",
    "changed 1",
    "receipt 1",
    'reply {"ok":1}',
  ]);
});

test("C2 C8 the order of one call in memory: its turn runs inside the call", async () => {
  const { engine, trace, call } = await traced("memory");
  await using _ = engine;
  const add = call("add");
  trace.push("called");
  await add;
  assert.deepEqual(trace, ["call add", "received add", "changed 1", "receipt 1", "called", 'reply {"ok":1}']);
});

for (const [where, opened] of Object.entries({
  "in memory": () => undefined,
  "in a memory store": () => memoryStore(),
  "on disk": (directory: string) => sqliteStore({ directory }),
}))
  test(`calls with and without a key are applied in the order they were made (${where})`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-call-order-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    await using store = opened(directory);
    const policy = { persistence: store === undefined ? "memory" : "disk" } as const;
    await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", policy)], ...(store && { store }) });
    const replied: unknown[] = [];
    for (const [round, hasKey] of [(n: number) => n % 2 === 0, (n: number) => n % 2 === 1, (n: number) => n === 3].entries()) {
      const calls = Array.from({ length: 12 }, (_, n) => engine.call(say("add"), hasKey(n) ? { key: `${round} ${n}` } : {}));
      replied.push(...(await Promise.all(calls)));
    }
    assert.deepEqual(
      replied,
      replied.map((_, n) => ({ ok: n + 1 })),
    );
  });

test("a call under a used key, or that is called off while its key is looked up, holds up none that come after", async () => {
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: memoryStore() });
  const first = engine.call(say("add"), { key: "k" });
  await first;
  const left = new AbortController();
  const replies = [
    engine.call(say("add"), { key: "k" }),
    engine.call(say("add")),
    engine.call(say("add"), { key: "other", signal: left.signal }),
  ];
  replies.push(engine.call(say("add")), engine.call({ ...say("add"), args: { by: 2 } }, { key: "k" }), engine.call(say("add")));
  left.abort();
  const settled = await Promise.allSettled(replies);
  assert.deepEqual(
    settled.map((one) => (one.status === "fulfilled" ? Reflect.get(one.value, "ok") : Reflect.get(Object(one.reason), "code"))),
    [1, 2, "CANCELLED", 3, "KEY_REUSED", 4],
  );
  assert.deepEqual(await engine.call(say("get")), { ok: 4 });
});

test("a call that waits behind one whose key is looked up is not made once its caller leaves", async () => {
  const lookUp = Promise.withResolvers<void>();
  const slow = new (class extends FaultyStore {
    override async remembered(...args: Parameters<FaultyStore["remembered"]>): ReturnType<FaultyStore["remembered"]> {
      await lookUp.promise;
      return super.remembered(...args);
    }
  })(memoryStore(), () => "pass");
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: slow });
  const left = new AbortController();
  const keyed = engine.call(say("add"), { key: "k" });
  const behind = assert.rejects(engine.call(say("add"), { signal: left.signal }), { code: "CANCELLED" });
  await new Promise((resolve) => setImmediate(resolve));
  left.abort();
  await behind;
  lookUp.resolve();
  assert.deepEqual(await keyed, { ok: 1 });
  assert.deepEqual(await engine.call(say("get")), { ok: 1 });
});

test("calls behind one whose key is looked up are bounded by the mailbox, with a key and without", async () => {
  const lookUp = Promise.withResolvers<void>();
  let lookUps = 0;
  const slow = new (class extends FaultyStore {
    override async remembered(...args: Parameters<FaultyStore["remembered"]>): ReturnType<FaultyStore["remembered"]> {
      lookUps += 1;
      if (lookUps === 1) await lookUp.promise;
      return super.remembered(...args);
    }
  })(memoryStore(), () => "pass");
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { mailbox: 2 })], store: slow });
  await engine.call(say("add"));
  const outcomes: string[] = [];
  const call = (key?: string): Promise<unknown> =>
    engine.call(say("add"), key === undefined ? {} : { key }).then(
      (reply) => outcomes.push(JSON.stringify(reply)),
      (error: unknown) => outcomes.push(error instanceof EngineError ? `${error.code} ${error.applied}` : String(error)),
    );
  const calls = [call("a"), call(), call("b"), call("c"), call()];
  await settle();
  assert.deepEqual(outcomes, ["MAILBOX_FULL false", "MAILBOX_FULL false"]);
  lookUp.resolve();
  await Promise.all(calls);
  assert.deepEqual(outcomes.slice(2).toSorted(), ['{"ok":2}', '{"ok":3}', '{"ok":4}']);
});

test("C1 C2 the order of a call with work: the next message waits for its turn", async () => {
  const { engine, trace, call, commit, openGate } = await traced("disk");
  await using _ = engine;
  const work = call("work");
  const add = call("add");
  await settle();
  trace.push("settled");
  openGate();
  await settle();
  await commit("commit");
  await commit("commit");
  await Promise.all([work, add]);
  assert.deepEqual(trace, [
    "call work",
    "call add",
    "received work",
    "work work",
    "settled",
    // Its run is over: what it still does is ignored from here on.
    "abort work",
    "handed over 1",
    "received add",
    "handed over 2",
    "committed 1",
    "changed 1",
    "receipt 1",
    'reply {"ok":1}',
    "committed 2",
    "changed 2",
    "receipt 2",
    'reply {"ok":2}',
  ]);
});

test("C2 the order of two concurrent calls: each is committed, announced and answered in turn", async () => {
  const { engine, trace, call, commit } = await traced("disk");
  await using _ = engine;
  const calls = [call("add"), call("add")];
  await settle();
  // The read has seen what both wrote.
  calls.push(call("get"));
  await commit("commit");
  await commit("commit");
  await Promise.all(calls);
  assert.deepEqual(trace, [
    "call add",
    "call add",
    "received add",
    "handed over 1",
    "received add",
    "handed over 2",
    "call get",
    "received get",
    "committed 1",
    "changed 1",
    "receipt 1",
    'reply {"ok":1}',
    "committed 2",
    "changed 2",
    "receipt 2",
    'reply {"ok":2}',
    'reply {"ok":2}',
  ]);
});

test("C2 the order of a failed commit: all turns after it are dropped, then the next message runs on what the store has", async () => {
  const { engine, store, trace, call, commit } = await traced("disk");
  await using _ = engine;
  const calls = [call("add"), call("add"), call("get")];
  await settle();
  await commit("fail");
  // Waits until the store has answered for the second.
  calls.push(call("add"));
  await settle();
  trace.push("settled");
  await commit("fail");
  await settle();
  store.held = false;
  await commit("commit");
  await Promise.all(calls);
  assert.deepEqual(trace, [
    "call add",
    "call add",
    "call get",
    "received add",
    "handed over 1",
    "received add",
    "handed over 2",
    "received get",
    "commit failed 1",
    "call add",
    "settled",
    "commit failed 2",
    "error STORE_FULL",
    "error NOT_APPLIED",
    "error NOT_APPLIED",
    "received add",
    "handed over 1",
    "committed 1",
    "changed 1",
    "receipt 1",
    'reply {"ok":1}',
  ]);
});

test("C2 a busy actor hands over the next turn before the last is durable, invisible until committed #engine.c2", async () => {
  const store = new HeldStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  const { outcomes, call } = watching();
  const changes: number[] = [];
  engine.watch(A, ({ seq }) => changes.push(seq));
  const calls = ["1", "2", "3"].map((name) => call(name, engine.call(say("add"))));
  await settle();
  calls.push(call("refused", engine.call(say("refuse"))), call("read-only", engine.call(say("get"))));
  await settle();
  assert.deepEqual(
    store.handed.map(({ entry }) => entry.seq),
    [1, 2, 3],
  );
  assert.deepEqual([outcomes, changes, await engine.read(A)], [[], [], undefined]);
  await store.handed[0]?.commit();
  await settle();
  assert.deepEqual([outcomes, changes, (await engine.read(A))?.state], [['1 {"ok":1}'], [1], { n: 1, log: ["begun a"] }]);
  await store.handed[2]?.commit().catch(() => undefined);
  await settle();
  assert.deepEqual(outcomes, ['1 {"ok":1}'], "the third cannot be committed before the second");
  store.held = false;
  store.handed[1]?.fail();
  await Promise.all(calls);
});

test("C2 replies that saw uncommitted turns are sent once these are durable, in order", async () => {
  const store = new HeldStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  const { outcomes, call } = watching();
  const calls = [call("add", engine.call(say("add")))];
  await settle();
  calls.push(call("refuse", engine.call(say("refuse"))), call("get", engine.call(say("get"))), call("add2", engine.call(say("add"))));
  await settle();
  assert.deepEqual(outcomes, []);
  await store.handed[0]?.commit();
  await settle();
  assert.deepEqual(outcomes, ['add {"ok":1}', 'refuse {"refused":{"code":"NO","message":"No."}}', 'get {"ok":1}']);
  await store.handed[1]?.commit();
  await Promise.all(calls);
  assert.equal(outcomes.at(-1), 'add2 {"ok":2}');
});

test("C2 a failed commit drops all turns after it, their callers get errors, and the actor is what the disk says #engine.c2", async () => {
  const store = new HeldStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  const { outcomes, call } = watching();
  const calls = ["1", "2", "3", "4"].map((name) => call(name, engine.call(say("add"))));
  await settle();
  calls.push(call("get", engine.call(say("get"))));
  await store.handed[0]?.commit();
  store.handed[1]?.fail();
  await settle();
  calls.push(call("after", engine.call(say("add"))));
  assert.deepEqual(outcomes, ['1 {"ok":1}'], "nothing is outcomes while the store has not answered for each");
  store.held = false;
  for (const handed of store.handed.slice(2)) await handed.commit();
  await Promise.all(calls);
  assert.deepEqual(outcomes, [
    '1 {"ok":1}',
    "2 STORE_FULL false",
    "3 NOT_APPLIED false",
    "4 NOT_APPLIED false",
    "get NOT_APPLIED false",
    'after {"ok":2}',
  ]);
  assert.equal((await engine.read(A))?.seq, 2);
});

test("C2 work waits for uncommitted turns, and does not start on ones that are dropped #engine.c2", async () => {
  const store = new HeldStore();
  const saw: string[] = [];
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", {}, { saw: (what) => saw.push(what) })], store });
  const { outcomes, call } = watching();
  const calls = [call("add", engine.call(say("add"))), call("work", engine.call(say("work"))), call("add2", engine.call(say("add")))];
  await settle();
  assert.ok(!saw.includes("work"));
  store.held = false;
  store.handed[0]?.fail();
  await Promise.all(calls);
  assert.deepEqual(outcomes, ["add STORE_FULL false", 'work {"ok":1}', 'add2 {"ok":2}']);
});

test("C2 a commit whose answer was lost is looked up: one that was stored is reported as applied, once", async () => {
  const store = new HeldStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  const { outcomes, call } = watching();
  const calls = ["1", "2"].map((name) => call(name, engine.call(say("add"))));
  await settle();
  store.held = false;
  await store.handed[0]?.lose();
  await store.handed[1]?.commit();
  await Promise.all(calls);
  assert.deepEqual(outcomes, ['1 {"ok":1}', '2 {"ok":2}']);
  assert.equal((await engine.read(A))?.seq, 2);
});

test("the engine calls a store's commit method even if it was replaced", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-call-order-"));
  try {
    await using inner = sqliteStore({ directory });
    let requests = 0;
    const commit: Store["commit"] = (id, entry) => {
      requests += 1;
      if (requests === 2) throw new StoreError("STORE_FULL", "No space.");
      return inner.commit(id, entry);
    };
    await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: { ...inner, commit } });
    assert.deepEqual(await engine.call(say("add")), { ok: 1 });
    await assert.rejects(engine.call(say("add")), { code: "STORE_FULL", applied: false });
    assert.deepEqual(await engine.call(say("add")), { ok: 2 });
    assert.equal(requests, 3);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("an outcome that cannot be known is reported as unknown", async () => {
  let mute = false;
  const inner = memoryStore();
  const store = new FaultyStore(inner, (place) =>
    mute && place !== "after commit" && place !== "before commit" ? "lose" : mute && place === "after commit" ? "lose" : "pass",
  );
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  await engine.call(say("add"));
  mute = true;
  await assert.rejects(engine.call(say("add")), { code: "OUTCOME_UNKNOWN", applied: "unknown" });
  await assert.rejects(engine.call(say("add")), { code: "STORE_IO", applied: false });
  mute = false;
  assert.deepEqual(await engine.call(say("add")), { ok: 3 });
});

test("C6 of two engines on one store the second writer loses, gets an error, and goes on from what is stored #engine.c6", async () => {
  const store = memoryStore();
  await using one = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  await using two = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  await one.call(say("add"));
  await two.call(say("add"));
  await assert.rejects(one.call(say("add")), { code: "STORE_CONFLICT", applied: false });
  assert.deepEqual(await one.call(say("add")), { ok: 3 });
  await assert.rejects(two.call(say("add")), { code: "STORE_CONFLICT", applied: false });
  assert.deepEqual(await two.call(say("add")), { ok: 4 });
});

test("uncommitted turns are bounded: a flood of calls waits, and nothing is lost", async () => {
  const store = new HeldStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { mailbox: 5_000 })], store });
  const calls = Array.from({ length: 2_000 }, () => engine.call(say("add")));
  await settle();
  assert.ok(store.handed.length <= 512);
  store.held = false;
  for (const handed of store.handed) void handed.commit();
  assert.deepEqual((await Promise.all(calls)).at(-1), { ok: 2_000 });
});
