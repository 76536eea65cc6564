import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { type Peers, systemClock } from "../../../core/contract/index.ts";
import { joinCluster } from "../../../hosts/cluster/index.ts";
import { MemoryMembers } from "../../../hosts/cluster/members.fixture.ts";
import { serveHttp } from "../../transport/index.ts";
import { until } from "../kit.fixture.ts";
import { cluster } from "./cluster.fixture.ts";

// The official clients behind a load balancer without affinity: each request reaches another node than the one before.
const INFO = { name: "roaming", version: "1" };

async function balanced(joined?: readonly Peers[]) {
  const nodes = cluster(3, joined === undefined ? {} : { joined });
  const doors = await Promise.all(nodes.nodes.map((gateway) => serveHttp({ gateway })));
  const alive = new Set(doors);
  let turn = 0;
  const requests: string[] = [];
  return {
    nodes,
    requests,
    url: new URL("http://127.0.0.1/mcp"),
    async fetch(_url: string | URL, init?: RequestInit): Promise<Response> {
      const doorsNow = [...alive];
      const door = doorsNow[(turn += 1) % doorsNow.length];
      assert.ok(door);
      requests.push(`${init?.method ?? "GET"} ${doors.indexOf(door)}`);
      return fetch(door.url, init);
    },
    async kill(at: number) {
      nodes.kill(at);
      const door = doors[at];
      assert.ok(door);
      alive.delete(door);
      await door.close({ graceMs: 0 });
    },
    async [Symbol.asyncDispose]() {
      for (const door of doors) await door.close({ graceMs: 0 });
      await nodes[Symbol.asyncDispose]();
    },
  };
}

describe("an official client whose every request goes to another node", () => {
  test("v1 answers questions, is notified though its node has died, and ends its session #cluster.clients.any-node", async () => {
    await using server = await balanced();
    const client = new ClientV1(INFO, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { yes: true } }));
    let lists = 0;
    const updated: string[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (lists += 1));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
    const transport = new HttpV1(server.url, { fetch: (url, init) => server.fetch(url, init) });
    await client.connect(transport);
    await client.subscribeResource({ uri: "door://state" });
    for (let round = 0; round < 6; round += 1) {
      const { structuredContent } = await client.callTool({ name: "confirm" });
      assert.deepEqual(structuredContent, { sure: { action: "accept", content: { yes: true } } });
      await client.listTools();
    }
    await until(() => server.requests.some((request) => request.startsWith("GET")));
    const before = lists;
    await client.callTool({ name: "open", arguments: { how: "softly" } });
    await until(() => lists > before && updated.includes("door://state"));
    assert.ok(transport.sessionId);
    const listener = server.nodes.sessions.rows.get(transport.sessionId)?.listener?.[0] ?? "";
    await server.kill(["a", "b", "c"].indexOf(listener));
    const known = [lists, updated.length];
    // Changes while it cannot be notified reach it when it listens again.
    server.nodes.world.set(false);
    await until(() => lists > (known[0] ?? 0) && updated.length > (known[1] ?? 0));
    assert.equal(
      (await client.listTools()).tools.some(({ name }) => name === "shut"),
      false,
    );
    await transport.terminateSession();
    assert.equal(server.nodes.sessions.rows.size, 0);
    await client.close();
  });

  test("v1 is notified though half of the hints between nodes are lost #cluster.clients.once-too-often", async () => {
    const members = new MemoryMembers(systemClock);
    let hints = 0;
    const drop = (): boolean => (hints += 1) % 2 === 0;
    const secret = new Uint8Array(32);
    // Short heartbeats, since only they show that something was lost.
    const limits = { heartbeatMs: 100, gapMs: 10 };
    const join = () => joinCluster({ secret, members, drop, listen: {}, limits });
    await using one = await join();
    await using two = await join();
    await using three = await join();
    await until(() => [one, two, three].every((node) => node.status().filter(({ reached, heard }) => reached && heard).length === 2));
    await using server = await balanced([one, two, three]);
    const client = new ClientV1(INFO, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { yes: true } }));
    let known: readonly string[] = [];
    let updated = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      known = (await client.listTools()).tools.map(({ name }) => name);
    });
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void (updated += 1));
    await client.connect(new HttpV1(server.url, { fetch: (url, init) => server.fetch(url, init) }));
    await client.subscribeResource({ uri: "door://state" });
    for (const opened of [true, false, true, false, true]) {
      const before = updated;
      await client.callTool({ name: "confirm" });
      await client.callTool({ name: opened ? "open" : "shut" });
      await until(() => known.includes("shut") === opened && updated > before);
    }
    assert.equal(server.nodes.world.calls, 10);
    assert.ok(hints > 0);
    await client.close();
  });

  test("v2 works in both eras, and answers questions in both #cluster.clients.any-node", async () => {
    for (const mode of ["legacy" as const, { pin: "2026-07-28" } as const]) {
      await using server = await balanced();
      const client = new ClientV2(INFO, { capabilities: { elicitation: {} }, versionNegotiation: { mode } });
      client.setRequestHandler("elicitation/create", () => ({ action: "accept" as const, content: { yes: true } }));
      await client.connect(new HttpV2(server.url, { fetch: (url, init) => server.fetch(url, init) }));
      for (let round = 0; round < 4; round += 1) {
        const { structuredContent } = await client.callTool({ name: "confirm" });
        assert.deepEqual(structuredContent, { sure: { action: "accept", content: { yes: true } } });
      }
      assert.deepEqual((await client.callTool({ name: "look" })).content, [{ type: "text", text: "Shut." }]);
      assert.equal(server.nodes.world.calls, 4);
      await client.close();
    }
  });
});
