import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancellation } from "../../../core/contract/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import { exchangeOf, gatewayOf, sessionsDouble, streamsDouble, until, world } from "../kit.fixture.ts";
import { settle } from "../options.ts";
import { SentEvents } from "./resumable-stream.ts";

const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };

function dropping() {
  const dropped: string[] = [];
  return { dropped, ...streamsDouble(), drop: async (_session: string, stream: string) => void dropped.push(stream) };
}

test("a reply that was read to its end is let go two minutes later, one whose client had left is kept", async () => {
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

test("what waits to be let go is bounded, and a client that is lost before the end of its reply may still come for it", async () => {
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
