import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallOptions, Json, Peers, PeerListener } from "../../core/contract/index.ts";
import { ProgressRelay, LeftCallers } from "./caller-relay.ts";

const mine = new Error("mine");
const throws = (): never => {
  throw mine;
};
const rejects = (): unknown => Promise.reject(mine);

for (const [how, bad] of [
  ["throws", throws],
  ["rejects", rejects],
] as const)
  void test(`a caller's listener that ${how} affects neither the work nor other listeners, at this node or another`, async () => {
    const faults: unknown[] = [];
    const options: CallOptions = { onProgress: bad, onLog: bad };
    let received: (received: Json) => unknown = () => assert.fail("there is no listener");
    const peers: Pick<Peers, "self" | "on" | "ask" | "tell"> = {
      self: "here",
      on(_topic, run) {
        received = (one) => run(one, "there");
        return () => undefined;
      },
      ask: () => assert.fail("no node gets an ask"),
      tell: () => assert.fail("no node gets a message"),
    };
    const hearing = new ProgressRelay(
      () => new Set([options]),
      (error) => void faults.push(error),
    );
    hearing.join(peers);
    const { progress, log } = hearing.reportersFor("m1", "here");
    progress(1, 2, "half");
    log("info", "line");
    assert.equal(received({ of: "m1", progress: [1, 2, "half"] }), null);
    assert.equal(received({ of: "m1", log: ["info", "line", null] }), null);
    await Promise.resolve();
    assert.deepEqual(faults, [mine, mine, mine, mine]);
  });

void test("progress of work arrives at another node as at its own", async () => {
  const sent: Json[] = [];
  const heard: unknown[] = [];
  let received: (received: Json) => unknown = () => assert.fail("there is no listener");
  const hearing = new ProgressRelay(
    () => new Set([{ onProgress: (...step) => void heard.push(step), onLog: (...line) => void heard.push(line) }]),
    () => assert.fail("nothing goes wrong"),
  );
  hearing.join({
    self: "here",
    on(_topic, run) {
      received = (one) => run(one, "there");
      return () => undefined;
    },
    async ask(_node, _topic, one) {
      sent.push(one);
      return null;
    },
    tell: () => assert.fail("only one node gets it"),
  });
  const { progress, log } = hearing.reportersFor("m1", "there");
  progress(1, 2, "half", { half: "done" });
  log("info", { at: "work" }, "mine");
  for (const one of sent) received(one);
  assert.deepEqual(heard, [
    [1, 2, "half", { half: "done" }],
    ["info", { at: "work" }, "mine"],
  ]);
});

void test("a turn's report for a deferred reply arrives wherever its callers wait, also those that repeat the call", () => {
  const sent: Json[] = [];
  const heard: unknown[] = [];
  let received: (received: Json) => unknown = () => assert.fail("there is no listener");
  const hearing = new ProgressRelay(
    (of) => new Set(of === "here" ? [{ onProgress: (...step) => void heard.push(step.slice(0, 3)) }] : []),
    () => assert.fail("nothing goes wrong"),
  );
  hearing.join({
    self: "here",
    on(_topic, run) {
      received = (one) => run(one, "there");
      return () => undefined;
    },
    ask: () => assert.fail("all get it"),
    tell: (_topic, one) => void sent.push(one),
  });
  hearing.report("here", { done: 1, total: 2, text: "half" });
  hearing.report("there", { done: 2 });
  assert.deepEqual(heard, [[1, 2, "half"]]);
  assert.deepEqual(sent, [
    { of: "here", progress: [1, 2, "half"] },
    { of: "there", progress: [2, null, null] },
  ]);
  received({ of: "here", progress: [2, null, null] });
  received({ of: "there", progress: [3, null, null] });
  assert.deepEqual(heard.at(-1), [2, undefined, undefined]);
  assert.equal(heard.length, 2);
});

/** Two nodes that notify each other. */
function nodes(): readonly [LeftCallers, LeftCallers] {
  const listeners: PeerListener[] = [];
  const join = (own: LeftCallers, index: number): void =>
    own.join({
      on: (_, listen) => {
        listeners[index] = listen;
        return () => undefined;
      },
      tell: (_, message) => listeners.forEach((listen, at) => at !== index && void listen(message, "node")),
    });
  const [one, other] = [new LeftCallers(), new LeftCallers()];
  join(one, 0);
  join(other, 1);
  return [one, other];
}

test("a caller that leaves at one node aborts the work that another node does for it, and no other work", () => {
  const [here, there] = nodes();
  const aborted: string[] = [];
  there.work("a", () => aborted.push("a there"));
  here.work("a", () => aborted.push("a here"));
  there.work("b", () => aborted.push("b"));
  there.work("a", () => aborted.push("over"))();
  here.leave("a");
  assert.deepEqual(aborted, ["a there", "a here"]);
});

test("work that begins after its caller has left is aborted at once, and the oldest callers are forgotten", () => {
  const [here, there] = nodes();
  const aborted: string[] = [];
  for (let index = 0; index <= 10_000; index += 1) here.leave(`call ${index}`);
  for (const index of [0, 1, 10_000]) there.work(`call ${index}`, () => aborted.push(`call ${index}`));
  assert.deepEqual(aborted, ["call 1", "call 10000"]);
});
