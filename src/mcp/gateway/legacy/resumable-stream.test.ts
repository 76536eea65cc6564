import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { type StreamStore, Cancellation } from "../../../core/contract/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import { channelDouble, sessionsDouble, streamsDouble, world, exchangeOf, gatewayOf, until } from "../kit.fixture.ts";
import { settle } from "../options.ts";
import { ResumableStream, SentEvents } from "./resumable-stream.ts";

const open = (streams: StreamStore) => {
  const settings = settle({ source: world().source, info: { name: "t", version: "1" }, sessions: sessionsDouble(), streams });
  const channel = channelDouble();
  return { channel, stream: new ResumableStream({ settings, session: "s", name: "a", primed: false }, channel) };
};
const textsOf = (channel: ReturnType<typeof channelDouble>): readonly unknown[] => channel.events.map(({ text }) => JSON.parse(text));

test("a client that returns just as the reply ends gets it and the end of its stream", async () => {
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

test("a replay that fails rejects for its caller, and later messages are sent", async () => {
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

test("C8 events and stored messages are bounded separately", async () => {
  const { channel, stream } = open(streamsDouble());
  const long = "x".repeat(70_000);
  stream.event("progress", long);
  assert.equal(stream.ready, true, "the equivalent message is still sent");
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

const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };

function dropping() {
  const dropped: string[] = [];
  return { dropped, ...streamsDouble(), drop: async (_session: string, stream: string) => void dropped.push(stream) };
}

test("a reply read to its end is dropped after two minutes, unless its client had left", async () => {
  const clock = new SimulatedClock();
  const streams = dropping();
  await using gateway = gatewayOf(world().source, { clock, streams });
  const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-11-25" } };
  const begun = await gateway.exchange(exchangeOf("POST", ACCEPT, initialize).exchange);
  const headers = { ...ACCEPT, "mcp-session-id": begun.headers?.["mcp-session-id"] ?? "" };
  const call = (id: number) => exchangeOf("POST", headers, { jsonrpc: "2.0", id, method: "tools/call", params: { name: "slow" } });
  const [read, left] = [call(1), call(2)];
  const answers = [read, left].map(async ({ exchange }) => gateway.exchange(exchange));
  await until(() => left.channel.events.length > 0);
  left.leave();
  await Promise.all(answers);
  assert.equal(read.channel.ended, true);
  await clock.advance(119_000);
  assert.deepEqual(streams.dropped, []);
  await clock.advance(2_000);
  const name = read.channel.events[0]?.id;
  assert.equal(streams.dropped.length, 1);
  assert.equal((await streams.after(headers["mcp-session-id"], name ?? ""))?.stream, streams.dropped[0]);
  const again = exchangeOf("GET", { ...headers, "last-event-id": left.channel.events[0]?.id ?? "" });
  await gateway.exchange(again.exchange);
  assert.equal(again.channel.messages.at(-1)?.["id"], 2);
  await clock.advance(121_000);
  assert.equal(streams.dropped.length, 2, "now that one was read too");
});

test("replies waiting to be dropped are bounded", async () => {
  const clock = new SimulatedClock();
  const streams = dropping();
  const settings = settle({ source: world().source, info: { name: "t", version: "1" }, sessions: sessionsDouble(), streams, clock });
  const delivered = new SentEvents(settings);
  const [stays, lost] = [new Cancellation(), new Cancellation()];
  delivered.add("s", "lost", lost);
  for (let n = 0; n < 10_001; n += 1) delivered.add("s", `${n}`, stays);
  assert.equal(streams.dropped.length, 2);
  lost.abort();
  delivered.close();
  const later = new SentEvents(settings);
  later.add("s", "unread", lost);
  later.add("s", "one more", stays);
  await clock.advance(120_000);
  assert.deepEqual(streams.dropped.slice(2), ["one more"]);
});
