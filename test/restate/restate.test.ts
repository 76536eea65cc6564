// The distributed engine against a real server: what the unit tests of src/restate claim, shown.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readBody, readHeader, reexecute, sha256, verify } from "../../src/chain/index.ts";
import {
  DEFAULT_POLICY,
  systemClock,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  type Entropy,
  type Receipt,
} from "../../src/contract/index.ts";
import { LocalEngine } from "../../src/engine/index.ts";
import { isRestateSdk, RestateEngine, serveActors, type Served } from "../../src/restate/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { golden, goldenCalls, runGolden } from "../../src/testing/index.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

const gate = (() => {
  const entered = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return { entered: entered.promise, enter: entered.resolve, opened: opened.promise, open: opened.resolve };
})();

/** Its work ends when the test says so. */
const gated: Behaviour = {
  kind: "gated",
  version: 1,
  policy: { ...DEFAULT_POLICY, persistence: "distributed" },
  initial: () => [],
  receive: (_, { action }) =>
    action === "begin"
      ? {}
      : async () => {
          gate.enter();
          await gate.opened;
          return { state: ["worked"] };
        },
};

let server: RestateServer;
let served: Served;
let engine: RestateEngine;

before(async () => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk), "the SDK has the shape that is used");
  server = await RestateServer.start(executable);
  engine = new RestateEngine({ ingress: server.ingress });
  served = await serveActors({ sdk, kinds: [golden("distributed"), gated], host: engine.workHost(), keyMs: 600_000 });
  await server.register(served.url);
});

after(async () => {
  await served?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function chainOf(of: { history(id: ActorId): AsyncIterable<ChainEvent> }, id: ActorId): Promise<ChainEvent[]> {
  const chain: ChainEvent[] = [];
  for await (const event of of.history(id)) chain.push(event);
  return chain;
}

const counting = (): Entropy => {
  let drawn = 0;
  return { hex: (bytes) => sha256(`draw ${drawn++}`).slice(0, bytes * 2), uuid: () => "unused" };
};

const stopped: Clock = { now: () => 5_000, after: (ms, run) => systemClock.after(ms, run) };

void test("the golden workload leaves byte-equal chains in the local engine and on the server", async () => {
  await using store = memoryStore();
  await using local = await LocalEngine.start({ kinds: [golden("disk")], store, clock: stopped, entropy: counting() });
  const told = await runGolden(local, goldenCalls());
  const distributed = new RestateEngine({ ingress: server.ingress, clock: stopped, entropy: counting() });
  assert.deepEqual(await runGolden(distributed, goldenCalls()), told);
  const chain = await chainOf(local, "golden/some%20one");
  assert.deepEqual(await chainOf(distributed, "golden/some%20one"), chain);
  assert.equal(verify(chain).flaw, undefined);
  assert.deepEqual(reexecute(golden("distributed"), chain).mismatches, []);
  const { id, seq, head, status, state } = (await local.read("golden/some%20one")) ?? assert.fail();
  assert.deepEqual(await distributed.read("golden/some%20one"), { id, seq, head, status, state });
});

void test("C4 a key that was applied gets its first reply again, one that was not runs again, and principals do not share keys", async () => {
  const to = "golden/keyed";
  const call = (action: string, key: string, principal: string) =>
    engine.call({ to, action, args: null, start: null, viewer: { principal, scopes: [] } }, { key });
  const first = await call("push", "one", "ann");
  assert.deepEqual(await call("push", "one", "ann"), first);
  assert.notDeepEqual(await call("push", "one", "ben"), first);
  assert.ok("refused" in (await call("refuse", "two", "ann")));
  assert.deepEqual(await call("push", "two", "ann"), { ok: [3, null] });
  await assert.rejects(call("crash", "three", "ann"), { code: "CRASHED", applied: false });
  assert.deepEqual(await call("push", "three", "ann"), { ok: [4, null] });
  assert.equal((await chainOf(engine, to)).length, 4);
});

void test("law 2: a read beside running work sees the last durable state and does not wait", async () => {
  const to = "gated/one";
  await engine.call({ to, action: "begin", args: null, start: null });
  const working = engine.call({ to, action: "work", args: null });
  await gate.entered;
  assert.deepEqual((await engine.read(to))?.state, []);
  gate.open();
  await working;
  assert.deepEqual((await engine.read(to))?.state, ["worked"]);
});

void test("C5 what a turn sends arrives once and in order", async () => {
  await engine.call({ to: "golden/other", action: "draw", args: null, start: null });
  const from = (await chainOf(engine, "golden/other")).length;
  for (let n = 0; n < 10; n += 1) await engine.call({ to: "golden/teller", action: "tell", args: null, start: null });
  const sent = (await chainOf(engine, "golden/teller")).flatMap(
    (event) => readBody(event)?.sent.filter((_, index) => index % 2 === 0) ?? [],
  );
  for (;;) {
    const arrived = (await chainOf(engine, "golden/other")).slice(from);
    if (arrived.length < sent.length) continue;
    assert.deepEqual(
      arrived.map((event) => Object(readBody(event)?.message)["id"]),
      sent,
    );
    return;
  }
});

void test("kill −9 of the server under load: every acknowledged call is in its chain exactly once, and the chains verify", async () => {
  const actors = 4;
  const callers = 16;
  const callsEach = 40;
  const receipts: (Receipt & { readonly args: string })[] = [];
  let pauses = 0;
  const counted: Clock = {
    now: () => systemClock.now(),
    after(ms, run) {
      pauses += 1;
      return systemClock.after(ms, run);
    },
  };
  const patient = new RestateEngine({ ingress: server.ingress, clock: counted });
  let killed = 0;
  const killAt = new Set([150, 400]);
  let restarting: Promise<void> | undefined;
  const killAndRestart = async (): Promise<void> => {
    await server.kill();
    killed += 1;
    await server.restart();
  };
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; n < callsEach; n += 1) {
        const args = `${caller}/${n}`;
        const action = n % 5 === 0 ? "work" : "put";
        const outgoing = { to: `golden/hit-${caller % actors}`, action, args: { [`caller ${caller}`]: args }, start: null } as const;
        await patient.call(outgoing, { key: args, onReceipt: (receipt) => receipts.push({ ...receipt, args }) });
        if (killAt.delete(receipts.length)) restarting = killAndRestart();
      }
    }),
  );
  await restarting;
  assert.equal(killed, 2);
  assert.ok(pauses > 0, `callers were cut off and tried again ${pauses} times`);
  assert.equal(receipts.length, callers * callsEach);
  const found = new Map<string, number>();
  for (let actor = 0; actor < actors; actor += 1) {
    const id: ActorId = `golden/hit-${actor}`;
    const chain = await chainOf(engine, id);
    assert.equal(verify(chain, { actor: id, receipts: receipts.filter((receipt) => receipt.actor === id) }).flaw, undefined);
    assert.equal((await engine.read(id))?.head, chain.at(-1)?.id);
    for (const event of chain) {
      const args = Object.values(Object(Object(readBody(event)?.message)["args"]))[0];
      assert.ok(typeof args === "string");
      found.set(args, (found.get(args) ?? 0) + 1);
      const receipt = receipts.find((given) => given.args === args);
      assert.deepEqual({ seq: receipt?.seq, head: receipt?.head }, { seq: readHeader(event).seq, head: event.id });
    }
  }
  assert.equal(found.size, callers * callsEach);
  assert.ok([...found.values()].every((times) => times === 1));
});
