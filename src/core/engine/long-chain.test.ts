import assert from "node:assert/strict";
import { test } from "node:test";
import { type ActorId, type Behaviour, DEFAULT_POLICY } from "../contract/index.ts";
import { until } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

const LENGTH = 5_000;

test("a chain of calls that wait for each other may be longer than the stack: who leaves at its head ends it", async () => {
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
  const asked = engine.call({ to: "link/1", action: "wait", args: null, start: null }, { signal: leaves.signal });
  await until("the last waits", () => deepest === LENGTH);
  leaves.abort();
  await assert.rejects(asked, { code: "CANCELLED" });
  await until("all have heard", () => aborted === LENGTH);
});
