import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { TickBatcher } from "./tick-batcher.ts";

function batch() {
  const time = { now: 1_000 };
  const left: number[] = [];
  const clock = { now: () => time.now, after: () => () => undefined };
  return { time, left, answers: new TickBatcher<number>(clock, (answer) => void left.push(answer)) };
}

describe("the items of one event-loop turn", () => {
  it("are processed together at its end, in order", async () => {
    const { left, answers } = batch();
    for (const answer of [1, 2, 3]) answers.add(answer);
    await Promise.resolve();
    assert.deepEqual(left, []);
    await nextRound();
    assert.deepEqual(left, [1, 2, 3]);
    answers.add(4);
    await nextRound();
    assert.deepEqual(left, [1, 2, 3, 4]);
  });

  it("do not wait if there are very many", () => {
    const { left, answers } = batch();
    for (let answer = 1; answer <= 200; answer += 1) answers.add(answer);
    assert.equal(left.length, 192);
  });

  it("do not wait for a long turn after them", async () => {
    const { time, left, answers } = batch();
    answers.add(1);
    time.now += 5;
    answers.add(2);
    assert.deepEqual(left, [1, 2]);
    answers.add(3);
    assert.deepEqual(left, [1, 2]);
    await nextRound();
    assert.deepEqual(left, [1, 2, 3]);
  });

  it("are processed even if an earlier one throws", async () => {
    const left: number[] = [];
    const answers = new TickBatcher<number>({ now: () => 0, after: () => () => undefined }, (answer) => {
      if (answer % 2 === 0) throw new Error(`not ${answer}`);
      left.push(answer);
    });
    for (const answer of [1, 2, 3, 5]) answers.add(answer);
    assert.throws(() => answers.flush(), /not 2/);
    answers.add(7);
    await nextRound();
    assert.deepEqual(left, [1, 3, 5, 7]);
  });

  it("that are added during a flush are not lost", async () => {
    const left: number[] = [];
    const answers: TickBatcher<number> = new TickBatcher({ now: () => 0, after: () => () => undefined }, (answer) => {
      left.push(answer);
      if (answer < 3) answers.add(answer + 1);
    });
    answers.add(1);
    for (let round = 0; round < 4; round += 1) await nextRound();
    assert.deepEqual(left, [1, 2, 3]);
  });

  it("are followed at once by their results", async () => {
    const done: (number | "after")[] = [];
    const clock = { now: () => 0, after: () => () => undefined };
    const requests = new TickBatcher<number>(
      clock,
      (request) => void done.push(request),
      () => void done.push("after"),
    );
    requests.add(1);
    requests.add(2);
    await nextRound();
    assert.deepEqual(done, [1, 2, "after"]);
    requests.add(3);
    requests.flush();
    await nextRound();
    assert.deepEqual(done, [1, 2, "after", 3, "after"]);
  });
});
