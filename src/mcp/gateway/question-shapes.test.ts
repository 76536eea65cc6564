import assert from "node:assert/strict";
import { test } from "node:test";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CreateMessageRequestSchema, type JSONRPCMessage, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject, Gateway } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { connectInMemory, type MemoryClient } from "../transport/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf, until } from "./kit.fixture.ts";

// What a call asks its client besides elicitation, which is sampling and roots, in both eras.
const SAMPLED = { role: "assistant" as const, model: "m", content: { type: "text" as const, text: "Forty-two." } };
const ROOTS = { roots: [{ uri: "file:///home/ann/game" }] };

const thinker = () =>
  registry({
    tools: {
      think: {
        description: "Asks the client's model, and where it works.",
        work: ({ ask }) =>
          ask({
            thought: {
              method: "sampling/createMessage",
              params: { messages: [{ role: "user", content: { type: "text", text: "What?" } }], maxTokens: 9 },
            },
            where: { method: "roots/list", params: {} },
          }),
      },
    },
  });

class InMemory implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #client: MemoryClient;
  constructor(gateway: Gateway) {
    this.#client = connectInMemory(gateway);
  }
  async start(): Promise<void> {
    this.#client.onMessage((text) => this.onmessage?.(JSON.parse(text)));
  }
  async send(message: JSONRPCMessage): Promise<void> {
    this.#client.send(message);
  }
  async close(): Promise<void> {
    await this.#client.close();
    this.onclose?.();
  }
}

test("a legacy client receives sampling and roots requests, and the call runs again with both #gateway.needs.sampling #gateway.needs.roots #spec.6.sampling.control", async () => {
  await using gateway = gatewayOf(thinker());
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: { sampling: {}, roots: {} } });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    assert.equal(params.maxTokens, 9);
    return SAMPLED;
  });
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  await client.connect(new InMemory(gateway));
  assert.deepEqual((await client.callTool({ name: "think", arguments: {} })).structuredContent, { thought: SAMPLED, where: ROOTS });
  await client.close();
});

test("a client without the capability receives no sampling request, and learns what is missing #spec.6.sampling.approve", async () => {
  await using gateway = gatewayOf(thinker());
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: { roots: {} } });
  let requests = 0;
  client.setRequestHandler(ListRootsRequestSchema, () => {
    requests += 1;
    return ROOTS;
  });
  await client.connect(new InMemory(gateway));
  const result = await client.callTool({ name: "think", arguments: {} });
  assert.equal(result.isError, true);
  assert.match(JSON.stringify(result.content), /sampling/);
  assert.equal(requests, 0);
  await client.close();
});

test("a client of 2025-06-18 receives no question if one of the forms is newer", async () => {
  const form = (field: object): JsonObject => ({ message: "m", requestedSchema: { type: "object", properties: { f: { ...field } } } });
  const asks = registry({
    tools: {
      pick: {
        work: ({ ask }) =>
          ask({
            one: { method: "elicitation/create", params: form({ type: "string" }) },
            several: { method: "elicitation/create", params: form({ type: "array", items: { type: "string", enum: ["a"] } }) },
          }),
      },
    },
  });
  await using gateway = gatewayOf(asks);
  await using client = connectInMemory(gateway);
  const texts: string[] = [];
  client.onMessage((text) => texts.push(text));
  const params = { protocolVersion: "2025-06-18", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } };
  client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "pick" } });
  await until(() => texts.length === 2);
  assert.match(texts[1] ?? "", /"id":2.*asks for a list \(f\), and 2025-06-18 has no form for one/);
  assert.match(texts[1] ?? "", /"isError":true.*"code":"CAPABILITY"/);
});

test("a client of 2026-07-28 gets both questions in one input_required result", async () => {
  await using gateway = gatewayOf(thinker());
  const call = async (more: object): Promise<Readonly<Record<string, unknown>>> => {
    const can = { ...ENVELOPE, "io.modelcontextprotocol/clientCapabilities": { sampling: {}, roots: {} } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "think", arguments: {}, ...more, _meta: can } };
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "think",
    };
    return Object(bodyOf(await gateway.exchange(exchangeOf("POST", headers, body).exchange))["result"]);
  };
  const first = await call({});
  assert.equal(first["resultType"], "input_required");
  assert.deepEqual(
    Object.values(Object(first["inputRequests"])).map((one) => Object(one)["method"]),
    ["sampling/createMessage", "roots/list"],
  );
  const done = await call({ inputResponses: { thought: SAMPLED, where: ROOTS }, requestState: first["requestState"] });
  assert.deepEqual(done["structuredContent"], { thought: SAMPLED, where: ROOTS });
});

test("an unknown question is the author's mistake, which is logged and not disclosed", async () => {
  const odd = registry({ tools: { think: { work: ({ ask }) => ask({ sure: { method: "nope/x", params: { text: "secret" } } }) } } });
  const lines: string[] = [];
  await using gateway = gatewayOf(odd, { log: (_level, data) => void lines.push(JSON.stringify(data)) });
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: { elicitation: {} } });
  await client.connect(new InMemory(gateway));
  await assert.rejects(client.callTool({ name: "think", arguments: {} }), (error: Error) => !/nope|secret/.test(error.message));
  const line = lines.find((one) => one.includes("BAD_TURN")) ?? "";
  assert.match(line, /The question \\"sure\\" is no request .+ its method is \\"nope\/x\\", not elicitation\/create/);
  assert.doesNotMatch(line, /secret/);
  await client.close();
});
