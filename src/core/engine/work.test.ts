import assert from "node:assert/strict";
import { test } from "node:test";
import { type ActorId, type Behaviour, DEFAULT_POLICY } from "../contract/index.ts";
import { until } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";
import { WaitForGraph } from "./work.ts";

const cycle = { name: "EngineError", code: "CYCLE" };

test("a wait that closes a cycle of any length is refused, and may be retried once the cycle is open", () => {
  const waits = new WaitForGraph();
  assert.throws(() => waits.begin("k/a", "k/a"), cycle);
  const undo = waits.begin("k/a", "k/b");
  waits.begin("k/b", "k/c");
  assert.throws(() => waits.begin("k/c", "k/a"), cycle);
  assert.throws(() => waits.begin("k/b", "k/a"), cycle);
  undo();
  waits.begin("k/c", "k/a");
});

test("two waits for the same actor are counted: ending one leaves the other", () => {
  const waits = new WaitForGraph();
  const one = waits.begin("k/a", "k/b");
  const other = waits.begin("k/a", "k/b");
  one();
  assert.throws(() => waits.begin("k/b", "k/a"), cycle);
  other();
  waits.begin("k/b", "k/a");
});

const LENGTH = 5_000;

test("a chain of nested calls may be deeper than the stack: cancelling the first ends all", async () => {
  let [deepest, aborted] = [0, 0];
  const link: Behaviour<null> = {
    kind: "link",
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: "memory" },
    initial: () => null,
    receive:
      (_, { to }) =>
      async (context) => {
        context.signal.addEventListener("abort", () => (aborted += 1), { once: true });
        await Promise.resolve();
        deepest = Number(to.slice(5));
        const next: ActorId = `link/${deepest + 1}`;
        if (deepest < LENGTH) await context.call({ to: next, action: "wait", args: null, start: null });
        else await new Promise(() => undefined);
        return {};
      },
  };
  await using engine = await LocalEngine.start({ kinds: [link] });
  const leaves = new AbortController();
  const outcome = engine.call({ to: "link/1", action: "wait", args: null, start: null }, { signal: leaves.signal });
  await until("the last waits", () => deepest === LENGTH);
  leaves.abort();
  await assert.rejects(outcome, { code: "CANCELLED" });
  await until("all have heard", () => aborted === LENGTH);
});
