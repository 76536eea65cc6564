import assert from "node:assert/strict";
import * as fc from "fast-check";
import { it, test, describe } from "node:test";
import { textOf } from "../../../test/transport/fake-gateway.ts";
import { type Line, LineSplitter, LineChannel, readLines } from "./lines.ts";
import { PassThrough } from "node:stream";
import { setImmediate as nextRound } from "node:timers/promises";
import { SinkWriteQueue } from "./write-queue.ts";
import { TickBatcher } from "./tick-batcher.ts";
import type { Clock } from "../../core/contract/index.ts";

function split(maxBytes: number, chunks: readonly Uint8Array[]): { lines: string[]; tooLong: number } {
  const seen = { lines: [] as string[], tooLong: 0 };
  const splitter = new LineSplitter(
    () => maxBytes,
    (line) => void seen.lines.push(textOf(line)),
    () => (seen.tooLong += 1),
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.finish();
  return seen;
}

it("lines are the same, however the bytes are split", () => {
  const line = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).map((text) => text.replace(/[\r\n]/g, "x"));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 9 })), fc.boolean(), (lines, cuts, returns) => {
      const bytes = Buffer.from(lines.map((one) => `${one}${returns ? "\r" : ""}\n`).join(""));
      const chunks: Uint8Array[] = [];
      let start = 0;
      for (const cut of [...cuts, bytes.length]) {
        chunks.push(bytes.subarray(start, start + cut));
        start += cut;
      }
      assert.deepEqual(split(1_000, chunks), { lines, tooLong: 0 });
    }),
  );
});

it("empty lines are ignored, and the last line needs no line end", () => {
  assert.deepEqual(split(100, [Buffer.from("\n\r\n\na\n\n"), Buffer.from("b")]), { lines: ["a", "b"], tooLong: 0 });
});

it("a line that is too long is discarded up to its end and reported once", () => {
  assert.deepEqual(split(3, [Buffer.from("abcd\nok\n")]), { lines: ["ok"], tooLong: 1 });
  assert.deepEqual(split(3, [Buffer.from("ab"), Buffer.from("cd"), Buffer.from("efgh"), Buffer.from("i\nok\nabc\n")]), {
    lines: ["ok", "abc"],
    tooLong: 1,
  });
  assert.deepEqual(split(3, [Buffer.from("abcdef")]), { lines: [], tooLong: 1 });
});

it("a line in a million chunks takes linear time", () => {
  const size = 1_000_000;
  const chunks = Array.from({ length: size }, () => Buffer.from("x"));
  const { lines } = split(size, [...chunks, Buffer.from("\n")]);
  assert.equal(lines[0]?.length, size);
});

it("a stopped splitter reports no more lines, not even from the present chunk", () => {
  const lines: string[] = [];
  const splitter = new LineSplitter(
    () => 100,
    (line) => {
      lines.push(textOf(line));
      splitter.stop();
    },
    () => {},
  );
  splitter.push(Buffer.from("a\nb\nc"));
  splitter.finish();
  assert.deepEqual(lines, ["a"]);
});

it("only ASCII lines are texts; other lines are bytes, which may be invalid UTF-8", () => {
  const lines: Line[] = [];
  const splitter = new LineSplitter(
    () => 100,
    (line) => void lines.push(line),
    () => {},
  );
  splitter.push(Buffer.from("a\nb\r\n\r\n"));
  splitter.push(Buffer.from([0xff, 10]));
  assert.deepEqual(lines, ["a", "b", Buffer.from([0xff])]);
});

const clock = { now: () => 0, after: () => () => undefined };
const door = { limits: { queuedBytes: 1e9 }, clock, onDrop: () => undefined };

test("the lines of one event-loop turn are processed in order, and paused if the client reads no answers", async () => {
  const input = new PassThrough();
  let queued = 0;
  const sink = { write: () => undefined, queued: () => queued, afterwards: () => undefined, destroy: () => undefined };
  const channel = new LineChannel({ queue: new SinkWriteQueue(sink, door), end: () => undefined });
  const reads = new TickBatcher<() => void>(clock, (act) => act());
  const lines: string[] = [];
  const stop = readLines({
    input,
    channel,
    clock,
    batch: () => reads,
    lineBytes: () => 100,
    onLine(line) {
      lines.push(String(line));
      // Each answer is long, and is not read.
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

test("the first chunk of an event-loop turn is processed at its end", async () => {
  const input = new PassThrough();
  const sink = { write: () => undefined, queued: () => 0, afterwards: () => undefined, destroy: () => undefined };
  const channel = new LineChannel({ queue: new SinkWriteQueue(sink, door), end: () => undefined });
  const reads = new TickBatcher<() => void>(clock, (act) => act());
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

function channels(count: number, time: Clock = { now: () => 0, after: () => () => undefined }) {
  const batch = new TickBatcher<LineChannel>(time, (channel) => channel.flush());
  const writes: string[] = [];
  const made = Array.from(
    { length: count },
    (_, at) =>
      new LineChannel({
        queue: new SinkWriteQueue(
          {
            write: (data) => void writes.push(`${at}: ${String(data)}`),
            queued: () => 0,
            afterwards: () => undefined,
            destroy: () => undefined,
          },
          { limits: { queuedBytes: 1_000_000 }, clock: time, onDrop: () => undefined },
        ),
        batch,
        end: () => undefined,
      }),
  );
  return { made, writes };
}

describe("line channels that share a batch", () => {
  it("write at the end of the turn, each once and in order", async () => {
    const { made, writes } = channels(2);
    for (const text of ["1", "2"]) for (const channel of made) channel.send(text);
    assert.deepEqual(writes, []);
    await nextRound();
    assert.deepEqual(writes, ["0: 1\n2\n", "1: 1\n2\n"]);
  });

  it("lose nothing if the batch is full during a send", async () => {
    const { made, writes } = channels(200);
    for (let round = 0; round < 3; round += 1) {
      for (const channel of made) channel.send(String(round));
      await nextRound();
    }
    const expected = made.flatMap((_, at) => [0, 1, 2].map((round) => `${at}: ${round}\n`));
    assert.deepEqual(writes.toSorted(), expected.toSorted());
  });

  it("do not wait for one with much output", async () => {
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

  it("write one line per text, whatever line breaks it contains", async () => {
    const { made, writes } = channels(1);
    for (const text of ['{"a":1}', '{\n"a":\r\n2}', '{"a":3}\n', '{"a":4}\r', '{"a":"ä"}']) made[0]?.send(text);
    await nextRound();
    assert.deepEqual(writes, ['0: {"a":1}\n{ "a": 2}\n{"a":3} \n{"a":4} \n{"a":"ä"}\n']);
  });

  it("write their batch before they close, and nothing after", async () => {
    const { made, writes } = channels(1);
    made[0]?.send("1");
    made[0]?.close();
    made[0]?.send("2");
    await nextRound();
    assert.deepEqual(writes, ["0: 1\n"]);
  });
});
