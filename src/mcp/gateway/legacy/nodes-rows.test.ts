import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, Json } from "../../../core/contract/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import { gatewayOf, quiet, type ReadChannel, sessionsDouble, until, world } from "../kit.fixture.ts";
import { ann, begin, bob, call, cluster, network, request, sharedSessions } from "./cluster.fixture.ts";

// Changes of a session at one node, as seen by the others.
const DOOR = { uri: "door://state" };
const subscribe = request("resources/subscribe", DOOR);
const unsubscribe = request("resources/unsubscribe", DOOR);
const setLevel = (level: string): JsonObject => request("logging/setLevel", { level });
const truth = async (answer: Promise<Json | undefined>): Promise<boolean | undefined> => {
  const reply = await answer;
  return reply === undefined || typeof reply === "boolean" ? reply : true;
};
const updates = (channel: ReadChannel): number =>
  channel.messages.filter((message) => message["method"] === "notifications/resources/updated").length;

describe("a session that several nodes serve", () => {
  test("is notified of subscriptions made at another node until it unsubscribes at a third #cluster.clients.rows", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    const { sent } = await client.get(0);
    assert.equal((await client.post(1, subscribe)).status, 200);
    // It may have changed unwatched since the client subscribed.
    await until(() => updates(sent.channel) === 1);
    nodes.world.set(true);
    await until(() => updates(sent.channel) === 2);
    await client.post(2, unsubscribe);
    await quiet();
    nodes.world.set(false);
    await until(() => sent.channel.messages.length > 4);
    await quiet();
    assert.equal(updates(sent.channel), 2);
  });

  test("uses the log level that was set at another node #cluster.clients.rows", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    await client.post(0, call("look"));
    await client.post(1, setLevel("error"));
    await quiet();
    const slow = client.sent(0, call("slow"));
    await slow.answer;
    assert.equal(slow.sent.opened(), false);
  });

  test("keeps the concurrent changes of two nodes #cluster.clients.rows", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    const levels = ["debug", "error", "info", "warning"];
    for (const level of levels) {
      await Promise.all([client.post(0, subscribe), client.post(1, setLevel(level)), client.get(2, "e0")]);
      const row = nodes.sessions.rows.get(client.id);
      assert.deepEqual([row?.subscriptions, row?.logLevel, row?.listener], [[DOOR.uri], level, "c".repeat(16)]);
      await Promise.all([client.post(1, unsubscribe), client.post(0, setLevel("notice"))]);
      assert.deepEqual(nodes.sessions.rows.get(client.id)?.subscriptions, []);
    }
  });

  test("keeps successive changes of nodes in a store without atomic changes", async () => {
    await using nodes = cluster(2, { sessions: sessionsDouble() });
    const client = await begin(nodes, 0);
    // Concurrent changes at one node are applied one after the other, too.
    await Promise.all([client.post(0, subscribe), client.post(0, setLevel("error"))]);
    await client.post(1, setLevel("debug"));
    await client.get(1);
    const row = nodes.sessions.rows.get(client.id);
    assert.deepEqual([row?.subscriptions, row?.logLevel, row?.listener], [[DOOR.uri], "debug", "b".repeat(16)]);
    await client.delete(0);
    await client.post(1, setLevel("info"));
    assert.equal((await client.post(1, setLevel("info"))).status, 404);
    assert.equal(nodes.sessions.rows.size, 0);
  });

  test("ends at all nodes: streams close and running requests are aborted #cluster.clients.rows", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    nodes.world.slowMs = 60_000;
    const { sent } = await client.get(0);
    const slow = client.sent(1, call("slow"));
    await until(() => slow.sent.channel.messages.length > 0);
    assert.equal((await client.delete(2)).status, 204);
    await until(() => sent.channel.ended && slow.sent.channel.ended);
    await slow.answer;
    for (const at of [0, 1, 2]) assert.equal((await client.post(at, call("look"))).status, 404);
    assert.equal(nodes.world.calls, 0);
  });

  test("that has ended is not written again by a node that missed the hint", async () => {
    for (const sessions of [sharedSessions(), sessionsDouble()]) {
      await using nodes = cluster(2, { sessions });
      const client = await begin(nodes, 0);
      await client.post(1, call("look"));
      nodes.net.lose(() => true);
      await client.delete(0);
      await client.post(1, subscribe);
      assert.equal(sessions.rows.size, 0);
      assert.equal((await client.post(1, call("look"))).status, 404);
    }
  });

  test("whose hints were lost is read again after a gap by nodes that use it #cluster.clients.rows", async () => {
    await using nodes = cluster(2);
    const [client, other] = [await begin(nodes, 0), await begin(nodes, 0, { caller: bob })];
    const [mine, others] = [await client.get(0), await other.get(0)];
    nodes.net.lose(() => true);
    await client.post(1, subscribe);
    await other.delete(1);
    await quiet();
    nodes.world.set(true);
    await quiet();
    assert.deepEqual([updates(mine.sent.channel), others.sent.channel.ended], [0, false]);
    nodes.net.gap();
    await until(() => updates(mine.sent.channel) === 1 && others.sent.channel.ended);
    assert.equal(mine.sent.channel.ended, false);
  });

  test("that is idle at a node is read again on first use after a gap", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    nodes.net.lose(() => true);
    await client.delete(1);
    assert.equal((await client.post(0, call("look"))).status, 200, "it has not heard");
    nodes.net.gap();
    assert.equal((await client.post(0, call("look"))).status, 404);
  });

  test("stays in use while its row cannot be read again", async () => {
    const sessions = sharedSessions();
    const read = sessions.get.bind(sessions);
    await using nodes = cluster(2, { sessions });
    const client = await begin(nodes, 0);
    const { sent } = await client.get(0);
    sessions.get = () => Promise.reject(new Error("the disk"));
    nodes.net.gap();
    await quiet();
    assert.equal(sent.channel.ended, false);
    sessions.get = read;
    assert.equal((await client.post(0, call("look"))).status, 200);
    assert.equal(nodes.sessions.rows.get(client.id)?.principal, ann.principal);
  });

  test("expires only when it is idle at all nodes #cluster.clients.expiry", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { clock, sessionTtlMs: 100_000 });
    const client = await begin(nodes, 0);
    for (let round = 0; round < 30; round += 1) {
      await clock.advance(10_001);
      assert.equal((await client.post(1, call("look"))).status, 200);
    }
    assert.equal((await client.post(0, call("look"))).status, 200);
    const { sent } = await client.get(0);
    for (let round = 0; round < 30; round += 1) await clock.advance(10_001);
    assert.equal((await client.post(1, call("look"))).status, 200, "a stream at one node keeps it at all");
    sent.leave();
    for (let round = 0; round < 12; round += 1) await clock.advance(10_001);
    assert.equal(nodes.sessions.rows.size, 0);
    for (const at of [0, 1]) assert.equal((await client.post(at, call("look"))).status, 404);
  });
});

test("invalid messages from another node are ignored", async () => {
  await using nodes = cluster(2);
  const client = await begin(nodes, 0);
  const { sent } = await client.get(0);
  const stranger = nodes.net.join("x");
  const topics = ["row", "message", "shown", "follow", "reply"].map((topic) => `session/${topic}`);
  const about = [undefined, "", "x".repeat(10_000), client.id].map((session) => (session === undefined ? {} : { session }));
  const junk: readonly Json[] = [{}, { message: 7 }, { message: { jsonrpc: "2.0", id: 1 } }, { list: "__proto__", as: {} }, { stream: 1 }];
  for (const topic of topics) {
    const messages: readonly Json[] = [null, [], "x", ...about.flatMap((one) => junk.map((more): Json => Object.assign({}, one, more)))];
    for (const message of messages) assert.ok([undefined, false].includes(await truth(stranger.ask("a".repeat(16), topic, message))));
  }
  assert.equal(sent.channel.ended, false);
  assert.equal((await client.post(0, call("look"))).status, 200);
});

test("several nodes without a common requestStateKey are refused at the start #cluster.clients.one-key", () => {
  const peers = network().join("a");
  assert.throws(() => gatewayOf(world().source, { peers }), { code: "BAD_OPTION", message: /one requestStateKey/ });
});
