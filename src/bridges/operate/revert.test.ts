// Owns: reverting an actor to an earlier state. Does not own: the command's words (test/cli/chain.test.ts).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { reexecute, verify } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, Change } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { revert } from "./chain-operations.ts";

const counter = actor("counter", {
  description: "Counts, and can send.",
  state: z.object({ n: z.number().default(0) }),
  tools: {
    add: { description: "Count on.", run: ({ state }) => (state.n += 1) },
    pass: {
      description: "Count on, and send.",
      run({ state, send }) {
        state.n += 1;
        send({ to: counter.id("other"), action: "tools/add", args: {}, start: null });
      },
    },
    end: { description: "Stop.", run: ({ stop }) => stop("over") },
  },
});
const ID: ActorId = counter.id("main");

async function counted(...tools: readonly string[]) {
  const store = memoryStore();
  const engine = await LocalEngine.start({ kinds: [counter], store });
  const call = (tool: string) => engine.call({ to: ID, action: `tools/${tool}`, args: {}, start: null });
  for (const tool of tools) await call(tool);
  const events = async (): Promise<readonly ChainEvent[]> => {
    const all: ChainEvent[] = [];
    for await (const event of engine.history(ID)) all.push(event);
    return all;
  };
  return { store, engine, call, events, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

test("revert restores an earlier state in a running engine, notifies watchers, and the chain verifies and replays", async () => {
  await using at = await counted("add", "add", "add");
  const changes: Change[] = [];
  at.engine.watch(ID, (change) => changes.push(change));
  assert.deepEqual(Object(await revert(at.engine, at.store, ID, { to: 1, reason: "Twice too many.", force: false })).seq, 4);
  assert.deepEqual((await at.engine.read(ID))?.state, { n: 1 });
  assert.deepEqual(
    changes.map(({ seq }) => seq),
    [4],
  );
  assert.deepEqual(await at.call("add"), { ok: 2 });
  const events = await at.events();
  assert.equal(verify(events).flaw, undefined);
  assert.deepEqual(reexecute(counter, events), {
    run: 4,
    taken: { work: 0, version: 0, redacted: 0, erased: 0, engine: 1 },
    mismatches: [],
  });
});

test("revert refuses to go back behind sent messages, and names their events, unless forced", async () => {
  await using at = await counted("add", "pass", "add", "pass");
  const to = { to: 1, reason: "Wrong.", force: false };
  await assert.rejects(revert(at.engine, at.store, ID, to), { code: "SENT", message: /\(events 2, 4\)\. .* force the revert/ });
  assert.equal(Object(await revert(at.engine, at.store, ID, { ...to, to: 2, force: true })).sent, 1);
  assert.deepEqual((await at.engine.read(ID))?.state, { n: 2 });
  assert.equal(Object(await revert(at.engine, at.store, ID, { ...to, to: 4 })).sent, 0);
});

test("revert refuses the last event, a missing actor, a stopped one, and an earlier life", async () => {
  await using at = await counted("add", "add");
  const to = (seq: number) => revert(at.engine, at.store, ID, { to: seq, reason: "Wrong.", force: true });
  await assert.rejects(to(2), /has 2 events: name one before the last/);
  await assert.rejects(revert(at.engine, at.store, counter.id("none"), { to: 1, reason: "Wrong.", force: true }), { code: "NOT_FOUND" });
  await at.call("end");
  await assert.rejects(to(1), /has stopped: only a live actor is reverted/);
  await at.call("add");
  await at.call("add");
  await assert.rejects(to(1), /Event 1 of counter\/main is of an earlier life/);
  assert.equal(Object(await to(4)).seq, 6);
});

test("revert reads again if a turn is committed meanwhile, and gives up after five times", async () => {
  await using at = await counted("add", "add");
  let calls = 0;
  const busy = (times: number): Pick<LocalEngine, "append"> => ({
    async append(id, make) {
      calls += 1;
      if (calls <= times) await at.call("add");
      return at.engine.append(id, make);
    },
  });
  assert.equal(Object(await revert(busy(2), at.store, ID, { to: 1, reason: "Wrong.", force: false })).seq, 5);
  calls = 0;
  await assert.rejects(revert(busy(9), at.store, ID, { to: 1, reason: "Wrong.", force: false }), /keeps changing/);
  assert.equal(calls, 5);
});
