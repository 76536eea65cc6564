import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallOptions, Json, Peers } from "../contract/index.ts";
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
    const peers: Pick<Peers, "self" | "on" | "ask"> = {
      self: "here",
      on(_topic, run) {
        said = (one) => run(one, "there");
        return () => undefined;
      },
      ask: () => assert.fail("nobody is asked"),
    };
    const hearing = new Hearing(
      () => options,
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
    () => ({ onProgress: (...step) => void heard.push(step), onLog: (...line) => void heard.push(line) }),
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
