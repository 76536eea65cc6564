import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../testing/index.ts";
import { type Behaviour, DEFAULT_POLICY, type Handled } from "../contract/index.ts";
import { LocalEngine } from "./index.ts";

/** Works as long as its message says. */
const worker = (clock: SimulatedClock): Behaviour<null> => ({
  kind: "worker",
  version: 1,
  policy: { ...DEFAULT_POLICY, persistence: "memory" },
  initial: () => null,
  receive: (_, { action, args }) => {
    if (action === "throw") throw new Error("It broke.");
    if (action !== "work") return { state: null };
    return () => new Promise((resolve) => clock.after(Number(args), () => resolve({ state: null })));
  },
});

test("a caller that listens learns how long its call waited in the mailbox, and ran", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [worker(clock)], clock });
  const handled = new Map<string, Handled>();
  const call = (name: string, action: string, args: number): Promise<unknown> =>
    engine.call({ to: "worker/main", action, args, start: null }, { onHandled: (one) => void handled.set(name, one) });
  await call("begin", "note", 0);
  const first = call("slow", "work", 1_500);
  const second = call("behind", "note", 0);
  const third = call("broken", "throw", 0).catch((error: unknown) => error);
  await clock.advance(1_500);
  await Promise.all([first, second, third]);
  const actor = "worker/main";
  assert.deepEqual(Object.fromEntries(handled), {
    begin: { actor, waitedMs: 0, ranMs: 0 },
    slow: { actor, waitedMs: 0, ranMs: 1_500 },
    behind: { actor, waitedMs: 1_500, ranMs: 0 },
    broken: { actor, waitedMs: 1_500, ranMs: 0 },
  });
});

test("a listener that throws changes no reply", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [worker(clock)], clock });
  const onHandled = (): never => {
    throw new Error("The listener broke.");
  };
  assert.deepEqual(await engine.call({ to: "worker/main", action: "note", args: null, start: null }, { onHandled }), { ok: null });
});
