import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { Clock } from "../../core/contract/index.ts";
import { LineChannel } from "./line-channel.ts";
import { SinkOutlet } from "./outlet.ts";
import { RoundBatch } from "./round-batch.ts";

function channels(count: number, clock: Clock = { now: () => 0, after: () => () => undefined }) {
  const batch = new RoundBatch<LineChannel>(clock, (channel) => channel.flush());
  const writes: string[] = [];
  const made = Array.from(
    { length: count },
    (_, at) =>
      new LineChannel({
        outlet: new SinkOutlet(
          {
            write: (data) => void writes.push(`${at}: ${String(data)}`),
            queued: () => 0,
            afterwards: () => undefined,
            destroy: () => undefined,
          },
          { limits: { queuedBytes: 1_000_000 }, clock, onDrop: () => undefined },
        ),
        batch,
        end: () => undefined,
      }),
  );
  return { made, writes };
}

describe("channels of lines that share a batch", () => {
  it("write at the end of the round, each in one piece and in order", async () => {
    const { made, writes } = channels(2);
    for (const text of ["1", "2"]) for (const channel of made) channel.send(text);
    assert.deepEqual(writes, []);
    await nextRound();
    assert.deepEqual(writes, ["0: 1\n2\n", "1: 1\n2\n"]);
  });

  it("lose nothing where the batch is full in the middle of a send", async () => {
    const { made, writes } = channels(200);
    for (let round = 0; round < 3; round += 1) {
      for (const channel of made) channel.send(String(round));
      await nextRound();
    }
    const expected = made.flatMap((_, at) => [0, 1, 2].map((round) => `${at}: ${round}\n`));
    assert.deepEqual(writes.toSorted(), expected.toSorted());
  });

  it("do not wait for one that has much to say", async () => {
    let now = 0;
    const { made, writes } = channels(2, { now: () => now, after: () => () => undefined });
    made[0]?.send("1");
    for (const text of ["1", "2", "3", "4"]) {
      now += 0.4;
      made[1]?.send(text);
    }
    assert.deepEqual(writes, ["0: 1\n", "1: 1\n2\n3\n"]);
    await nextRound();
    assert.deepEqual(writes.slice(2), ["1: 4\n"]);
  });

  it("write a line for each text, whatever breaks one of them brings along", async () => {
    const { made, writes } = channels(1);
    for (const text of ['{"a":1}', '{\n"a":\r\n2}', '{"a":3}\n', '{"a":4}\r', '{"a":"ä"}']) made[0]?.send(text);
    await nextRound();
    assert.deepEqual(writes, ['0: {"a":1}\n{ "a": 2}\n{"a":3} \n{"a":4} \n{"a":"ä"}\n']);
  });

  it("write what waits before they close, and nothing after", async () => {
    const { made, writes } = channels(1);
    made[0]?.send("1");
    made[0]?.close();
    made[0]?.send("2");
    await nextRound();
    assert.deepEqual(writes, ["0: 1\n"]);
  });
});
