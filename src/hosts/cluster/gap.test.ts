import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../core/contract/index.ts";
import { SimulatedEntropy, until } from "../../testing/index.ts";
import { gapsOf, Nodes } from "./nodes.fixture.ts";

test("what is lost between two that arrive is found by the second", async (t) => {
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
    a.status().map(({ told, dropped }) => [told, dropped]),
    [[3, 1]],
  );
});

test("what is lost at the end is found by the next heartbeat, and only once", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair({ drop: (_topic, message) => message === "lost" });
  const gaps = gapsOf(b);
  b.on("now", () => "now");
  a.tell("hint", "lost");
  await a.ask(b.self, "now", null);
  assert.equal(gaps(), 0, "nobody knows yet");
  await nodes.clock.advance(1_000);
  await until("the heartbeat tells", () => gaps() === 1);
  await nodes.clock.advance(1_000);
  await a.ask(b.self, "now", null);
  assert.equal(gaps(), 1);
});

test("gaps that come together run the listeners once at once, and once more after a while", async (t) => {
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

test("half of the hints may be lost: whoever reads again after a gap ends up with the truth #cluster.hints", async (t) => {
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
  // The last heartbeat shows what nothing followed; the listeners wait a little between two runs.
  await nodes.clock.advance(1_100);
  await until("both are the same", async () => {
    await nodes.clock.advance(1);
    return [...truth].every(([key, value]) => copy.get(key) === value);
  });
});

test("a node that goes, and one that comes, are gaps", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const gaps = gapsOf(a);
  await b[Symbol.asyncDispose]();
  await until("it has gone", () => gaps() === 1);
  await nodes.clock.advance(100);
  const c = await nodes.join();
  await until("another has come", () => gaps() === 2);
  await until("it is heard", () => a.status().some(({ node, heard }) => node === c.self && heard));
});
