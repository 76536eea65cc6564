import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CooperativeScheduler } from "./time-slices.ts";

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("slices of work", () => {
  test("run a slice in each round of the event loop, first come first served, and others come in between", async () => {
    const slices = new CooperativeScheduler(3);
    const ran: string[] = [];
    for (let n = 0; n < 7; n += 1) slices.add({ run: () => void ran.push(String(n)) });
    assert.equal(ran.join(), "");
    for (let rounds = 0; rounds < 4; rounds += 1) {
      await round();
      ran.push("other");
    }
    assert.equal(ran.join(), "0,1,2,other,3,4,5,other,6,other,other");
  });

  test("take what is added by one of them after all that were there, in a later round", async () => {
    const slices = new CooperativeScheduler(2);
    const ran: string[] = [];
    const again = { run: () => void ran.push("again") };
    slices.add({
      run() {
        ran.push("a");
        slices.add(again);
      },
    });
    for (const name of ["b", "c"]) slices.add({ run: () => void ran.push(name) });
    await round();
    assert.deepEqual(ran, ["a", "b"]);
    for (let rounds = 0; rounds < 3; rounds += 1) await round();
    assert.deepEqual(ran, ["a", "b", "c", "again"]);
    slices.add({ run: () => void ran.push("later") });
    await round();
    assert.equal(ran.at(-1), "later");
  });
});
