import assert from "node:assert/strict";
import { test } from "node:test";
import { isJsonObject, isList, type JsonObject } from "../../core/contract/index.ts";
import { Capabilities, capability, capabilityOf, PacketFlow, type ReplyPacket } from "../packet/index.ts";
import { RecordedServer, safe, textOf } from "./recorded.fixture.ts";

const count = capability("count", {
  intent: "Counts numbers.",
  requires: ["numbers"],
  provides: ["count"],
  execute({ numbers }, { progress }) {
    progress(1, 1);
    return { count: isList(numbers) ? numbers.length : 0 };
  },
});

const packet = (id: string, capability_id: string, payload: JsonObject): string =>
  JSON.stringify({ version: "1.0", type: "capability_request", id, capability_id, payload, context: {} });

test("packets are recorded with capability, result and code, and found by their transport", async () => {
  await using server = await RecordedServer.start();
  const { engine, live } = server;
  await using flow = new PacketFlow({ capabilities: new Capabilities([count, capabilityOf(safe)]), engine });
  const sent: ReplyPacket[] = [];
  const session = live.packets(flow, "packets-websocket").open({ caller: { scopes: [], principal: "ann" }, tell: (one) => sent.push(one) });
  await session.receive(packet("a", "count", { numbers: [1, 2] }));
  await session.receive(packet("b", "count", {}));
  await session.receive(packet("c", "safe", { tool: "open", code: "xyzzy-1234" }));
  await session.receive("{");
  assert.equal(sent.length, 1);
  const web = live.packets(flow, "packets-http").open({ caller: { scopes: [], principal: "ann" } });
  await web.receive(packet("d", "count", { numbers: [] }));
  await web.close();

  const rows = await server.items("/traffic?transport=packets");
  assert.deepEqual(
    rows.map(({ method, name, status, code, transport, principal }) => [method, name, status, code, transport, principal]),
    [
      ["capability_request", "count", "ok", undefined, "packets-http", "ann"],
      ["packet", undefined, "error", "PROTOCOL_ERROR", "packets-websocket", "ann"],
      ["capability_request", "safe", "ok", undefined, "packets-websocket", "ann"],
      ["capability_request", "count", "error", "VALIDATION_FAILED", "packets-websocket", "ann"],
      ["capability_request", "count", "ok", undefined, "packets-websocket", "ann"],
    ],
  );
  assert.equal((await server.items("/traffic?transport=packets-http")).length, 1);
  assert.equal((await server.items("/traffic?transport=http")).length, 0);
  const detail = async (at: number): Promise<JsonObject> => (await server.api(`/traffic/${textOf(rows[at]?.["n"])}`)).body;
  // Its progress, then its response.
  const { responses } = await detail(4);
  assert.ok(Array.isArray(responses));
  assert.deepEqual(
    responses.map((one) => (isJsonObject(one) ? /"type":"(\w+)"/.exec(textOf(one["text"]))?.[1] : undefined)),
    ["capability_progress", "capability_response"],
  );
  const opened = JSON.stringify(await detail(2));
  assert.ok(!opened.includes("xyzzy"), opened);
  assert.match(opened, /\[hidden\]/);

  const names = async (): Promise<readonly unknown[]> =>
    (await server.items("/sessions")).map(({ client, revision }) => [client, revision]);
  assert.equal((await names()).length, 2);
  await session.close();
  assert.deepEqual(await names(), [["packets", "packets/1.0"]]);
});

test("a token within a packet or message is hidden, however the JSON is written", async () => {
  await using server = await RecordedServer.start();
  const { engine, live } = server;
  await using flow = new PacketFlow({ capabilities: new Capabilities([count]), engine });
  const session = live.packets(flow, "packets-tcp").open({ caller: { scopes: [], principal: "ann" } });
  const metadata = { "troupe/authorization": 'Bearer xy"zzy', other: "stays" };
  const plain = JSON.stringify({ version: "1.0", type: "heartbeat", metadata });
  const mcp_message = { jsonrpc: "2.0", id: 1, method: "ping", params: { _meta: metadata } };
  const long = JSON.stringify({
    version: "1.0",
    type: "heartbeat",
    metadata: { "troupe/authorization": `Bearer zzy${"y".repeat(70_000)}` },
  });
  for (const text of [
    plain,
    plain.replaceAll("/", "\\/"),
    JSON.stringify(JSON.parse(plain), undefined, 2),
    JSON.stringify({ version: "1.0", type: "mcp_request", payload: { mcp_message } }),
    long,
  ])
    await session.receive(Buffer.from(text));
  const rows = await server.items("/traffic?transport=packets");
  assert.equal(rows.length, 5);
  for (const { n } of rows) {
    const request = textOf((await server.api(`/traffic/${textOf(n)}`)).body["request"]);
    assert.match(request, /authorization"\s*:\s*"\[hidden\]"/);
    assert.doesNotMatch(request, /zzy/);
  }
});
