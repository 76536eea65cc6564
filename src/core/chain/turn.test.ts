import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_POLICY, type Behaviour, type Message, type Turn } from "../contract/index.ts";
import { begin, kindFrom, planTurn } from "./internal.ts";
import type { Base, Circumstances } from "./turn.ts";

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

function begun(born: boolean): { readonly base: Base; readonly now: Circumstances } {
  const base = begin(kindFrom(door), "door/a", message, undefined);
  const now = { id: "door/a", seq: 1, born, keyMs: 1_000, answersElsewhere: false, parentKnows: false, whole: false } as const;
  return { base: { ...base, extra: { ...base.extra, pending: { m: {} } } }, now };
}

const sendsOf = (turn: Turn<unknown>): readonly (readonly [string, unknown])[] => {
  const { base, now } = begun(true);
  const plan = planTurn(base, { message, key: undefined, wake: undefined }, turn, now);
  return (plan?.sends ?? []).map(({ to, trace }) => [to, trace]);
};

test("sends, replies and the `ended` message carry the trace of their cause", () => {
  const own = { traceparent: "00-3-4-01" };
  const send = [
    { to: "gong/c", action: "ring", args: null },
    { to: "gong/d", action: "ring", args: null, trace: own },
  ] as const;
  assert.deepEqual(sendsOf({ send, stop: "worn out" }), [
    ["gong/c", message.trace],
    ["gong/d", own],
    ["hand/b", message.trace],
    ["hand/b", message.trace],
  ]);
});

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
let deep: unknown = null;
for (let level = 0; level < 200; level += 1) deep = [deep];

for (const [what, value, reason] of [
  ["undefined", undefined, /reply\.ok is undefined/],
  ["a function inside", { act: () => 1 }, /reply\.ok\.act is a function/],
  ["NaN", [1, Number.NaN], /reply\.ok\[1\] is NaN/],
  ["what contains itself", cyclic, /contains itself/],
  ["what is too deep", deep, /nested deeper/],
  ["a date", new Date(0), /is a Date/],
] as const)
  test(`a reply, record or emitted line that is not JSON is BAD_TURN with a reason: ${what}`, () => {
    const at = { code: "BAD_TURN", name: "TroupeError" };
    const unchecked = (turn: object): Turn<unknown> => turn;
    assert.throws(() => sendsOf(unchecked({ reply: { ok: value } })), { ...at, message: reason });
    assert.throws(() => sendsOf(unchecked({ reply: { refused: { code: "NO", message: "No.", data: { value } } } })), at);
    assert.throws(() => sendsOf(unchecked({ reply: { needs: { value } } })), at);
    assert.throws(() => sendsOf(unchecked({ answer: { m: { ok: value } } })), at);
    assert.throws(() => sendsOf(unchecked({ emit: [1, value] })), { ...at, message: /emit\[1\]/ });
    assert.throws(() => sendsOf(unchecked({ state: 1, record: { value } })), { ...at, message: /record/ });
    assert.throws(() => sendsOf(unchecked({ send: [{ to: "gong/c", action: "ring", args: null, start: { value } }] })), /start/);
  });

test("a reply of another form is BAD_TURN with a reason", () => {
  const at = { code: "BAD_TURN", name: "TroupeError", message: /`ok`, `refused` or `needs`/ };
  class GetterReply {
    readonly value = 5;
    get ok(): number {
      return this.value;
    }
  }
  const inherits: unknown = Object.create({ ok: 5 });
  const refuses = Object.assign(Object(inherits), { refused: { code: "NO", message: "No." } });
  for (const reply of [
    {},
    "later?",
    7,
    [],
    { refused: "no" },
    { refused: { code: "NO" } },
    { needs: 1 },
    new GetterReply(),
    inherits,
    refuses,
  ])
    assert.throws(() => sendsOf(Object({ reply })), at, JSON.stringify(reply));
  assert.deepEqual(sendsOf({ reply: { refused: { code: "NO", message: "No." } } }), []);
  assert.deepEqual(sendsOf({ reply: { needs: {} } }), []);
});

test("a reply is read only once, so the checked value is stored; null is the same as none", () => {
  const { base, now } = begun(false);
  const { replyAs: _, ...withoutReplyAs } = message;
  const job = { message: withoutReplyAs, key: undefined, wake: undefined };
  let reads = 0;
  const moody: Turn<unknown> = {
    state: 1,
    get reply() {
      reads += 1;
      return reads === 1 ? { ok: "first" } : { ok: "another" };
    },
  };
  for (const turn of [moody, { state: 1, reply: null }, { state: 1, reply: null, record: 7 }]) {
    const plan = planTurn(base, job, Object(turn), now);
    assert.deepEqual(plan?.reply, { ok: turn === moody ? "first" : null });
  }
});

test("a settled reply waits for all of 2,000 messages, of which each takes one bit in the row #actors.settled", () => {
  const { base, now } = begun(true);
  const send = Array.from({ length: 2_000 }, (_, n) => ({ to: `gong/${n}`, action: "ring", args: null }) as const);
  const after = send.map((_, n) => `${base.life}.${now.seq}.${n}`);
  const knock = {
    key: undefined,
    wake: undefined,
    message: { id: "m", to: "door/a", action: "knock", args: null, at: 1, seed: message.seed },
  } as const;
  let plan = planTurn(base, knock, { reply: "later", send, settle: { m: { reply: { ok: "rung" }, after } } }, now);
  for (const id of ["another.1.7", ...after.toReversed()]) {
    assert.ok(plan !== undefined && JSON.stringify(plan.extra.pending).length < 1_000);
    assert.deepEqual(plan.answers, []);
    plan = planTurn(
      plan,
      { ...knock, message: { ...knock.message, id } },
      { arrived: { m: id } },
      { ...now, seq: plan.seq + 1, born: false },
    );
  }
  assert.deepEqual([plan?.answers, plan?.extra.pending], [[["m", { ok: "rung" }]], {}]);
});

test("a settled reply that an earlier version stored waits for all ids of its list #actors.settled", () => {
  const { base, now } = begun(true);
  const ids = ["life.1.0", "life.1.2"] as const;
  let from: Base = { ...base, extra: { ...base.extra, pending: { m: { reply: { ok: "rung" }, after: [...ids] } } } };
  const answers = ids.map((id, n) => {
    const arrived = { arrived: { m: id } };
    const plan = planTurn(from, { key: undefined, wake: undefined, message }, arrived, { ...now, seq: now.seq + 1 + n, born: false });
    from = plan ?? from;
    return plan?.answers;
  });
  assert.deepEqual([answers, from.extra.pending], [[[], [["m", { ok: "rung" }]]], {}]);
});
