// Theater's own TypeScript client, as its author published it, drives our server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStage } from "../../src/bridges/theater/server/memory-stage.fixture.ts";
import { serveTheater } from "../../src/bridges/theater/index.ts";
import { until } from "../../src/testing/index.ts";
import { npmClient } from "./npm-client.ts";
import { playScenario } from "./npm-scenario.ts";
import { manifestOf, openServer } from "./own-places.ts";

void test("Theater's npm client starts, lists, asks, subscribes, opens channels, restarts and stops", async () => {
  const stage = new MemoryStage();
  await using door = await serveTheater({ stage });
  await playScenario(await npmClient(door.port), {
    manifest: 'name = "echo"\n',
    name: "echo",
    ask: { text: "ping", answer: /^echo:ping$/ },
    channel: { text: "hi", answer: /^back hi$/ },
  });
  assert.equal(stage.actors.size, 0);
});

void test("the same over our engine: a guest in its sandbox, its chain as Theater tells it", async () => {
  await using on = await openServer();
  const echo = { manifest: manifestOf("echo"), name: "echo", ask: { text: "ping", answer: /^ping$/ } };
  await playScenario(await npmClient(on.door.port), echo);
});

void test("what the npm client leaves open ends with it", async () => {
  const stage = new MemoryStage();
  await using door = await serveTheater({ stage });
  const client = await npmClient(door.port);
  const actor = await client.startActor({ manifest: 'name = "echo"\n' });
  const made = stage.find(actor.id);
  const events = await actor.subscribe();
  const channel = await actor.openChannel();
  assert.equal(made.listeners.size, 1);
  events.close();
  channel.close();
  await until("both have ended", () => made.listeners.size === 0 && made.received.includes(`${channel.channelId} closed`));
});

void test("an answer of more than a frame holds comes to the npm client in fragments", async () => {
  const stage = new MemoryStage();
  await using door = await serveTheater({ stage });
  const client = await npmClient(door.port);
  const actor = await client.startActor({ manifest: 'name = "echo"\n' });
  stage.find(actor.id).state = new Uint8Array(Buffer.alloc(4_000_000, "x"));
  const state = await actor.getState();
  assert.ok(state !== null && state.length === 4_000_000 && state.every((byte) => byte === 0x78));
});
