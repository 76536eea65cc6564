import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StreamStore } from "../../../core/contract/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import { registry } from "../../source/index.ts";
import { quiet, type Sent, type SentEvent, streamsDouble, until } from "../kit.fixture.ts";
import { begin, bob, call, type Cluster, cluster, type RoamingClient } from "./cluster.fixture.ts";

// A reply that runs at one node and is resumed at another.
interface Broken {
  readonly sent: Sent;
  readonly answer: Promise<unknown>;
  /** The last event its client has seen. */
  readonly last: string;
}

/** A call at that node whose client has lost the connection. */
async function broken(client: RoamingClient, at: number, name = "twice"): Promise<Broken> {
  const { sent, answer } = client.sent(at, call(name, `c${at}`));
  await until(() => sent.channel.messages.length === 1);
  sent.leave();
  return { sent, answer, last: sent.channel.events[0]?.id ?? "" };
}

const answerTo = (id: unknown): object => ({ jsonrpc: "2.0", id, result: { action: "accept", content: { n: 1 } } });
const question = (sent: Sent, at: number): unknown => sent.channel.messages[at]?.["id"];
const idsOf = (events: readonly SentEvent[]): readonly (string | undefined)[] => events.map(({ id }) => id);

const progress = (sent: Sent): readonly unknown[] =>
  sent.channel.messages.map(({ params }) =>
    typeof params === "object" && params !== null && "progress" in params ? params.progress : undefined,
  );

/** Its messages in the store, in order. */
async function storedIds({ streams }: Cluster, client: RoamingClient, after: string): Promise<readonly string[]> {
  return ((await streams.after(client.id, after))?.messages ?? []).map(({ id }) => id);
}

describe("the rest of a reply, resumed at another node", () => {
  test("arrives whole, once and in order #cluster.clients.resume", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    const { answer, last } = await broken(client, 0);
    const { sent, answer: resumed } = await client.get(1, last);
    assert.equal(resumed.open, true);
    await until(() => sent.channel.messages.length === 1);
    await client.post(1, answerTo(question(sent, 0)));
    await until(() => sent.channel.messages.length === 2);
    assert.equal(sent.channel.ended, false);
    await client.post(0, answerTo(question(sent, 1)));
    await until(() => sent.channel.ended);
    await answer;
    assert.match(JSON.stringify(sent.channel.messages.at(-1)), /"second":\{/);
    assert.deepEqual(idsOf(sent.channel.events), await storedIds(nodes, client, last));
    const again = await client.get(1, last);
    assert.equal(again.sent.channel.ended, true);
    assert.deepEqual(again.sent.channel.events, sent.channel.events);
  });

  test("includes progress while a client reads it, and stores none otherwise", async () => {
    const steps: (() => void)[] = [];
    const source = registry({
      tools: {
        walk: {
          description: "Takes a step each time it is released.",
          async work(context) {
            for (let step = 1; step <= 4; step += 1) {
              context.progress(step, 5);
              await new Promise<void>((resolve) => steps.push(resolve));
            }
            return "there";
          },
        },
      },
    });
    await using nodes = cluster(2, { source });
    const client = await begin(nodes, 0);
    const walk = client.sent(0, call("walk", "w", { progressToken: 1 }));
    const next = async (): Promise<void> => {
      await until(() => steps.length === 1);
      steps.pop()?.();
      await until(() => steps.length === 1);
      await quiet();
    };
    await until(() => walk.sent.channel.messages.length === 1);
    walk.sent.leave();
    const [last = ""] = idsOf(walk.sent.channel.events);
    const first = await client.get(1, last);
    await next();
    assert.deepEqual(progress(first.sent), [1, 2]);
    first.sent.leave();
    await next();
    await next();
    const second = await client.get(1, last);
    steps.pop()?.();
    await walk.answer;
    await until(() => second.sent.channel.ended);
    assert.deepEqual(progress(second.sent), [1, 2, 3, undefined]);
  });

  test("arrives though every hint is lost, at once after a gap #cluster.clients.resume", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { clock });
    const client = await begin(nodes, 0);
    const { answer, last } = await broken(client, 0);
    const { sent } = await client.get(1, last);
    nodes.net.lose(({ topic }) => topic === "session/reply");
    await client.post(0, answerTo(question(sent, 0)));
    await quiet();
    assert.equal(sent.channel.messages.length, 1);
    nodes.net.gap();
    await until(() => sent.channel.messages.length === 2);
    await client.post(0, answerTo(question(sent, 1)));
    await answer;
    await quiet();
    assert.equal(sent.channel.ended, false);
    await clock.advance(10_000);
    await until(() => sent.channel.ended);
    assert.deepEqual(idsOf(sent.channel.events), await storedIds(nodes, client, last));
  });

  test("of a dead node ends with what was stored #cluster.clients.resume", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    const { last } = await broken(client, 0);
    const { sent } = await client.get(1, last);
    await until(() => sent.channel.messages.length === 1);
    assert.equal(sent.channel.ended, false);
    nodes.kill(0);
    await until(() => sent.channel.ended);
    const later = await client.get(2, last);
    assert.equal(later.sent.channel.ended, true);
    assert.deepEqual(later.sent.channel.events, sent.channel.events);
  });

  test("moves to the node where it was resumed last, also to its own", async () => {
    await using nodes = cluster(3);
    const client = await begin(nodes, 0);
    const { answer, last } = await broken(client, 0);
    const first = await client.get(1, last);
    const second = await client.get(2, last);
    await until(() => first.sent.channel.ended);
    assert.equal(second.sent.channel.ended, false);
    await client.post(1, answerTo(question(second.sent, 0)));
    await until(() => second.sent.channel.messages.length === 2);
    const third = await client.get(0, last);
    await until(() => second.sent.channel.ended && third.sent.channel.messages.length === 2);
    await client.post(1, answerTo(question(third.sent, 1)));
    await answer;
    assert.equal(third.sent.channel.messages.length, 3);
    assert.deepEqual(
      [first, second].map(({ sent }) => sent.channel.messages.length),
      [1, 2],
    );
    assert.deepEqual(idsOf(third.sent.channel.events), await storedIds(nodes, client, last));
  });

  test("resumed again at the same node goes to the new connection", async () => {
    const clock = new SimulatedClock();
    await using nodes = cluster(2, { clock });
    const client = await begin(nodes, 0);
    const { answer, last } = await broken(client, 0);
    const first = await client.get(1, last);
    first.sent.leave();
    const second = await client.get(1, last);
    nodes.net.gap();
    nodes.net.gap();
    await clock.advance(1_000);
    await client.post(0, answerTo(question(second.sent, 0)));
    await until(() => second.sent.channel.messages.length === 2);
    await client.post(0, answerTo(question(second.sent, 1)));
    await answer;
    await until(() => second.sent.channel.ended);
    assert.deepEqual(idsOf(second.sent.channel.events), await storedIds(nodes, client, last));
  });

  test("ends with its session, and when its call is cancelled", async () => {
    await using nodes = cluster(2);
    for (const end of ["delete", "cancel"]) {
      const client = await begin(nodes, 0);
      const { last, answer } = await broken(client, 0);
      const { sent } = await client.get(1, last);
      if (end === "delete") await client.delete(1);
      else await client.post(1, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c0" } });
      await until(() => sent.channel.ended);
      await answer;
    }
  });

  test("ends if it cannot continue in order, and when the store fails", async () => {
    const double = streamsDouble();
    let after = double.after.bind(double);
    const streams: StreamStore = { ...double, after: (session, id) => after(session, id) };
    const logged: unknown[] = [];
    await using nodes = cluster(2, { streams, log: (_level, data) => void logged.push(data) });
    for (const then of [async () => undefined, () => Promise.reject(new Error("the disk"))]) {
      const client = await begin(nodes, 0);
      const { last } = await broken(client, 0);
      const { sent } = await client.get(1, last);
      after = then;
      await client.post(0, answerTo(question(sent, 0)));
      await until(() => sent.channel.ended);
      assert.equal(sent.channel.messages.length, 1);
      after = double.after.bind(double);
    }
    assert.match(JSON.stringify(logged), /replay-failed/);
  });

  test("is not available to others, and ends with a drain of the node that reads it", async () => {
    await using nodes = cluster(2);
    const client = await begin(nodes, 0);
    const other = await begin(nodes, 0, { caller: bob });
    const { last } = await broken(client, 0);
    const foreign = await other.get(1, last);
    assert.equal(foreign.sent.channel.messages.filter((message) => message["method"] === "elicitation/create").length, 0);
    const { sent } = await client.get(1, last);
    await nodes.nodes[1]?.drain(10);
    assert.equal(sent.channel.ended, true);
  });
});
