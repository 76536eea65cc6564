import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_POLICY, type Behaviour, type Message, type Turn } from "../contract/index.ts";
import { begin, kindFrom, planTurn } from "./index.ts";

const door: Behaviour<null> = { kind: "door", version: 1, policy: DEFAULT_POLICY, initial: () => null, receive: () => ({}) };

const message: Message = {
  id: "m",
  to: "door/a",
  action: "knock",
  args: null,
  at: 1,
  seed: "00".repeat(16),
  start: null,
  from: "hand/b",
  replyAs: "knocked",
  trace: { traceparent: "00-1-2-01" },
};

const sendsOf = (turn: Turn<unknown>): readonly (readonly [string, unknown])[] => {
  const base = begin(kindFrom(door), "door/a", message, undefined);
  const now = { id: "door/a", seq: 1, born: true, keyMs: 1_000, answersElsewhere: false, parentKnows: false } as const;
  const plan = planTurn(base, { message, key: undefined, wake: undefined }, turn, now);
  return (plan?.sends ?? []).map(({ to, trace }) => [to, trace]);
};

test("all that follows from a message carries its trace, its reply and the word of its end included, unless a send has one of its own", () => {
  const own = { traceparent: "00-3-4-01" };
  const send = [
    { to: "bell/c", action: "ring", args: null },
    { to: "bell/d", action: "ring", args: null, trace: own },
  ] as const;
  assert.deepEqual(sendsOf({ send, stop: "worn out" }), [
    ["bell/c", message.trace],
    ["bell/d", own],
    ["hand/b", message.trace],
    ["hand/b", message.trace],
  ]);
});
