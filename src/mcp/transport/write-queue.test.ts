import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SimulatedClock } from "../../testing/index.ts";
import { type WriteQueue, type WriteQueueLimits, type Sink, SinkWriteQueue } from "./write-queue.ts";

/** A destination whose client reads when the test wants it to. */
class Slow implements Sink {
  reads = true;
  callbacks = 0;
  destroyed = false;
  #queued = 0;
  #runs: { readonly after: number; readonly run: () => void }[] = [];

  write(data: string): void {
    if (!this.reads) this.#queued += data.length;
  }

  queued(): number {
    return this.#queued;
  }

  afterwards(run: () => void): void {
    this.callbacks += 1;
    this.#runs.push({ after: this.#queued, run });
  }

  destroy(): void {
    this.destroyed = true;
  }

  /** The oldest bytes that wait, up to the first callback. */
  readSome(): void {
    const [first, ...others] = this.#runs;
    assert.ok(first !== undefined);
    this.#queued -= first.after;
    this.#runs = others.map(({ after, run }) => ({ after: after - first.after, run }));
    first.run();
  }
}

const outletOf = (limits: WriteQueueLimits): { queue: WriteQueue; sink: Slow; clock: SimulatedClock; dropped: string[] } => {
  const [sink, clock, dropped]: [Slow, SimulatedClock, string[]] = [new Slow(), new SimulatedClock(), []];
  return { queue: new SinkWriteQueue(sink, { limits, clock, onDrop: (reason) => void dropped.push(reason) }), sink, clock, dropped };
};

describe("C8 a write queue", () => {
  it("needs no callback while everything is written at once", () => {
    const { queue, sink } = outletOf({ queuedBytes: 10 });
    for (let n = 0; n < 3; n += 1) queue.write("12345");
    assert.deepEqual([queue.ready, sink.callbacks], [true, 0]);
  });

  it("is ready again once everything was read, and not before", () => {
    const { queue, sink, dropped } = outletOf({ queuedBytes: 100 });
    let ready = 0;
    queue.onReady(() => (ready += 1));
    sink.reads = false;
    queue.write("first");
    queue.write("second");
    assert.deepEqual([queue.ready, queue.queued], [false, 11]);
    sink.readSome();
    assert.deepEqual([queue.ready, queue.queued, ready], [false, 6, 0]);
    sink.readSome();
    assert.deepEqual([queue.ready, queue.queued, ready], [true, 0, 1]);
    queue.write("third");
    assert.equal(queue.ready, false);
    sink.readSome();
    assert.deepEqual([queue.ready, ready, dropped.length], [true, 2, 0]);
  });

  it("drops a client with too much unread output, and one that does not read for too long", async () => {
    const much = outletOf({ queuedBytes: 10 });
    much.sink.reads = false;
    much.queue.write("12345678901");
    assert.deepEqual(much.dropped, [], "one long message alone is no sign that its client does not read");
    much.queue.write("1");
    assert.deepEqual([much.dropped, much.sink.destroyed, much.queue.ready], [["queue-full"], true, false]);
    const long = outletOf({ queuedBytes: 10, blockedMs: 1_000 });
    long.sink.reads = false;
    long.queue.write("12345");
    await long.clock.advance(999);
    assert.deepEqual(long.dropped, []);
    await long.clock.advance(1);
    assert.deepEqual([long.dropped, long.sink.destroyed], [["blocked"], true]);
  });

  it("leaves a client that reads slowly its time: after each part it took, and for each MiB that waits", async () => {
    const slow = outletOf({ queuedBytes: 100, blockedMs: 1_000 });
    slow.sink.reads = false;
    for (let n = 0; n < 5; n += 1) slow.queue.write("12345");
    for (let n = 0; n < 4; n += 1) {
      await slow.clock.advance(900);
      slow.sink.readSome();
    }
    assert.deepEqual([slow.dropped, slow.queue.queued], [[], 5]);
    await slow.clock.advance(1_000);
    assert.deepEqual(slow.dropped, ["blocked"], "it has stopped reading");
    const long = outletOf({ queuedBytes: 100, blockedMs: 1_000 });
    long.sink.reads = false;
    long.queue.write("x".repeat(2_500_000));
    await long.clock.advance(2_999);
    assert.deepEqual(long.dropped, []);
    await long.clock.advance(1);
    assert.deepEqual(long.dropped, ["blocked"]);
  });

  it("sets no timer after its client has disconnected", async () => {
    const { queue, sink, clock, dropped } = outletOf({ queuedBytes: 100, blockedMs: 1_000 });
    sink.reads = false;
    queue.write("first");
    queue.write("second");
    queue.end();
    sink.readSome();
    await clock.advance(10_000);
    assert.deepEqual(dropped, []);
  });

  it("is destroyed even if the drop listener throws", () => {
    const [sink, clock] = [new Slow(), new SimulatedClock()];
    const onDrop = (): never => {
      throw new Error("the log");
    };
    const queue = new SinkWriteQueue(sink, { limits: { queuedBytes: 10 }, clock, onDrop });
    sink.reads = false;
    queue.write("12345678901");
    assert.throws(() => queue.write("1"), /the log/);
    assert.deepEqual([sink.destroyed, queue.ready, queue.over], [true, false, true]);
  });
});
