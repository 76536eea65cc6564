import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../core/contract/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { Calls, type CallsHost } from "./calls.ts";
import { type FakeIngress, fakeIngress, patiently } from "./fake-ingress.fixture.ts";
import { Ingress } from "./ingress.ts";
import { Names } from "./names.ts";

const STOP: Message = { id: "m", to: "tally/a", action: "stop", args: {}, at: 0, seed: "00".repeat(16) };

/** By default every deferred reply is pending, and any fault fails the test. */
function callsTo(server: FakeIngress, clock: SimulatedClock, given: Partial<CallsHost> = {}): Calls {
  return new Calls({
    names: new Names(),
    ingress: new Ingress({ base: server.base, clock, patienceMs: 10_000 }),
    clock,
    patience: clock,
    node: () => undefined,
    seal: (_, input) => input,
    redactedArgs: ({ args }) => args,
    announce: () => undefined,
    replyState: async () => ({ reply: undefined, pending: true }),
    watch: () => () => undefined,
    callerLeft: () => undefined,
    fault: (error) => assert.fail(String(error)),
    ...given,
  });
}

test("a stop aborts work that has just started, and was not stored when it was first requested", async () => {
  const clock = new SimulatedClock();
  let requests = 0;
  let stopped: () => void = () => undefined;
  await using server = await fakeIngress(({ path, input, response }) => {
    const answer = (value: unknown): void => void response.end(JSON.stringify(value));
    if (path.includes("/stop")) stopped = () => answer({ reply: { ok: null } });
    else if (path.includes("/working")) answer((requests += 1) < 3 ? null : "inv_1");
    else {
      assert.equal(input, "inv_1");
      answer({ invocationId: "inv_2" });
      stopped();
    }
  });
  const calls = callsTo(server, clock);
  assert.deepEqual(await patiently(clock, calls.end(STOP, "enough")), { status: "fulfilled", value: undefined });
  assert.equal(requests, 3);
});

test("C4 a repeated call whose first caller left is made again, as another invocation", async () => {
  const clock = new SimulatedClock();
  await using server = await fakeIngress(({ nth, response }) => {
    response.end(JSON.stringify(nth === 1 ? { later: "first" } : { reply: { ok: "done" } }));
  });
  const cancelled = { refused: { code: "CANCELLED", message: "The caller left.", data: { "troupe/callerLeft": true } } };
  const calls = callsTo(server, clock, {
    replyState: async (_, key) => ({ reply: { key, call: "", reply: cancelled, until: 1, seq: 1, head: "h" }, pending: false }),
  });
  const call: Message = { ...STOP, action: "add" };
  assert.deepEqual(await patiently(clock, calls.call(call, { key: "k" })), { status: "fulfilled", value: { ok: "done" } });
  assert.deepEqual(
    server.requests.map(({ key }) => key),
    ["m", "m.again"],
  );
});

test("only the caller of the first call ends what was forwarded for it, and only if no other caller waits", async () => {
  for (const [later, others, expected] of [
    ["m", 0, ["m"]],
    ["m", 1, []],
    ["first", 0, []],
  ] as const) {
    const clock = new SimulatedClock();
    const left: string[] = [];
    await using server = await fakeIngress(({ response }) => {
      response.end(JSON.stringify({ later }));
    });
    const calls = callsTo(server, clock, { callerLeft: (messageId) => void left.push(messageId) });
    const leaving = new AbortController();
    const call: Message = { ...STOP, action: "add" };
    const waiting = Array.from({ length: others }, () => calls.call(call, { key: "k" }).catch(() => undefined));
    const departure = assert.rejects(calls.call(call, { key: "k", signal: leaving.signal }), { code: "CANCELLED", applied: true });
    await until("all wait for the reply", () => server.requests.length > others && calls.callers(later).size > others);
    leaving.abort();
    await departure;
    assert.deepEqual(left, expected);
    assert.equal(waiting.length, others);
  }
});

test("a receipt listener that throws is reported as such, and the caller gets the reply", async () => {
  const clock = new SimulatedClock();
  await using server = await fakeIngress(({ response }) => {
    response.end(JSON.stringify({ reply: { ok: "done" }, change: { seq: 1, head: "h", status: "live" }, committed: true }));
  });
  const faults: unknown[] = [];
  const calls = callsTo(server, clock, { fault: (...fault) => void faults.push(fault) });
  const thrown = new Error("no room for receipts");
  const onReceipt = (): never => {
    throw thrown;
  };
  assert.deepEqual(await calls.call({ ...STOP, action: "add" }, { onReceipt }), { ok: "done" });
  assert.deepEqual(faults, [[thrown, "receipt", "tally/a"]]);
});

test("a caller of a deferred reply gets the receipt of the event that stored it", async () => {
  const clock = new SimulatedClock();
  await using server = await fakeIngress(({ response }) => {
    response.end(JSON.stringify({ later: "m", change: { seq: 1, head: "h1", status: "live" }, committed: true }));
  });
  const calls = callsTo(server, clock, {
    replyState: async (_, key) => ({ reply: { key, call: "", reply: { ok: "later" }, until: 1, seq: 2, head: "h2" }, pending: false }),
  });
  const receipts: unknown[] = [];
  const onReceipt = (receipt: unknown): void => void receipts.push(receipt);
  assert.deepEqual(await calls.call({ ...STOP, action: "add" }, { onReceipt }), { ok: "later" });
  assert.deepEqual(receipts, [{ actor: "tally/a", seq: 2, head: "h2" }]);
});
