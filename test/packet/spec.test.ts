// The specification's own examples, as they stand there, against a whole system.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { JsonObject } from "../../src/core/contract/index.ts";
import { actorCapability, type Capability, capability, mcpCapability, PacketError, readConfig } from "../../src/bridges/packet/index.ts";
import { SPECIFIED } from "../../src/bridges/packet/packets.fixture.ts";
import { settle } from "../../src/testing/index.ts";
import { root } from "../serve-child.ts";
import { at } from "../wire.ts";
import { wholeFlow } from "./whole-flow.ts";

const asked: string[] = [];

const CAPABILITIES = (): readonly Capability[] => [
  actorCapability("research_assistant", {
    intent: "Interact with stateful capability actor",
    requires: ["message", "message_type"],
    provides: ["answer"],
    initialState: { conversation_history: Array<string>() },
    messages: {
      conversation: {
        match: { message_type: "conversation" },
        run({ state, payload }) {
          state.conversation_history.push(JSON.stringify(payload["message"]));
          return { answer: `Asked ${state.conversation_history.length} times.` };
        },
      },
      think: { match: { message_type: "think" }, work: () => new Promise<never>(() => undefined) },
    },
  }),
  mcpCapability("web", {
    intent: "Search the web",
    tools: {
      web_search: {
        description: "Search the web",
        parameters: { query: { type: "string" }, max_results: { type: "integer" } },
        required: ["query"],
      },
    },
    handleToolCall(name, parameters) {
      asked.push(name);
      return { found: [parameters["query"]], of: parameters["max_results"] };
    },
  }),
  capability("user_transform", {
    intent: "Transform user data with specified operations",
    requires: ["user_id", "operations"],
    parameters: {
      type: "object",
      properties: { user_id: { type: "string" }, operations: { type: "array" } },
      required: ["user_id", "operations"],
    },
    execute({ operations }) {
      if (!Array.isArray(operations) || operations.length === 0) throw new PacketError("execution_failed", "Nothing to do.");
      return "User transformation completed successfully";
    },
  }),
];

const system = async () => {
  const flow = await wholeFlow(CAPABILITIES(), { mcp: true });
  const session = flow.open("user_456");
  return {
    flow,
    send: (packet: JsonObject) => session.receive(JSON.stringify(packet)),
    async rpc(method: string, params: JsonObject = {}): Promise<unknown> {
      const reply = await session.receive(
        JSON.stringify({ version: "1.0", type: "mcp_request", payload: { mcp_message: { jsonrpc: "2.0", id: 1, method, params } } }),
      );
      return reply.payload["mcp_message"];
    },
    [Symbol.asyncDispose]: () => flow[Symbol.asyncDispose](),
  };
};

const [actorMessage = {}, mcpRequest = {}] = SPECIFIED.requests;

describe("the specification's examples", () => {
  test("the actor message begins its actor by its options, and the reply repeats what it said #packet.actor.fields #packet.message.actor #packet.state.structure #packet.registry.state", async () => {
    await using on = await system();
    const first = await on.send(actorMessage);
    const { type, intent, capability_id, actor_id, payload, context, metadata } = first;
    assert.deepEqual(
      { version: "1.0", type: "actor_message", intent, capability_id, actor_id, context },
      Object.fromEntries(Object.entries(actorMessage).filter(([name]) => name !== "payload" && name !== "actor_options")),
    );
    assert.equal(type, "capability_response");
    assert.deepEqual(payload, { answer: "Asked 1 times." });
    assert.equal(metadata["message_count"], 1);
    assert.equal(typeof metadata["execution_time_ms"], "number");
    assert.deepEqual((await on.send(actorMessage)).payload, { answer: "Asked 2 times." });
    const state = await on.flow.packets.actors.getActorState("research_assistant", "actor_12345", { principal: "user_456", scopes: [] });
    assert.deepEqual(Object.keys(state), ["actor_id", "capability_id", "state", "metadata"]);
    assert.deepEqual(Object.keys(state.metadata).toSorted(), ["created_at", "last_message_at", "message_count", "persistence_strategy"]);
    assert.match(state.metadata.created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.equal(state.metadata.persistence_strategy, "memory");
    await on.flow.clock.advance(1_800_001);
    await settle();
    const { payload: anew } = await on.send(actorMessage);
    assert.deepEqual(anew, { answer: "Asked 1 times." }, "it ended by its state_timeout, and was in memory");
  });

  test("the MCP request runs the tool, and its reply holds the JSON-RPC response #packet.tools.definition #packet.message.mcp", async () => {
    await using on = await system();
    const reply = await on.send(mcpRequest);
    assert.equal(reply.type, "capability_response");
    assert.deepEqual(
      ["intent", "capability_id", "context"].map((name) => at(reply, name)),
      ["intent", "capability_id", "context"].map((name) => mcpRequest[name]),
    );
    assert.equal(asked.at(-1), "web_search");
    const { mcp_message } = reply.payload;
    assert.deepEqual([at(mcp_message, "jsonrpc"), at(mcp_message, "id"), at(mcp_message, "result", "isError")], ["2.0", 1, false]);
    assert.deepEqual(at(mcp_message, "result", "structuredContent"), { found: ["PacketFlow framework"], of: 5 });
  });

  test("the server says in initialize what it can, and it is valid MCP #packet.mcp.server #packet.implied.13-initialize", async () => {
    await using on = await system();
    const result = at(
      await on.rpc("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }),
      "result",
    );
    assert.deepEqual(at(result, "capabilities", "tools"), { listChanged: true });
    assert.deepEqual(at(result, "capabilities", "resources"), { subscribe: true, listChanged: true });
    assert.equal(at(result, "protocolVersion"), "2025-11-25");
    assert.equal(typeof at(result, "serverInfo", "name"), "string");
  });

  test("the tool is listed and answers to the byte #packet.mcp.list #packet.mcp.call", async () => {
    await using on = await system();
    const tools = at(await on.rpc("tools/list"), "result", "tools");
    assert.ok(Array.isArray(tools));
    assert.equal(
      JSON.stringify(tools.find((tool) => at(tool, "name") === "user_transform")),
      '{"name":"user_transform","description":"Transform user data with specified operations","inputSchema":{"type":"object","properties":{"user_id":{"type":"string"},"operations":{"type":"array"}},"required":["user_id","operations"]}}',
    );
    const answered = await on.rpc("tools/call", { name: "user_transform", arguments: { user_id: "u", operations: ["upper"] } });
    assert.equal(
      JSON.stringify(at(answered, "result")),
      '{"content":[{"type":"text","text":"User transformation completed successfully"}],"isError":false}',
    );
  });

  test("every method of the bridge is answered, and only those there are #packet.bridge.methods", async () => {
    await using on = await system();
    for (const [method, params] of [
      ["tools/list", {}],
      ["tools/call", { name: "web_search", arguments: { query: "x" } }],
      ["resources/list", {}],
      ["resources/read", { uri: "packetflow://capabilities" }],
      ["resources/read", { uri: "packetflow://actors" }],
    ] as const)
      assert.ok(at(await on.rpc(method, params), "result") !== undefined, method);
    assert.equal(at(await on.rpc("tools/dance"), "error", "code"), -32_601);
    assert.equal(at(await on.rpc("resources/read", { uri: "packetflow://nothing" }), "error", "code") !== undefined, true);
  });

  test("an actor that does not respond in time is told of as there #packet.errors.actor", async () => {
    await using on = await system();
    const reply = on.send({ ...actorMessage, payload: { message: "Think", message_type: "think" } });
    await settle();
    await on.flow.clock.advance(30_001);
    const { type, capability_id, payload } = await reply;
    const [expected] = SPECIFIED.replies;
    assert.deepEqual([type, capability_id], [expected?.["type"], expected?.["capability_id"]]);
    assert.equal(at(payload, "error", "type"), "actor_timeout");
    for (const name of ["actor_id", "timeout_ms"])
      assert.equal(at(payload, "error", "details", name), at(expected, "payload", "error", "details", name));
  });

  test("what is missing is -32602 with the field; what the capability says no to is a result to be read #packet.errors.mcp", async () => {
    await using on = await system();
    const missing = await on.rpc("tools/call", { name: "user_transform", arguments: { operations: [] } });
    assert.deepEqual(missing, {
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32_602, message: "Invalid params", data: { capability_error: "Missing required field: user_id" } },
    });
    const refused = await on.rpc("tools/call", { name: "user_transform", arguments: { user_id: "u", operations: [] } });
    assert.equal(at(refused, "result", "isError"), true);
    assert.match(JSON.stringify(refused), /Nothing to do/);
  });

  test("both configurations are the defaults #packet.config.default-timeout #packet.config.max-actors #packet.config.persistence #packet.config.cleanup #packet.config.server #packet.config.generate #packet.config.expose #packet.config.tool-timeout", () => {
    const written = {
      actors: { default_timeout: 1_800_000, max_actors_per_user: 10, persistence_strategy: "memory", cleanup_interval: 300_000 },
      mcp: {
        server_name: "PacketFlow Capabilities",
        server_version: "1.0.0",
        auto_generate_tools: true,
        expose_capabilities: "all",
        tool_timeout: 30_000,
      },
    };
    assert.deepEqual(readConfig(written), readConfig({}));
  });
});

// By what the specification says of it: the target that the bench holds its median against, in the same unit.
const MEASURED: Readonly<Record<string, { readonly spec: string; readonly unit: string; readonly target: number; readonly most: number }>> =
  {
    "of an actor's creation": { spec: "1 ms", unit: "µs", target: 20, most: 1_000 },
    "of a message's routing": { spec: "0.1 ms", unit: "µs", target: 10, most: 100 },
    "of an actor's memory": { spec: "50 KB", unit: "bytes", target: 3_000, most: 50_000 },
    "of cleaning up": { spec: "10 µs", unit: "µs", target: 0.2, most: 10 },
    "of listing the tools": { spec: "1 ms", unit: "µs", target: 20, most: 1_000 },
    "of executing a tool": { spec: "0.5 ms", unit: "µs", target: 20, most: 500 },
    "of a capability through the protocol": { spec: "1.1 ms", unit: "ms", target: 1.1, most: 1.1 },
  };

describe("the specification's figures", () => {
  const benches = globSync("bench/packet*.ts", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));
  const rows = benches
    .flatMap((text) => text.match(/print\(\{.*?\}\)/gs) ?? [])
    .map((text) => ({
      spec: /spec: "([^"]+)"/.exec(text)?.[1],
      unit: /unit: "([^"]+)"/.exec(text)?.[1],
      target: Number(/target: ([\d_.]+)/.exec(text)?.[1]?.replaceAll("_", "")),
    }));

  for (const [what, { spec, unit, target, most }] of Object.entries(MEASURED))
    test(`${what} are measured by the bench, against a target that is no worse #packet.phase.3-performance #packet.speed.creation #packet.speed.routing #packet.speed.memory #packet.speed.cleanup #packet.speed.discovery #packet.speed.execution #packet.speed.protocol`, () => {
      assert.ok(
        rows.some((row) => row.spec === spec && row.unit === unit && row.target === target),
        JSON.stringify(rows),
      );
      assert.ok(target <= most);
    });

  test("are what `npm run bench` runs #packet.phase.3-performance", () => {
    const run = readFileSync(join(root, "bench/run.ts"), "utf8");
    assert.match(run, /"packet"/);
    assert.match(run, /"packet-search"/);
  });
});
