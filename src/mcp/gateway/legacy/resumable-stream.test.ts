import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { StreamStore } from "../../../core/contract/index.ts";
import { channelDouble, sessionsDouble, streamsDouble, world } from "../kit.fixture.ts";
import { settle } from "../options.ts";
import { ResumableStream } from "./resumable-stream.ts";

const open = (streams: StreamStore) => {
  const settings = settle({ source: world().source, info: { name: "t", version: "1" }, sessions: sessionsDouble(), streams });
  const channel = channelDouble();
  return { channel, stream: new ResumableStream({ settings, session: "s", name: "a", primed: false }, channel) };
};
const textsOf = (channel: ReturnType<typeof channelDouble>): readonly unknown[] => channel.events.map(({ text }) => JSON.parse(text));

test("a client that comes back just as the reply ends gets it, and the end of its stream", async () => {
  const streams = streamsDouble();
  const { channel, stream } = open(streams);
  stream.send(1);
  await turnOfLoop();
  const last = channel.events[0]?.id ?? "";
  const again = channelDouble();
  const finished = stream.finish(2);
  const missed = async (): Promise<void> => {
    for (const { id, message } of (await streams.after("s", last))?.messages ?? []) again.send(JSON.stringify(message), id);
  };
  await stream.resume(again, missed);
  await finished;
  assert.deepEqual(textsOf(again), [2]);
  assert.equal(again.ended, true);
});

test("a replay that fails is told to whoever asked for it; what comes after is kept and sent", async () => {
  const { stream } = open(streamsDouble());
  const failed = new Error("the disk");
  await assert.rejects(
    stream.resume(channelDouble(), () => Promise.reject(failed)),
    failed,
  );
  stream.send("on");
  await turnOfLoop();
  const again = channelDouble();
  await stream.resume(again, () => Promise.resolve());
  stream.send("and on");
  await stream.finish("the end");
  assert.deepEqual(textsOf(again), ["and on", "the end"]);
  assert.equal(again.ended, true);
});

test("C8 an event beside a long message takes none of its room, and each is bounded by itself", async () => {
  const { channel, stream } = open(streamsDouble());
  const long = "x".repeat(70_000);
  stream.event("progress", long);
  assert.equal(stream.ready, true, "the message that says the same is told too");
  stream.send(long);
  assert.equal(stream.ready, false);
  stream.event("progress", long);
  await turnOfLoop();
  assert.deepEqual(
    channel.events.map(({ text, event }) => [event, text.length]),
    [
      ["progress", long.length],
      [undefined, long.length + 2],
    ],
  );
});
