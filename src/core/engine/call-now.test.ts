import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Cancellation,
  DEFAULT_POLICY,
  EngineError,
  type ActorId,
  type Behaviour,
  type CallOptions,
  type Outgoing,
  type Reply,
} from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { tallyKind, type Tally } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const A: ActorId = "tally/a";
const say = (action: string, more: Partial<Outgoing> = {}): Outgoing => ({ to: A, action, args: null, start: null, ...more });

const inMemory = (gate?: () => Promise<unknown>): Behaviour<Tally> =>
  tallyKind("tally", { persistence: "memory", mailbox: 1 }, gate && { gate });
const opened = (): Promise<LocalEngine> =>
  LocalEngine.start({ kinds: [inMemory()], clock: new SimulatedClock(), entropy: new SimulatedEntropy(3) });

type Outcome = readonly ["ok", Reply] | readonly ["threw", ...unknown[]];
const thrown = (error: unknown): Outcome => {
  assert.ok(error instanceof EngineError);
  return ["threw", error.code, error.applied, error.message, error.data];
};

/** Also returns whether it was returned synchronously. */
const outcomeNow = async (
  engine: LocalEngine,
  outgoing: Outgoing,
  options?: CallOptions,
): Promise<readonly [spot: boolean, outcome: Outcome]> => {
  let answer: Reply | Promise<Reply>;
  try {
    answer = engine.callNow(outgoing, options);
  } catch (error) {
    return [true, thrown(error)];
  }
  if (!(answer instanceof Promise)) return [true, ["ok", answer]];
  return [false, await answer.then((reply) => ["ok", reply] as const, thrown)];
};

const outcomeOf = (engine: LocalEngine, outgoing: Outgoing, options?: CallOptions): Promise<Outcome> =>
  engine.call(outgoing, options).then((reply) => ["ok", reply] as const, thrown);

const left = new Cancellation();
left.abort();

const ON_THE_SPOT: readonly (readonly [what: string, outgoing: Outgoing, options?: CallOptions])[] = [
  ["begun", say("add", { args: { by: 2 } })],
  ["idle", say("add")],
  ["read only", say("get")],
  ["refused", say("refuse")],
  ["needs", say("needs")],
  ["crashed", say("throw")],
  ["no JSON", say("not-json")],
  ["past its deadline on arrival", say("add", { deadline: 1 })],
  ["cancelled before", say("add"), { signal: left }],
  ["unknown action", say("never")],
  ["unknown kind", say("add", { to: "never/a" })],
  ["no id", say("add", { to: "tally/%" })],
  ["not started", { to: "tally/missing", action: "add", args: null }],
  ["stopped", say("stop", { args: { reason: "over" } })],
  ["after the stop", { to: A, action: "add", args: null }],
  ["another life", say("add")],
];

test("callNow returns what call resolves to, synchronously if nothing has to be awaited", async () => {
  await using engine = await opened();
  await using other = await opened();
  for (const [what, outgoing, options] of ON_THE_SPOT) {
    const [spot, now] = await outcomeNow(engine, outgoing, options);
    assert.deepEqual(now, await outcomeOf(other, outgoing, options), what);
    assert.equal(spot, true, what);
  }
  const [now, then] = [await engine.read(A), await other.read(A)];
  assert.ok(now && then);
  assert.equal(now.head, then.head);
});

test("callNow returns a promise if something has to be awaited: the disk, a key, work, a deferred reply", async () => {
  const gate = Promise.withResolvers<void>();
  await using engine = await LocalEngine.start({
    kinds: [inMemory(() => gate.promise), tallyKind("durable")],
    store: memoryStore(),
    clock: new SimulatedClock(),
  });
  assert.deepEqual(await outcomeNow(engine, say("add", { to: "durable/a" })), [false, ["ok", { ok: 1 }]]);
  assert.deepEqual(await outcomeNow(engine, say("add"), { key: "k" }), [false, ["ok", { ok: 1 }]]);
  assert.deepEqual(await outcomeNow(engine, say("add"), { key: "k" }), [false, ["ok", { ok: 1 }]]);
  const later = outcomeNow(engine, say("later"));
  assert.deepEqual(await outcomeNow(engine, say("answer", { args: { value: 7 } })), [true, ["ok", { ok: null }]]);
  assert.deepEqual(await later, [false, ["ok", { ok: 7 }]]);

  const working = outcomeNow(engine, say("work"));
  const busy = outcomeNow(engine, say("add"));
  const refused = await outcomeNow(engine, say("add"));
  assert.deepEqual(refused.slice(0, 1), [true]);
  assert.deepEqual(refused[1].slice(0, 3), ["threw", "MAILBOX_FULL", false]);
  gate.resolve();
  assert.deepEqual(await working, [false, ["ok", { ok: 2 }]]);
  assert.deepEqual(await busy, [false, ["ok", { ok: 3 }]]);
});

test("callNow throws while the engine drains", async () => {
  const engine = await opened();
  await engine[Symbol.asyncDispose]();
  assert.throws(() => engine.callNow(say("add")), { code: "DRAINING", applied: false });
});

test("a caller that cancels while its work is being started ends it", async () => {
  const kind: Behaviour = {
    kind: "slow",
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: "memory" },
    initial: () => 0,
    receive: () => async (context) => {
      context.progress(1);
      if (!context.signal.aborted) await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      return {};
    },
  };
  await using engine = await LocalEngine.start({ kinds: [kind], clock: new SimulatedClock() });
  const caller = new AbortController();
  const call = engine.call(
    { to: "slow/a", action: "x", args: null, start: null },
    { signal: caller.signal, onProgress: () => caller.abort() },
  );
  await assert.rejects(call, { code: "CANCELLED", applied: false });
});

test("C2 a synchronous reply comes after the change and the receipt too", async () => {
  await using engine = await opened();
  const order: unknown[] = [];
  engine.watch(A, ({ seq }) => {
    order.push(["announced", seq]);
    // C1: a call that comes from within finds the actor running.
    if (seq === 1) void Promise.resolve(engine.callNow(say("add"))).then((reply) => order.push(["from within", reply]));
  });
  const reply = engine.callNow(say("add"), { onReceipt: ({ seq }) => order.push(["receipt", seq]) });
  order.push(["reply", reply]);
  assert.deepEqual(order, [
    ["announced", 1],
    ["receipt", 1],
    ["announced", 2],
    ["reply", { ok: 1 }],
  ]);
  assert.equal((await engine.read(A))?.seq, 2);
  assert.deepEqual(order.at(-1), ["from within", { ok: 2 }]);
});
