import assert from "node:assert/strict";
import { test } from "node:test";
import { ENVELOPE, exchangeOf, gatewayOf, world } from "./kit.fixture.ts";

const HEADERS = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/list",
};

test("who has a network of IPv6 is one peer, whichever of its addresses is used", async () => {
  await using gateway = gatewayOf(world().source, { rateLimit: { perSecond: 1, burst: 2 } });
  const asked = async (peer: string): Promise<number> => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: ENVELOPE } };
    return (await gateway.exchange(exchangeOf("POST", HEADERS, body, { scopes: [], peer }).exchange)).status;
  };
  const statuses: number[] = [];
  for (const peer of ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"]) statuses.push(await asked(peer));
  assert.deepEqual(statuses, [200, 200, 429, 200]);
});

test("a source learns the peer of a call in both eras", async () => {
  const { source } = world();
  const peers: unknown[] = [];
  const spied = {
    surface: source.surface.bind(source),
    watch: source.watch.bind(source),
    act: (...given: Parameters<typeof source.act>) => {
      peers.push(given[3].peer);
      return source.act(...given);
    },
  };
  await using gateway = gatewayOf(spied);
  const caller = { scopes: [], peer: "192.0.2.7" };
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const post = (more: Readonly<Record<string, string>>, method: string, params: object) =>
    gateway.exchange(exchangeOf("POST", { ...headers, ...more }, { jsonrpc: "2.0", id: 1, method, params }, caller).exchange);
  const begun = await post({}, "initialize", { protocolVersion: "2025-11-25" });
  await post({ "mcp-session-id": begun.headers?.["mcp-session-id"] ?? "" }, "tools/call", { name: "look" });
  const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" };
  await post(modern, "tools/call", { name: "look", _meta: ENVELOPE });
  assert.deepEqual(peers, ["192.0.2.7", "192.0.2.7"]);
});
