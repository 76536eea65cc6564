import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { LineChannel } from "./line-channel.ts";
import { readLines } from "./line-reader.ts";
import { SinkOutlet } from "./outlet.ts";
import { RoundBatch } from "./round-batch.ts";

const clock = { now: () => 0, after: () => () => undefined };
const door = { limits: { queuedBytes: 1e9 }, clock, onDrop: () => undefined };

test("what one connection sends in one round is acted on in its order, and held back once it reads no answers", async () => {
  const input = new PassThrough();
  let queued = 0;
  const sink = { write: () => undefined, queued: () => queued, afterwards: () => undefined, destroy: () => undefined };
  const channel = new LineChannel({ outlet: new SinkOutlet(sink, door), end: () => undefined });
  const reads = new RoundBatch<() => void>(clock, (act) => act());
  const lines: string[] = [];
  const stop = readLines({
    input,
    channel,
    clock,
    batch: () => reads,
    lineBytes: () => 100,
    onLine(line) {
      lines.push(String(line));
      // Each answer is long, and nobody reads it.
      queued += 200_000;
    },
    onTooLong: () => undefined,
    onEnd: () => undefined,
  });
  const read = (n: number): boolean => input.emit("data", Buffer.from(`${n}\n`));
  read(1);
  assert.deepEqual([lines, input.isPaused()], [[], false], "the first of a round waits for those of other connections");
  read(2);
  assert.deepEqual([lines, input.isPaused()], [["1", "2"], true], "the next is acted on at once, so that the third is not read");
  await nextRound();
  assert.deepEqual(lines, ["1", "2"]);
  stop();
});

test("a first chunk of a round is acted on at its end", async () => {
  const input = new PassThrough();
  const sink = { write: () => undefined, queued: () => 0, afterwards: () => undefined, destroy: () => undefined };
  const channel = new LineChannel({ outlet: new SinkOutlet(sink, door), end: () => undefined });
  const reads = new RoundBatch<() => void>(clock, (act) => act());
  const lines: string[] = [];
  readLines({
    input,
    channel,
    clock,
    batch: () => reads,
    lineBytes: () => 100,
    onLine: (line) => void lines.push(String(line)),
    onTooLong: () => undefined,
    onEnd: () => undefined,
  });
  for (const round of [1, 2]) {
    input.emit("data", Buffer.from(`${round}\n`));
    assert.equal(lines.length, round - 1);
    await nextRound();
    assert.equal(lines.length, round);
  }
});
