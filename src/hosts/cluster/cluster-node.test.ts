import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../core/contract/index.ts";
import { until, SimulatedEntropy } from "../../testing/index.ts";
import type { Cluster } from "./index.ts";
import { gapsOf, Nodes } from "./nodes.fixture.ts";

const other = (node: Cluster): string => node.status()[0]?.node ?? "";

test("a message reaches every other node, in order, and not its sender", async (t) => {
  const nodes = new Nodes(t);
  const [a, b, c] = await nodes.joined({}, {}, {});
  assert.ok(a && b && c);
  const heard: Json[][] = [[], [], []];
  [a, b, c].forEach((node, index) => node.on("hint", (message, from) => void heard[index]?.push([from, message])));
  for (let number = 0; number < 500; number += 1) a.tell("hint", { number, text: "ä€😀" });
  await until("both have heard all", () => heard[1]?.length === 500 && heard[2]?.length === 500);
  const all = Array.from({ length: 500 }, (_, number) => [a.self, { number, text: "ä€😀" }]);
  assert.deepEqual(heard, [[], all, all]);
});

test("each start gives a node a new name", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  assert.match(a.self, /^[a-z0-9]{16}$/);
  assert.notEqual(a.self, b.self);
  assert.equal(other(a), b.self);
});

test("an ask is answered, also after a delay, and in any order", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const delayed = Promise.withResolvers<Json>();
  b.on("now", (message, from) => ({ message, from }));
  b.on("delayed", () => delayed.promise);
  const first = a.ask(b.self, "delayed", null);
  assert.deepEqual(await a.ask(b.self, "now", [1]), { message: [1], from: a.self });
  delayed.resolve("there");
  assert.equal(await first, "there");
});

test("an ask ends as unknown: topic, node, itself, a listener without an answer or with none that is JSON", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const loop: Json[] = [];
  loop.push(loop);
  b.on("quiet", () => undefined);
  b.on("loop", () => loop);
  for (const topic of ["none", "quiet", "loop", "", "x".repeat(300), "toString"]) assert.equal(await a.ask(b.self, topic, 1), undefined);
  assert.equal(await a.ask("0123456789abcdef", "quiet", 1), undefined);
  assert.equal(await a.ask(a.self, "quiet", 1), undefined);
});

test("the number of pending asks to one node is bounded", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair({ limits: { asks: 2 } });
  const delayed = Promise.withResolvers<Json>();
  b.on("delayed", () => delayed.promise);
  b.on("now", () => "now");
  const waiting = [a.ask(b.self, "delayed", 1), a.ask(b.self, "delayed", 2)];
  assert.equal(await a.ask(b.self, "now", 3), undefined);
  delayed.resolve("delayed");
  assert.deepEqual(await Promise.all(waiting), ["delayed", "delayed"]);
  assert.equal(await a.ask(b.self, "now", 4), "now");
});

test("an ask without an answer ends in time, on both sides", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair({ limits: { askMs: 500 } }, { limits: { askMs: 700, asks: 2 } });
  let pending = 0;
  b.on("never", () => {
    pending += 1;
    return new Promise(() => undefined);
  });
  b.on("now", () => "now");
  const waiting = [a.ask(b.self, "never", 1), a.ask(b.self, "never", 2)];
  assert.equal(await a.ask(b.self, "now", 3), undefined, "the third at once is not heard");
  await until("both have arrived", () => pending === 2);
  await nodes.clock.advance(500);
  assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
  assert.equal(await a.ask(b.self, "now", 4), undefined, "the other side still works at two");
  await nodes.clock.advance(200);
  assert.equal(await a.ask(b.self, "now", 5), "now");
});

test("a node that leaves ends its pending asks", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  let pending = false;
  b.on("never", () => {
    pending = true;
    return new Promise(() => undefined);
  });
  const answer = a.ask(b.self, "never", 1);
  await until("it has arrived", () => pending);
  await b[Symbol.asyncDispose]();
  assert.equal(await answer, undefined);
  assert.equal(await a.ask(b.self, "never", 1), undefined);
});

test("an ask waits for a stream that is being opened", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  a.on("now", () => "now");
  const b = await nodes.join();
  assert.equal(b.status()[0]?.reached, false);
  assert.equal(await b.ask(a.self, "now", 1), "now");
});

test("a listener that throws is logged, answers unknown, and gets later messages", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const heard: Json[] = [];
  b.on("bad", async (message) => {
    heard.push(message);
    await Promise.resolve();
    throw new RangeError("secret words");
  });
  b.on("worse", (message) => {
    heard.push(message);
    throw new TypeError("secret words");
  });
  a.tell("bad", 1);
  a.tell("worse", 2);
  assert.equal(await a.ask(b.self, "bad", 3), undefined);
  assert.equal(await a.ask(b.self, "worse", 4), undefined);
  assert.deepEqual(heard, [1, 2, 3, 4]);
  assert.equal(nodes.count("peer-listener-failed"), 4);
  assert.ok(!JSON.stringify(nodes.logged).includes("secret words"));
});

test("a topic has one listener at a time", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const undo = b.on("one", () => 1);
  assert.throws(() => b.on("one", () => 2), TypeError);
  undo();
  const again = b.on("one", () => 3);
  undo();
  assert.equal(await a.ask(b.self, "one", null), 3);
  again();
  assert.equal(await a.ask(b.self, "one", null), undefined);
});

test("a message that cannot be sent throws nothing, is counted, and is noticed as a gap", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const gaps = gapsOf(b);
  b.on("now", () => "now");
  const loop: Json[] = [];
  loop.push(loop);
  const deep: Json = JSON.parse(`${"[".repeat(65)}${"]".repeat(65)}`);
  const bad: readonly (readonly [string, Json])[] = [
    ["", 1],
    ["loop", loop],
    ["deep", deep],
    ["huge", "x".repeat(1_048_576)],
  ];
  for (const [topic, message] of bad) {
    a.tell(topic, message);
    assert.equal(await a.ask(b.self, topic, message), undefined);
  }
  assert.equal(a.status()[0]?.dropped, bad.length);
  await nodes.clock.advance(1_000);
  await until("it finds the gap", () => gaps() === 1);
  assert.equal(await a.ask(b.self, "now", "x".repeat(1_000_000)), "now", "the stream still stands");
});

test("a message lost between two that arrive is noticed with the second", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair({ drop: (_topic, message) => message === "lost" });
  const gaps = gapsOf(b);
  const heard: Json[] = [];
  b.on("hint", (message) => void heard.push(message));
  b.on("now", () => "now");
  a.tell("hint", 1);
  await a.ask(b.self, "now", null);
  assert.equal(gaps(), 0, "nothing was lost");
  a.tell("hint", "lost");
  a.tell("hint", 2);
  await a.ask(b.self, "now", null);
  assert.deepEqual(heard, [1, 2]);
  assert.equal(gaps(), 1);
  assert.deepEqual(
    a.status().map(({ told: count, dropped }) => [count, dropped]),
    [[3, 1]],
  );
});

test("a lost last message is noticed with the next heartbeat, once", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair({ drop: (_topic, message) => message === "lost" });
  const gaps = gapsOf(b);
  b.on("now", () => "now");
  a.tell("hint", "lost");
  await a.ask(b.self, "now", null);
  assert.equal(gaps(), 0, "not noticed yet");
  await nodes.clock.advance(1_000);
  await until("the heartbeat tells", () => gaps() === 1);
  await nodes.clock.advance(1_000);
  await a.ask(b.self, "now", null);
  assert.equal(gaps(), 1);
});

test("concurrent gaps run the listeners once at once, and once more after a pause", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair({ drop: (_topic, message) => message === "lost" });
  const gaps = gapsOf(b);
  b.onGap(() => {
    throw new Error("It cannot.");
  });
  b.on("now", () => "now");
  for (let number = 0; number < 20; number += 1) {
    a.tell("hint", "lost");
    a.tell("hint", number);
  }
  await a.ask(b.self, "now", null);
  assert.equal(gaps(), 1);
  await nodes.clock.advance(100);
  assert.equal(gaps(), 2);
  await nodes.clock.advance(100);
  assert.equal(gaps(), 2);
  assert.equal(nodes.count("peer-listener-failed"), 2);
});

test("with half of the hints lost, reading again after a gap gives the right state #cluster.hints", async (t) => {
  const nodes = new Nodes(t);
  const dice = new SimulatedEntropy(5);
  const [a, b] = await nodes.pair({ drop: () => dice.under(2) === 0 });
  const truth = new Map<string, number>();
  const copy = new Map<string, number>();
  b.on("changed", (message) => {
    if (typeof message === "string") copy.set(message, truth.get(message) ?? 0);
  });
  b.onGap(() => {
    for (const [key, value] of truth) copy.set(key, value);
  });
  for (let round = 0; round < 200; round += 1) {
    const key = `k${round % 17}`;
    truth.set(key, round);
    a.tell("changed", key);
  }
  assert.ok((a.status()[0]?.dropped ?? 0) > 50);
  // The last heartbeat reveals a gap that no message followed; the listeners pause between two runs.
  await nodes.clock.advance(1_100);
  await until("both are the same", async () => {
    await nodes.clock.advance(1);
    return [...truth].every(([key, value]) => copy.get(key) === value);
  });
});

test("a node that leaves, and one that joins, are gaps", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const gaps = gapsOf(a);
  await b[Symbol.asyncDispose]();
  await until("it has left", () => gaps() === 1);
  await nodes.clock.advance(100);
  const c = await nodes.join();
  await until("another has come", () => gaps() === 2);
  await until("it is heard", () => a.status().some(({ node, heard }) => node === c.self && heard));
});
