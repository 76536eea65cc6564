import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancellation, type CancelSignal } from "../../core/contract/index.ts";
import { settle, SimulatedClock } from "../../testing/index.ts";
import type { StoredReply } from "./stored-actor.ts";
import { WaitingCallers, type ReplyState } from "./waiting-callers.ts";

const TO = "tally/main";
const REPLY: StoredReply = { key: "later one", call: "", reply: { ok: 7 }, until: 1_000, seq: 3, head: "head" };
const PENDING: ReplyState = { reply: undefined, pending: true };

/** An actor with a pending reply. */
function stage() {
  const clock = new SimulatedClock();
  const patience = new SimulatedClock();
  const requests: string[] = [];
  const listeners = new Set<() => void>();
  const left: string[] = [];
  let due: () => Promise<ReplyState> = async () => PENDING;
  const waitingCallers = new WaitingCallers({
    clock,
    patience,
    replyState(_, key) {
      requests.push(key);
      return due();
    },
    watch(_, listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  return {
    clock,
    patience,
    waitingCallers,
    requests,
    left,
    changed: () => [...listeners].forEach((listener) => listener()),
    owes: (now: ReplyState | (() => Promise<ReplyState>)) => void (due = typeof now === "function" ? now : async () => now),
    wait: ({ signal, deadline }: { readonly signal?: CancelSignal; readonly deadline?: number } = {}) =>
      waitingCallers.wait(TO, "one", { deadline, signal, onLeft: () => left.push("one") }),
    nothingLeft: () => assert.deepEqual([listeners.size, clock.pending, patience.pending], [0, 0, 0]),
  };
}

void test("a reply that is there already is returned at once", async () => {
  const { wait, owes, requests, nothingLeft } = stage();
  owes({ reply: REPLY, pending: false });
  assert.deepEqual(await wait(), REPLY);
  assert.deepEqual(requests, ["later one"]);
  nothingLeft();
});

void test("a later reply is requested when its actor changes, and now and then without a notification", async () => {
  for (const heard of [true, false]) {
    const { wait, owes, requests, changed, patience, nothingLeft } = stage();
    const waiting = wait();
    await settle();
    changed();
    await settle();
    assert.equal(requests.length, 2, "a change that answers another is no answer");
    owes({ reply: REPLY, pending: false });
    if (heard) changed();
    else await patience.advance(5_000);
    assert.deepEqual(await waiting, REPLY);
    nothingLeft();
  }
});

void test("a change during a request causes another request", async () => {
  const { wait, owes, changed, requests } = stage();
  const slow = Promise.withResolvers<ReplyState>();
  owes(() => slow.promise);
  const waiting = wait();
  await settle();
  changed();
  owes({ reply: REPLY, pending: false });
  slow.resolve(PENDING);
  assert.deepEqual(await waiting, REPLY);
  assert.equal(requests.length, 2);
});

void test("a caller that leaves, times out, or whose node leaves learns that the call was applied, and nothing remains", async () => {
  for (const asking of [false, true]) {
    const how = {
      CANCELLED: stage(),
      DEADLINE: stage(),
      DRAINING: stage(),
    };
    const signal = new Cancellation();
    const ends = [
      [how.CANCELLED, how.CANCELLED.wait({ signal }), () => signal.abort(), "CANCELLED"],
      [how.DEADLINE, how.DEADLINE.wait({ deadline: how.DEADLINE.clock.now() + 50 }), () => how.DEADLINE.clock.advance(50), "DEADLINE"],
      [how.DRAINING, how.DRAINING.wait(), () => how.DRAINING.waitingCallers.close(), "DRAINING"],
    ] as const;
    for (const [at, waiting, end, code] of ends) {
      if (asking) at.owes(() => new Promise(() => undefined));
      await settle();
      if (asking) at.changed();
      await settle();
      const refused = assert.rejects(waiting, { name: "EngineError", code, applied: true });
      await end();
      await refused;
      at.nothingLeft();
    }
    assert.deepEqual([how.CANCELLED.left, how.DEADLINE.left, how.DRAINING.left], [["one"], [], []]);
  }
  const { wait, requests, nothingLeft } = stage();
  const aborted = new Cancellation();
  aborted.abort();
  await assert.rejects(wait({ signal: aborted }), { code: "CANCELLED", applied: true });
  assert.ok(requests.length <= 1);
  nothingLeft();
});

void test("an actor without a pending or stored reply: read the actor for the outcome", async () => {
  const { wait, owes, nothingLeft } = stage();
  owes({ reply: undefined, pending: false });
  await assert.rejects(wait(), { code: "OUTCOME_UNKNOWN", applied: true });
  nothingLeft();
});

void test("network errors are passed on", async () => {
  const { wait, owes, nothingLeft } = stage();
  owes(() => Promise.reject(new Error("The server is away.")));
  await assert.rejects(wait(), /away/);
  nothingLeft();
});
