import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallOptions, Json, Peers } from "../../core/contract/index.ts";
import { Hearing } from "./hearing.ts";

const mine = new Error("mine");
const throws = (): never => {
  throw mine;
};
const rejects = (): unknown => Promise.reject(mine);

for (const [how, bad] of [
  ["throws", throws],
  ["rejects", rejects],
] as const)
  void test(`a caller's listener that ${how} reaches neither the work nor who passes it on, from this node or another`, async () => {
    const faults: unknown[] = [];
    const options: CallOptions = { onProgress: bad, onLog: bad };
    let said: (said: Json) => unknown = () => assert.fail("nobody listens");
    const peers: Pick<Peers, "self" | "on" | "ask" | "tell"> = {
      self: "here",
      on(_topic, run) {
        said = (one) => run(one, "there");
        return () => undefined;
      },
      ask: () => assert.fail("nobody is asked"),
      tell: () => assert.fail("nobody is told"),
    };
    const hearing = new Hearing(
      () => new Set([options]),
      (error) => void faults.push(error),
    );
    hearing.join(peers);
    const { progress, log } = hearing.of("m1", "here");
    progress(1, 2, "half");
    log("info", "said");
    assert.equal(said({ of: "m1", progress: [1, 2, "half"] }), null);
    assert.equal(said({ of: "m1", log: ["info", "said", null] }), null);
    await Promise.resolve();
    assert.deepEqual(faults, [mine, mine, mine, mine]);
  });

void test("what work says is heard at another node as at its own", async () => {
  const sent: Json[] = [];
  const heard: unknown[] = [];
  let said: (said: Json) => unknown = () => assert.fail("nobody listens");
  const hearing = new Hearing(
    () => new Set([{ onProgress: (...step) => void heard.push(step), onLog: (...line) => void heard.push(line) }]),
    () => assert.fail("nothing goes wrong"),
  );
  hearing.join({
    self: "here",
    on(_topic, run) {
      said = (one) => run(one, "there");
      return () => undefined;
    },
    async ask(_node, _topic, one) {
      sent.push(one);
      return null;
    },
    tell: () => assert.fail("one node alone is asked"),
  });
  const { progress, log } = hearing.of("m1", "there");
  progress(1, 2, "half", { half: "done" });
  log("info", { at: "work" }, "mine");
  for (const one of sent) said(one);
  assert.deepEqual(heard, [
    [1, 2, "half", { half: "done" }],
    ["info", { at: "work" }, "mine"],
  ]);
});

void test("what a turn reports to whom it will answer later is heard wherever that waits, and who repeats the call", () => {
  const sent: Json[] = [];
  const heard: unknown[] = [];
  let said: (said: Json) => unknown = () => assert.fail("nobody listens");
  const hearing = new Hearing(
    (of) => new Set(of === "here" ? [{ onProgress: (...step) => void heard.push(step.slice(0, 3)) }] : []),
    () => assert.fail("nothing goes wrong"),
  );
  hearing.join({
    self: "here",
    on(_topic, run) {
      said = (one) => run(one, "there");
      return () => undefined;
    },
    ask: () => assert.fail("all are told"),
    tell: (_topic, one) => void sent.push(one),
  });
  hearing.report("here", { done: 1, total: 2, text: "half" });
  hearing.report("there", { done: 2 });
  assert.deepEqual(heard, [[1, 2, "half"]]);
  assert.deepEqual(sent, [
    { of: "here", progress: [1, 2, "half"] },
    { of: "there", progress: [2, null, null] },
  ]);
  said({ of: "here", progress: [2, null, null] });
  said({ of: "there", progress: [3, null, null] });
  assert.deepEqual(heard.at(-1), [2, undefined, undefined]);
  assert.equal(heard.length, 2);
});
