import assert from "node:assert/strict";
import { test } from "node:test";
import { packetClient } from "troupe/packet";
import { packetTest } from "troupe/packet-testing";
import { testActor } from "troupe/testing";
import { connect } from "../../test/clients.ts";
import { serveChild } from "../../test/serve-child.ts";
import counterInMemory from "./index.ts";

test("the counter adds a given amount, by default one, and can be read", () => {
  const counter = testActor(counterInMemory);
  assert.deepEqual(counter.turn("tools/add", { by: 5 }).reply, { ok: 5 });
  assert.deepEqual(counter.turn("tools/add").reply, { ok: 6 });
  assert.deepEqual(counter.view("tools/get"), { ok: 6 });
  assert.deepEqual(counter.state, { count: 6 });
});

test("the counter refuses an amount that is not a whole number, and does not change", () => {
  const counter = testActor(counterInMemory);
  const { reply } = counter.turn("tools/add", { by: "much" });
  assert.ok(typeof reply === "object" && "refused" in reply && reply.refused.code === "INVALID");
  assert.deepEqual(counter.state, { count: 0 });
});

test("the counter is shared by all clients and stored in memory", () => {
  assert.equal(counterInMemory.per, "shared");
  assert.equal(counterInMemory.policy.persistence, "memory");
});

test("packets reach the same counter actor, by the names of its tools #packet.existing", async () => {
  await using kit = await packetTest({ capabilities: [counterInMemory] });
  const main = await kit.startTestActor(counterInMemory, { actor_id: "main" });
  assert.equal(await kit.sendActorMessage(main, { tool: "add", by: 4 }), 4);
  assert.equal(await kit.sendActorMessage(main, { tool: "add" }, { user_id: "bob" }), 5);
  assert.equal(await kit.sendActorMessage(main, { tool: "get" }), 5);
  await assert.rejects(kit.sendActorMessage(main, { tool: "add", by: "much" }), { type: "validation_failed" });
  await assert.rejects(kit.sendActorMessage(main, { tool: "double" }), { type: "no_handler" });
  await kit.assertActorStateContains(main, { count: 5 });
});

test("MCP clients and packets share one served counter", { timeout: 60_000 }, async () => {
  await using served = await serveChild(["examples/counter", "--packets", "--no-auth"]);
  using packets = packetClient(new URL("/packets", served.ready.http));
  await using mcp = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
  assert.deepEqual(await packets.request("counter", { tool: "add", by: 4 }), { result: 4 });
  assert.equal((await mcp.call("add", { by: 2 })).text, "6");
  assert.deepEqual(await packets.request("counter", { tool: "get" }), { result: 6 });
  await assert.rejects(packets.request("counter", { tool: "get" }, { actor_id: "mine" }), { type: "actor_not_found" });
});
