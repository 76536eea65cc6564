import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import { type CallOptions, EngineError, type Outgoing, type Reply, type Source, type Viewer } from "../../core/contract/index.ts";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { cast, merge, prefix, registry } from "./index.ts";
import * as z from "zod";

const counter = actor("counter", {
  describe: "Counts.",
  per: "user",
  state: z.object({ count: z.number().default(0) }),
  tools: {
    add: {
      describe: "Adds one.",
      input: z.object({ by: z.number().optional() }),
      run({ state }) {
        state.count += 1;
        return state.count;
      },
    },
    read: { describe: "Reads.", when: ({ count }) => count < 2, view: ({ count }) => count },
  },
});

const ana: Viewer = { principal: "ana", scopes: [] };

/** Answers on the spot what its counters are asked. */
class Quick extends FakeEngine {
  readonly asked: Outgoing[] = [];
  fault: EngineError | undefined;

  callNow(message: Outgoing, options: CallOptions = {}): Reply {
    this.asked.push(message);
    if (this.fault !== undefined) throw this.fault;
    const seq = this.asked.length;
    this.put(message.to, { count: seq });
    options.onReceipt?.({ actor: message.to, seq, head: `1.${seq}` });
    return { ok: seq };
  }
}

const now = (source: Source, viewer = ana, ref: "tools/add" | "tools/read" | "tools/c.add" = "tools/add") =>
  source.actNow?.(viewer, ref, {}, {});

test("a call to a root whose turn decides is answered on the spot where its engine does, through a prefix and a merge too", () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  assert.deepEqual(now(source), { ok: 1 });
  const inside = merge(registry({}), prefix("c", source));
  assert.deepEqual(now(inside, ana, "tools/c.add"), { ok: 2 });
  assert.deepEqual(engine.asked[0], {
    to: "counter/ana",
    action: "tools/add",
    args: {},
    viewer: { principal: "ana", self: "counter/ana", scopes: [] },
    start: null,
  });
});

test("no arguments are one frozen object for all calls; others are as they came", () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  const some = { by: 2 };
  for (const args of [{}, {}, some, null, []]) source.actNow?.(ana, "tools/add", args, {});
  const asked = engine.asked.map(({ args }) => args);
  assert.equal(asked[0], asked[1]);
  assert.ok(Object.isFrozen(asked[0]));
  assert.equal(asked[2], some);
  assert.deepEqual(asked.slice(3), [null, []]);
});

test("what looks first, or an engine that is never that quick, is waited for", async () => {
  const quick = cast({ engine: new Quick([counter]), kinds: [counter] });
  const viewed = now(quick, ana, "tools/read");
  assert.ok(viewed instanceof Promise);
  assert.deepEqual(await viewed, { ok: 0 });
  const slow = now(cast({ engine: new FakeEngine([counter]), kinds: [counter] }));
  assert.ok(slow instanceof Promise);
  assert.deepEqual(await slow, { ok: 1 });
});

test("what is thrown on the spot is what `act` rejects with, and what is no viewer's answers like what never was", async () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  engine.fault = new EngineError("DRAINING", "closing");
  assert.throws(() => now(source), { code: "DRAINING" });
  await assert.rejects(source.act(ana, "tools/add", {}, {}), { code: "DRAINING" });
  await assert.rejects(merge(registry({}), source).act(ana, "tools/add", {}, {}), { code: "DRAINING" });
  engine.fault = new EngineError("NO_ACTOR", "not yours");
  const reply = now(source);
  assert.ok(reply !== undefined && "refused" in reply && reply.refused.code === "UNKNOWN");
});

test("C8 whoever listens as the caller is flagged before a reply that was there on the spot", async () => {
  const source = cast({ engine: new Quick([counter]), kinds: [counter] });
  const flags: string[] = [];
  const undo = source.watch(ana, (ref) => flags.push(ref ?? "lists"));
  await source.act(ana, "tools/add", {}, {});
  flags.length = 0;
  const second = now(source);
  assert.ok(second instanceof Promise);
  assert.deepEqual(await second, { ok: 2 });
  assert.deepEqual(flags, ["lists"]);
  assert.deepEqual(now(source, { principal: "bob", scopes: [] }), { ok: 3 }, "who listens to another waits for nothing");
  undo();
  assert.deepEqual(now(source), { ok: 4 });
});

test("a viewer is told apart by its principal and its scopes, however its door makes it", () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  const scopes = ["a"];
  const mine = { principal: "ana", scopes };
  now(source, mine);
  scopes.push("b");
  now(source, mine);
  mine.principal = "bob";
  now(source, mine);
  now(source, { principal: "bob", scopes: [] });
  assert.deepEqual(
    engine.asked.map(({ to, viewer }) => [to, viewer?.principal, viewer?.scopes]),
    [
      ["counter/ana", "ana", ["a"]],
      ["counter/ana", "ana", ["a", "b"]],
      ["counter/bob", "bob", ["a", "b"]],
      ["counter/bob", "bob", []],
    ],
  );
});
