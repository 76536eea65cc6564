import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "../../../core/contract/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import { quiet, type Sent, until } from "../kit.fixture.ts";
import { begin, bob, call, type Cluster, cluster, type RoamingClient } from "./cluster.fixture.ts";

// Responses and cancellations of a client that reach another node than the one they are for.
interface PendingCall {
  readonly sent: Sent;
  readonly answer: Promise<unknown>;
  readonly id: string;
}

/** A call at that node that waits for its client. */
async function pendingCall(client: RoamingClient, at: number): Promise<PendingCall> {
  const { sent, answer } = client.sent(at, call("confirm", `c${at}`));
  await until(() => sent.channel.messages.length === 1);
  const id = sent.channel.messages[0]?.["id"];
  assert.ok(typeof id === "string");
  return { sent, answer, id };
}

/** Advances the clock until that has settled. */
async function inTime<T>(clock: SimulatedClock, coming: Promise<T>): Promise<T> {
  const state = { come: false };
  const ended = coming.finally(() => (state.come = true));
  for (let round = 0; !state.come && round < 1_000; round += 1) await clock.advance(100);
  return ended;
}

const yes = (id: unknown): JsonObject => ({
  jsonrpc: "2.0",
  id: typeof id === "string" ? id : "",
  result: { action: "accept", content: { yes: true } },
});
const toOthers = ({ net }: Cluster, topic: string): number => net.passed.filter((passing) => passing.topic === topic).length;

describe("a response to a node's request", () => {
  test("reaches it from any node directly #cluster.clients.answers", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    for (const at of [0, 1, 2]) {
      const { sent, answer, id } = await pendingCall(client, 1);
      assert.match(id, /^ask-b{16}-[0-9a-f]{16}$/);
      assert.equal((await client.post(at, yes(id))).status, 202);
      await answer;
      assert.match(JSON.stringify(sent.channel.messages.at(-1)), /"yes":true/);
    }
    assert.equal(nodes.world.calls, 3);
    const answers = nodes.net.passed.filter(({ topic }) => topic === "session/message");
    assert.deepEqual(new Set(answers.map(({ to }) => to)), new Set(["b".repeat(16)]));
    assert.equal(answers.length, 2, "none where it is for the node that got it");
  });

  test("in a batch is passed on as well", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0, { version: "2025-03-26" });
    nodes.world.slowMs = 60_000;
    const slow = client.sent(0, call("slow", "s"));
    await until(() => slow.sent.channel.messages.length > 0);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "s" } };
    assert.equal((await client.post(1, [yes("ask-aaaaaaaaaaaaaaaa-0123456789abcdef"), cancelled])).status, 202);
    await slow.answer;
    assert.equal(nodes.world.calls, 0);
    assert.ok(nodes.net.passed.some(({ topic, to }) => topic === "session/message" && to === "a".repeat(16)));
  });

  test("of another session is dropped, whichever node gets it #cluster.clients.answers", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    const other = await begin(nodes, 0, { caller: bob });
    const { sent, answer, id } = await pendingCall(client, 0);
    for (const at of [0, 1]) {
      assert.equal((await other.post(at, yes(id))).status, 202);
      assert.equal((await client.post(at, yes(id), bob)).status, 404);
    }
    await quiet();
    assert.equal(sent.channel.messages.length, 1, "it still waits");
    assert.equal((await client.post(1, yes(id))).status, 202);
    await answer;
    assert.equal(nodes.world.calls, 1);
  });

  test("under a name without a known node is accepted and dropped", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { clock });
    const client = await begin(nodes, 0);
    const ids = [
      "ask-http://evil.example-0123456789abcdef",
      "ask-../../../../etc/pa-0123456789abcdef",
      "ask-AAAAAAAAAAAAAAAA-0123456789abcdef",
      `ask-${"b".repeat(16)}-`,
      "__proto__",
      "x".repeat(256),
      7,
    ];
    for (const id of ids) assert.equal((await client.post(0, { jsonrpc: "2.0", id, result: {} })).status, 202);
    assert.equal(toOthers(nodes, "session/message"), 0);
    const posted = client.post(0, yes("ask-zzzzzzzzzzzzzzzz-0123456789abcdef"));
    assert.equal((await inTime(clock, posted)).status, 202);
    const passed = nodes.net.passed.filter(({ topic }) => topic === "session/message").map(({ to }) => to);
    assert.deepEqual(new Set(passed), new Set(["z".repeat(16)]));
  });

  test("that is too long is not passed on, and its call fails", async () => {
    await using nodes = cluster(2, { limits: { answerLength: 1_000 } });
    const client = await begin(nodes, 0);
    const { sent, answer, id } = await pendingCall(client, 0);
    const long = { jsonrpc: "2.0", id, result: { action: "accept", content: { yes: "y".repeat(5_000) } } };
    assert.equal((await client.post(1, long)).status, 202);
    await answer;
    assert.match(JSON.stringify(sent.channel.messages.at(-1)), /longer than 1000 characters.*"isError":true/);
    assert.ok(nodes.net.passed.every(({ message }) => JSON.stringify(message).length < 1_000));
    assert.equal(nodes.world.calls, 0);
  });

  test("counts as a call for the rate limit if it is for another node", async () => {
    await using nodes = cluster(2, { rateLimit: { perSecond: 0.000_001, burst: 6 } });
    const client = await begin(nodes, 0);
    const statuses: number[] = [];
    for (let n = 0; n < 10; n += 1) statuses.push((await client.post(0, yes("ask-bbbbbbbbbbbbbbbb-0123456789abcdef"))).status);
    assert.deepEqual([statuses[0], statuses.at(-1)], [202, 429]);
  });

  test("reaches it on a later attempt", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { clock });
    const client = await begin(nodes, 0);
    const { answer, id } = await pendingCall(client, 0);
    nodes.net.lose(() => true);
    const posted = client.post(1, yes(id));
    await quiet();
    nodes.net.lose(() => false);
    assert.equal((await inTime(clock, posted)).status, 202);
    await answer;
    assert.equal(nodes.world.calls, 1);
  });

  test("for a dead node is accepted and dropped #cluster.clients.answers", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { clock });
    const client = await begin(nodes, 0);
    const { id } = await pendingCall(client, 0);
    nodes.kill(0);
    const posted = client.post(1, yes(id));
    assert.equal((await inTime(clock, posted)).status, 202);
    assert.equal(nodes.world.calls, 0);
  });
});

describe("a cancellation", () => {
  const cancelled = (requestId: string | number): JsonObject => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId },
  });

  test("aborts a request of the same session on another node #cluster.clients.cancellations", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    const other = await begin(nodes, 0, { caller: bob });
    nodes.world.slowMs = 60_000;
    const [mine, others] = [client.sent(1, call("slow", 7)), other.sent(1, call("slow", 7))];
    await until(() => mine.sent.channel.messages.length > 0 && others.sent.channel.messages.length > 0);
    assert.equal((await client.post(2, cancelled("7"))).status, 202);
    await quiet();
    assert.equal(mine.sent.channel.ended, false, "an id that is text is another");
    assert.equal((await client.post(2, cancelled(7))).status, 202);
    await mine.answer;
    assert.equal(others.sent.channel.ended, false);
    assert.equal((await other.post(1, cancelled(7))).status, 202);
    await others.answer;
    assert.equal(nodes.world.calls, 0);
  });

  test("of an unknown request, or without an id, does nothing", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    for (const params of [{}, { requestId: null }, { requestId: { $: 1 } }, { requestId: "none" }])
      assert.equal((await client.post(0, { jsonrpc: "2.0", method: "notifications/cancelled", params })).status, 202);
    assert.equal(toOthers(nodes, "session/message"), 1);
  });
});
