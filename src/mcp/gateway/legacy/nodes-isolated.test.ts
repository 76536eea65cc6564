import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedClock } from "../../../testing/index.ts";
import { until } from "../kit.fixture.ts";
import { begin, bob, call, cluster, request } from "./cluster.fixture.ts";

// Nodes that share their stores and cannot reach each other.
const LIST = request("tools/list");
const TTL_MS = 60 * 60_000;

describe("nodes that share only the stores", () => {
  test("all serve a session, and none after one has ended it", async () => {
    await using nodes = cluster(2, { unreached: true });
    const client = await begin(nodes, 0);
    for (const at of [1, 0, 1, 0]) assert.equal((await client.post(at, LIST)).status, 200);
    for (const at of [0, 1]) assert.equal((await client.post(at, LIST, bob)).status, 404);
    await client.delete(1);
    for (const at of [0, 1]) assert.equal((await client.post(at, LIST)).status, 404);
  });

  test("keep a session that any of them has served", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { unreached: true, clock, sessionTtlMs: TTL_MS });
    const client = await begin(nodes, 0);
    for (let at = 0; at < 4; at += 1) {
      await clock.advance(TTL_MS * 0.75);
      assert.equal((await client.post(1, LIST)).status, 200);
    }
    await clock.advance(TTL_MS / 2);
    assert.equal((await client.post(0, LIST)).status, 200, "the one that has not seen it for long");
    await clock.advance(TTL_MS);
    assert.equal(
      (await client.post(1, LIST)).status,
      200,
      "of what the other has seen only what is stored is known, which may be a tenth older",
    );
    await clock.advance(1.1 * TTL_MS + 1);
    for (const at of [0, 1]) assert.equal((await client.post(at, LIST)).status, 404);
  });

  test("do not undo each other's subscriptions", async () => {
    await using nodes = cluster(2, { unreached: true });
    const client = await begin(nodes, 0);
    await client.post(1, LIST);
    await client.post(0, request("logging/setLevel", { level: "error" }));
    await client.post(1, request("resources/subscribe", { uri: "door://state" }));
    const row = nodes.sessions.rows.get(client.id);
    assert.deepEqual([row?.logLevel, row?.subscriptions], ["error", ["door://state"]]);
  });

  test("leave the standalone stream to the one that was used last", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { unreached: true, clock, sessionTtlMs: TTL_MS });
    const client = await begin(nodes, 0);
    const first = await client.get(0);
    const second = await client.get(1);
    assert.equal(second.answer.open, true);
    await clock.advance(TTL_MS / 10);
    await until(() => first.sent.channel.ended);
    assert.equal(second.sent.channel.ended, false);
  });

  test("forward a reply that runs at another, and give up on one that never ends", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { unreached: true, clock });
    const client = await begin(nodes, 0);
    const { sent } = client.sent(0, call("twice"));
    await until(() => sent.channel.messages.length === 1);
    sent.leave();
    const last = sent.channel.events[0]?.id ?? "";
    const { sent: resumed } = await client.get(1, last);
    await until(() => resumed.channel.messages.length === 1);
    const question = resumed.channel.messages[0]?.["id"];
    await client.post(0, { jsonrpc: "2.0", id: question, result: { action: "accept", content: { n: 1 } } });
    for (let second = 0; resumed.channel.messages.length < 2; second += 1) {
      assert.ok(second < 10, "it is looked for every second");
      await clock.advance(1_000);
    }
    for (let minute = 0; minute < 9; minute += 1) await clock.advance(60_000);
    assert.equal(resumed.channel.ended, false, "its process says that it lives");
    await clock.advance(2 * 60_000);
    await until(() => resumed.channel.ended);
    assert.match(JSON.stringify(resumed.channel.messages.at(-1)), /did not answer/);
  });

  test("answer a reply whose process shows no sign of life: the outcome is unknown", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { unreached: true, clock });
    const client = await begin(nodes, 0);
    const dead = `${"d".repeat(16)}-${"0".repeat(16)}`;
    const last = await nodes.streams.append(client.id, `${dead}-"seven"`, null);
    const many = await nodes.streams.append(client.id, dead, null);
    const [named, unnamed] = [await client.get(1, last), await client.get(1, many)];
    await clock.advance(30_000);
    await nodes.streams.append(client.id, `${dead}-"seven"`, null);
    await clock.advance(50_000);
    assert.equal(named.sent.channel.ended, false, "it has reported that it is alive");
    await clock.advance(30_000);
    await until(() => named.sent.channel.ended && unnamed.sent.channel.ended);
    const message = named.sent.channel.messages[0];
    assert.equal(message?.["id"], "seven");
    assert.match(JSON.stringify(message?.["error"]), /-31503.*"applied":"unknown"/);
    assert.deepEqual(unnamed.sent.channel.messages, [], "of several requests at once there is no one to say it to");
  });
});
