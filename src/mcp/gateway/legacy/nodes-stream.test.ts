import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedClock } from "../../../testing/index.ts";
import { quiet, type ReadChannel, until, world } from "../kit.fixture.ts";
import { begin, call, cluster, request } from "./cluster.fixture.ts";

// The standalone stream of a session that several nodes serve, and its notifications.
const LIST = request("tools/list");
const ALL = ["tools", "resources", "prompts"].map((list) => `notifications/${list}/list_changed`);
const methodsOf = (channel: ReadChannel): readonly unknown[] => channel.messages.map((message) => message["method"]);
const tools = (channel: ReadChannel): number => methodsOf(channel).filter((method) => method === ALL[0]).length;

describe("the standalone stream", () => {
  test("the newest GET takes over the stream, whichever node it reaches #cluster.clients.one-stream", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    let before = await client.get(0);
    for (const at of [0, 1, 2, 2, 0]) {
      const next = await client.get(at);
      assert.deepEqual([next.answer.status, next.answer.open], [200, true]);
      await until(() => before.sent.channel.ended);
      before = next;
    }
    nodes.world.set(true);
    await until(() => tools(before.sent.channel) > 0);
  });

  test("a stream that its client lost or does not read moves to another node #cluster.clients.one-stream", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    const first = await client.get(0);
    const second = await client.get(1, first.sent.channel.events[0]?.id ?? "");
    assert.deepEqual([second.answer.status, first.sent.channel.ended], [200, true]);
    second.sent.channel.block();
    const third = await client.get(0);
    assert.deepEqual([third.answer.status, second.sent.channel.ended], [200, true]);
    const before = [second, third].map(({ sent }) => tools(sent.channel));
    nodes.world.set(true);
    await until(() => tools(third.sent.channel) > (before[1] ?? 0));
    assert.equal(tools(second.sent.channel), before[0]);
  });

  test("opens at another node at once when its node has died #cluster.clients.gone", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    await client.get(0);
    nodes.kill(0);
    const { sent, answer } = await client.get(1);
    assert.deepEqual([answer.status, answer.open], [200, true]);
    nodes.world.set(true);
    await until(() => tools(sent.channel) > 0);
  });

  test("requested at two nodes at once stays at one of them", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    const opened = await Promise.all([client.get(1), client.get(2)]);
    await until(() => opened.filter(({ sent }) => sent.channel.ended).length === 1);
    await quiet();
    const left = opened.findIndex(({ sent }) => !sent.channel.ended);
    assert.equal(nodes.sessions.rows.get(client.id)?.listener, (left === 0 ? "b" : "c").repeat(16));
  });

  test("does not open for a session that another node has ended", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    nodes.net.lose(() => true);
    await client.delete(1);
    assert.equal((await client.get(0)).answer.status, 404);
  });

  test("that moved while the hint was lost ends at the old node after a gap #cluster.clients.one-stream", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    const { sent } = await client.get(0);
    nodes.net.lose(() => true);
    const second = await client.get(1);
    assert.equal(second.answer.status, 200, "a node that does not answer holds nothing");
    assert.equal(sent.channel.ended, false);
    nodes.net.lose(() => false);
    nodes.net.gap();
    await until(() => sent.channel.ended);
    assert.equal(second.sent.channel.ended, false);
  });
});

describe("C8 after seeing lists at several nodes a client is notified", () => {
  test("of nothing if its lists came from the node it listens to", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    const { sent } = await client.get(0);
    for (const at of [0, 1, 1, 0]) await client.post(at, LIST);
    await quiet();
    assert.deepEqual(methodsOf(sent.channel), []);
    nodes.world.set(true);
    await until(() => tools(sent.channel) === 1);
    for (const at of [0, 1, 1, 0]) await client.post(at, LIST);
    await quiet();
    assert.equal(tools(sent.channel), 1);
  });

  test("if another node sent it a different list", async () => {
    const worlds = [world(), world()];
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { worlds, clock });
    const client = await begin(nodes, 0);
    await client.post(0, LIST);
    const { sent } = await client.get(0);
    // There and back again: the notifying node never had the list that the other sent.
    worlds[1]?.set(true);
    await client.post(1, LIST);
    await until(() => tools(sent.channel) === 1);
    // Two nodes with different lists must not notify the client forever, nor leave it with a stale list.
    for (let round = 0; round < 5; round += 1) await client.post(1, LIST);
    await quiet();
    assert.equal(tools(sent.channel), 1);
    await clock.advance(10_000);
    await until(() => tools(sent.channel) === 2);
    await clock.advance(100_000);
    assert.equal(tools(sent.channel), 2);
  });

  test("after a gap, if another node's hint of a list was lost #cluster.clients.once-too-often", async () => {
    const worlds = [world(), world()];
    await using nodes = cluster(2, { worlds });
    const client = await begin(nodes, 0);
    const { sent } = await client.get(0);
    nodes.net.lose(() => true);
    worlds[1]?.set(true);
    await client.post(1, LIST);
    await quiet();
    assert.deepEqual(methodsOf(sent.channel), []);
    nodes.net.gap();
    await until(() => methodsOf(sent.channel).length === 3);
    assert.deepEqual(methodsOf(sent.channel), ALL);
  });

  test("when it comes to a node that cannot know what it saw #cluster.clients.gone", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    await client.post(0, LIST);
    await client.get(0);
    await client.post(0, request("resources/subscribe", { uri: "door://state" }));
    nodes.kill(0);
    nodes.world.set(true);
    nodes.world.set(false);
    const second = await client.get(1);
    await until(() => methodsOf(second.sent.channel).length === 4);
    assert.deepEqual(new Set(methodsOf(second.sent.channel)), new Set([...ALL, "notifications/resources/updated"]));
    // Also if it began there and was sent a list elsewhere, in whichever order.
    const other = await begin(nodes, 1);
    await other.post(2, LIST);
    const third = await other.get(1);
    await until(() => tools(third.sent.channel) === 1);
  });

  test("only by the node that its stream has moved to", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    await client.post(0, LIST);
    const first = await client.get(0);
    first.sent.leave();
    const second = await client.get(1);
    await until(() => methodsOf(second.sent.channel).length === 3);
    await client.post(0, LIST);
    await client.post(0, call("open"));
    await until(() => tools(second.sent.channel) === 2);
    const back = await client.get(0, second.sent.channel.events[0]?.id ?? "");
    await until(() => methodsOf(back.sent.channel).length === 3);
    assert.equal(second.sent.channel.ended, true);
  });
});
