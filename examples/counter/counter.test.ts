import assert from "node:assert/strict";
import { test } from "node:test";
import { packetClient } from "troupe/packet";
import { packetTest } from "troupe/packet-testing";
import { testActor } from "troupe/testing";
import { connect } from "../../test/clients.ts";
import { serveChild } from "../../test/serve-child.ts";
import counterInMemory from "./index.ts";

test("the counter adds what it is told, one where it is not told, and can be read", () => {
  const counter = testActor(counterInMemory);
  assert.deepEqual(counter.turn("tools/add", { by: 5 }).reply, { ok: 5 });
  assert.deepEqual(counter.turn("tools/add").reply, { ok: 6 });
  assert.deepEqual(counter.view("tools/get"), { ok: 6 });
  assert.deepEqual(counter.state, { count: 6 });
});

test("the counter refuses what is no whole number and stays as it was", () => {
  const counter = testActor(counterInMemory);
  const { reply } = counter.turn("tools/add", { by: "much" });
  assert.ok(typeof reply === "object" && "refused" in reply && reply.refused.code === "INVALID");
  assert.deepEqual(counter.state, { count: 0 });
});

test("the counter is one for all, in memory", () => {
  assert.equal(counterInMemory.per, "shared");
  assert.equal(counterInMemory.policy.persistence, "memory");
});

test("the counter is a capability as it is: the same actor, by the names of its tools #packet.existing", async () => {
  await using on = await packetTest({ capabilities: [counterInMemory] });
  const main = await on.startTestActor(counterInMemory, { actor_id: "main" });
  assert.equal(await on.sendActorMessage(main, { tool: "add", by: 4 }), 4);
  assert.equal(await on.sendActorMessage(main, { tool: "add" }, { user_id: "bob" }), 5);
  assert.equal(await on.sendActorMessage(main, { tool: "get" }), 5);
  await assert.rejects(on.sendActorMessage(main, { tool: "add", by: "much" }), { type: "validation_failed" });
  await assert.rejects(on.sendActorMessage(main, { tool: "double" }), { type: "no_handler" });
  await on.assertActorStateContains(main, { count: 5 });
});

test("served with packets, the counter that packets add to is the one MCP clients read", { timeout: 60_000 }, async () => {
  await using served = await serveChild(["examples/counter", "--packets", "--no-auth"]);
  using client = packetClient(new URL("/packets", served.ready.http));
  await using player = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
  assert.deepEqual(await client.request("counter", { tool: "add", by: 4 }), { result: 4 });
  assert.equal((await player.call("add", { by: 2 })).text, "6");
  assert.deepEqual(await client.request("counter", { tool: "get" }), { result: 6 });
  await assert.rejects(client.request("counter", { tool: "get" }, { actor_id: "mine" }), { type: "actor_not_found" });
});
