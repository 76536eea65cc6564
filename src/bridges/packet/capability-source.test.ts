import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTENT, type Json, type JsonObject, type OfferRef, type Viewer } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import { connectInMemory } from "../../mcp/transport/index.ts";
import { SimulatedClock, SimulatedEntropy, settle, until } from "../../testing/index.ts";
import { Capabilities } from "./capabilities.ts";
import { type CapabilitySourceOptions, capabilitySource } from "./capability-source.ts";
import type { Capability } from "./capability.ts";
import { actorCapability } from "./define-actor.ts";
import { capability, mcpCapability } from "./define-capability.ts";
import { PacketFlow } from "./packet-flow.ts";
import { PacketError } from "./packet.ts";

// Capabilities as an MCP source behind a whole gateway, with real actors.

const ran: JsonObject[] = [];
const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : JSON.stringify(value));
const transform = capability("user_transform", {
  intent: "Transform user data with specified operations",
  requires: ["user_id", "operations"],
  parameters: {
    type: "object",
    properties: { user_id: { type: "string" }, operations: { type: "array" } },
    required: ["user_id", "operations"],
  },
  execute(payload) {
    ran.push(payload);
    return "User transformation completed successfully";
  },
});
const describeUser = capability("describe_user", {
  intent: "Describes.",
  requires: ["name"],
  execute: ({ name }) => ({ name, known: true }),
});
const numbers = capability("numbers", { intent: "Counts.", execute: () => [1, 2] });
const liar = capability("liar", { intent: "Promises.", provides: ["truth"], execute: () => ({ lie: 1 }) });
const broken = capability("broken", {
  intent: "Breaks.",
  execute() {
    throw new Error("secret of the house");
  },
});
const refuses = capability("refuses", {
  intent: "Says no.",
  execute() {
    throw new PacketError("rate_limited", "Later.", { limit: 2, used: 2, reset: 7 });
  },
});
const sleepy = capability("sleepy", { intent: "Sleeps.", execute: () => new Promise<string>(() => undefined) });
const web = mcpCapability("web", {
  intent: "Looks things up.",
  tools: {
    web_search: { description: "Searches.", parameters: { query: { type: "string" } }, required: ["query"] },
    fail: { description: "Fails." },
  },
  handleToolCall(name, parameters) {
    if (name === "fail") throw new PacketError("execution_failed", "It is down.");
    return { [CONTENT]: [{ type: "text", text: `${name} ${textOf(parameters["query"])}` }] };
  },
});
const chat = actorCapability("chat_room", {
  intent: "Keeps what was said.",
  requires: ["message"],
  initialState: { said: Array<string>() },
  messages: {
    boom: {
      match: { message: "boom" },
      run() {
        throw new Error("inner words");
      },
    },
    say: {
      run({ state, payload }) {
        state.said.push(textOf(payload["message"]));
        return { count: state.said.length, fields: Object.keys(payload) };
      },
    },
  },
});
const ALL: readonly Capability[] = [transform, describeUser, numbers, liar, broken, refuses, sleepy, web, chat];

async function served(list: readonly Capability[], options: Partial<CapabilitySourceOptions> = {}) {
  const clock = new SimulatedClock();
  const entropy = new SimulatedEntropy();
  const capabilities = new Capabilities(list);
  const engine = await LocalEngine.start({ kinds: [...capabilities.kinds], store: memoryStore(), clock, entropy });
  const flow = new PacketFlow({ capabilities, engine, clock, entropy, actors: { maxPerUser: 3 } });
  const source = capabilitySource({
    capabilities,
    engine,
    actors: flow.actors,
    run: (id, payload, how) => flow.running.run(id, payload, how),
    ...options,
  });
  const gateway = createGateway({ source, info: { name: "PacketFlow Capabilities", version: "1.0.0" }, clock, entropy });
  flow.tunnelTo(gateway);
  const clients: AsyncDisposable[] = [];
  return {
    capabilities,
    clock,
    engine,
    flow,
    source,
    async client(principal: string) {
      const wire = connectInMemory(gateway, { principal, scopes: [] });
      clients.push(wire);
      const got: JsonObject[] = [];
      wire.onMessage((text) => void got.push(JSON.parse(text)));
      let last = 0;
      const send = async (method: string, params: Json = {}): Promise<JsonObject> => {
        const id = (last += 1);
        wire.send({ jsonrpc: "2.0", id, method, params });
        await until(`${method} is answered`, () => got.some((one) => one["id"] === id));
        return got.find((one) => one["id"] === id) ?? {};
      };
      await send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
      wire.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      return {
        send,
        notifications: (): readonly string[] =>
          got.flatMap((one) => (one["id"] === undefined ? [textOf(Object(one["params"])["uri"] ?? one["method"])] : [])),
        call: (name: string, args: JsonObject = {}) => send("tools/call", { name, arguments: args }),
        async read(uri: string): Promise<Json> {
          const { result } = await send("resources/read", { uri });
          return JSON.parse(Object(result)["contents"][0]["text"]);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      source[Symbol.dispose]();
      await flow[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

const errorOf = (answer: JsonObject): JsonObject => Object(answer["error"]);
const resultOf = (answer: JsonObject): JsonObject => Object(answer["result"]);

test("tools/list has the specification's entry byte for byte #packet.mcp.list", async () => {
  await using world = await served([transform]);
  const client = await world.client("ann");
  assert.equal(
    JSON.stringify((await client.send("tools/list"))["result"]),
    '{"tools":[{"name":"user_transform","description":"Transform user data with specified operations","inputSchema":{"type":"object","properties":{"user_id":{"type":"string"},"operations":{"type":"array"}},"required":["user_id","operations"]}}]}',
  );
});

test("tools/call runs the capability, and returns its text with isError false #packet.mcp.call", async () => {
  await using world = await served(ALL);
  const client = await world.client("ann");
  const { result } = await client.call("user_transform", { user_id: "123", operations: ["upper"] });
  assert.equal(JSON.stringify(result), '{"content":[{"type":"text","text":"User transformation completed successfully"}],"isError":false}');
  assert.deepEqual(ran.at(-1), { user_id: "123", operations: ["upper"] });
});

test("an object is returned as JSON text and structured content, a list as text", async () => {
  await using world = await served(ALL);
  const client = await world.client("ann");
  assert.deepEqual(resultOf(await client.call("describe_user", { name: "Bo" })), {
    content: [{ type: "text", text: '{"name":"Bo","known":true}' }],
    isError: false,
    structuredContent: { name: "Bo", known: true },
  });
  assert.deepEqual(resultOf(await client.call("numbers")), { content: [{ type: "text", text: "[1,2]" }], isError: false });
});

test("a missing field is -32602 with the specification's data, and the capability does not run #packet.errors.mcp #packet.implied.9-tool-errors", async () => {
  await using world = await served(ALL);
  const client = await world.client("ann");
  const before = ran.length;
  assert.deepEqual(errorOf(await client.call("user_transform", { operations: [] })), {
    code: -32602,
    message: "Invalid params",
    data: { capability_error: "Missing required field: user_id" },
  });
  assert.deepEqual(errorOf(await client.call("user_transform"))["data"], {
    capability_error: "Missing required fields: user_id, operations",
  });
  assert.deepEqual(errorOf(await client.call("user_transform", { user_id: null, operations: [] }))["data"], {
    capability_error: "Missing required field: user_id",
  });
  assert.deepEqual(errorOf(await client.call("user_transform", { user_id: "1", operations: "x" }))["data"], {
    capability_error: "operations must be array",
  });
  assert.deepEqual(errorOf(await client.call("web_search", {}))["data"], { capability_error: "Missing required field: query" });
  assert.equal(ran.length, before);
});

test("all other failures are error results with type and message, without internal details #packet.implied.9-tool-errors", async () => {
  await using world = await served(ALL);
  const client = await world.client("ann");
  const errorIn = async (name: string, args: JsonObject = {}): Promise<readonly Json[]> => {
    const { content, structuredContent, isError } = Object(resultOf(await client.call(name, args)));
    const { type, message } = structuredContent.error;
    assert.equal(content[0].text, `${String(type)}: ${String(message)}`);
    assert.equal(isError, true);
    assert.doesNotMatch(JSON.stringify(content) + JSON.stringify(structuredContent), /secret|inner words/);
    return [type, structuredContent.error.details];
  };
  assert.deepEqual(await errorIn("liar"), ["contract_violation", { missing: ["truth"] }]);
  assert.equal((await errorIn("broken"))[0], "execution_failed");
  assert.deepEqual(await errorIn("refuses"), ["rate_limited", { limit: 2, used: 2, reset: 7 }]);
  assert.equal((await errorIn("fail"))[0], "execution_failed");
  assert.equal((await errorIn("chat_room", { message: "boom" }))[0], "actor_crash");
});

test("a tunnelled mcp_request runs the same tools, and a JSON-RPC error is a response packet #packet.phase.2-bridge #packet.implied.1-mcp-reply", async () => {
  await using world = await served(ALL);
  const session = world.flow.open({ caller: { principal: "ann", scopes: [] } });
  const tunnelled = async (name: string, args: JsonObject): Promise<JsonObject> => {
    const mcp_message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const context = { user_id: "ann", session_id: "s" };
    const { type, payload } = await session.receive(
      JSON.stringify({ version: "1.0", type: "mcp_request", capability_id: "mcp_bridge", payload: { mcp_message }, context }),
    );
    assert.equal(type, "capability_response");
    return Object(payload["mcp_message"]);
  };
  const done = await tunnelled("user_transform", { user_id: "123", operations: [] });
  assert.equal(Object(done["result"])["isError"], false);
  assert.deepEqual(await tunnelled("user_transform", { operations: [] }), {
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32602, message: "Invalid params", data: { capability_error: "Missing required field: user_id" } },
  });
  await tunnelled("chat_room", { message: "a" });
  const { actors } = Object(await (await world.client("ann")).read("packetflow://actors"));
  assert.equal(actors[0].actor_id, "chat_room:ann");
});

test("a tool call ends after its timeout #packet.config.tool-timeout #packet.implied.11-tool-timeout", async () => {
  await using world = await served(ALL, { toolTimeoutMs: 2_000 });
  const client = await world.client("ann");
  const answer = client.call("sleepy");
  let over = false;
  void answer.finally(() => {
    over = true;
  });
  await world.clock.advance(1_999);
  assert.equal(over, false);
  await world.clock.advance(1);
  const { structuredContent } = Object(resultOf(await answer));
  assert.deepEqual([structuredContent.error.type, structuredContent.error.details], ["execution_failed", { timeout_ms: 2_000 }]);
});

test("a capability with several tools is called by their names, and returns its own content blocks #packet.tools.handler", async () => {
  await using world = await served([web]);
  const client = await world.client("ann");
  const { tools } = Object(resultOf(await client.send("tools/list")));
  assert.deepEqual(
    Array.from(tools, (one) => Object(one)["name"]),
    ["web_search", "fail"],
  );
  assert.deepEqual(resultOf(await client.call("web_search", { query: "x" })), {
    content: [{ type: "text", text: "web_search x" }],
    isError: false,
  });
});

test("a function's result with a content block that clients cannot read is data", async () => {
  const echo = capability("echo", { intent: "Echoes", execute: ({ value }) => value });
  await using world = await served([echo]);
  const client = await world.client("ann");
  for (const block of [{ type: "bogus" }, { type: "text" }, { type: "image", data: "?", mimeType: "image/png" }]) {
    const value = { "troupe/content": [block] };
    assert.deepEqual(resultOf(await client.call("echo", { value })), {
      content: [{ type: "text", text: JSON.stringify(value) }],
      isError: false,
      structuredContent: value,
    });
  }
});

test("expose applies to list, call and resources: a hidden capability answers like an unknown one #packet.config.expose #packet.implied.11-expose", async () => {
  await using world = await served(ALL, { expose: ["describe_user"] });
  const client = await world.client("ann");
  const { tools } = Object(resultOf(await client.send("tools/list")));
  assert.deepEqual(
    Array.from(tools, (one) => Object(one)["name"]),
    ["describe_user"],
  );
  const [hidden, never] = [
    await client.call("user_transform", { user_id: "1", operations: [] }),
    await client.call("never", { user_id: "1" }),
  ];
  assert.deepEqual(errorOf(hidden), { code: -32602, message: "Unknown tool: user_transform" });
  assert.deepEqual(errorOf(never), { code: -32602, message: "Unknown tool: never" });
  assert.deepEqual(errorOf(await client.call("web_search", { query: "x" })), { code: -32602, message: "Unknown tool: web_search" });
  const { capabilities } = Object(await client.read("packetflow://capabilities"));
  assert.deepEqual(capabilities, [
    {
      id: "describe_user",
      intent: "Describes.",
      requires: ["name"],
      provides: [],
      actor_enabled: false,
      mcp_enabled: true,
      tools: ["describe_user"],
    },
  ]);
  await world.flow.actors.getOrCreateActor("chat_room", "mine", { viewer: { principal: "ann", scopes: [] } });
  assert.deepEqual(await client.read("packetflow://actors"), { actors: [] });
  assert.equal(errorOf(await client.send("resources/read", { uri: "packetflow://actor/chat_room/mine" }))["code"], -32002);
});

test("without generation, only tools that capabilities define themselves exist #packet.config.generate", async () => {
  await using world = await served(ALL, { generate: false });
  const client = await world.client("ann");
  const { tools } = Object(resultOf(await client.send("tools/list")));
  assert.deepEqual(
    Array.from(tools, (one) => Object(one)["name"]),
    ["web_search", "fail"],
  );
  assert.equal(errorOf(await client.call("numbers"))["code"], -32602);
});

test("a tool of an actor uses the caller's own actor or the one in actor_id, which is not in the payload #packet.implied.8-actor-id", async () => {
  await using world = await served(ALL);
  const [ann, bob] = [await world.client("ann"), await world.client("bob")];
  const one = { count: 1, fields: ["message"] };
  assert.deepEqual(resultOf(await ann.call("chat_room", { message: "a" }))["structuredContent"], one);
  assert.deepEqual(resultOf(await ann.call("chat_room", { message: "b", actor_id: "chat_room:ann" }))["structuredContent"], {
    ...one,
    count: 2,
  });
  assert.deepEqual(resultOf(await ann.call("chat_room", { message: "c", actor_id: "other" }))["structuredContent"], one);
  assert.deepEqual(resultOf(await bob.call("chat_room", { message: "d" }))["structuredContent"], one);
  assert.deepEqual(await ann.read("packetflow://actors"), {
    actors: [
      { capability_id: "chat_room", actor_id: "chat_room:ann", uri: "packetflow://actor/chat_room/chat_room%3Aann" },
      { capability_id: "chat_room", actor_id: "other", uri: "packetflow://actor/chat_room/other" },
    ],
  });
  const state = Object(await ann.read("packetflow://actor/chat_room/chat_room%3Aann"));
  assert.deepEqual(Object.keys(state), ["actor_id", "capability_id", "state", "metadata"]);
  assert.deepEqual([state.actor_id, state.state, state.metadata.message_count], ["chat_room:ann", { said: ["a", "b"] }, 2]);
});

test("another user's actor cannot be read, called, listed or distinguished from a missing one #packet.security.authorization", async () => {
  await using world = await served(ALL);
  const [ann, bob] = [await world.client("ann"), await world.client("bob")];
  await ann.call("chat_room", { message: "a", actor_id: "hers" });
  const uri = (id: string): string => `packetflow://actor/chat_room/${id}`;
  for (const method of ["resources/read", "resources/subscribe"]) {
    const [other, never] = [await bob.send(method, { uri: uri("hers") }), await bob.send(method, { uri: uri("none") })];
    assert.deepEqual(errorOf(other), { code: -32002, message: "Resource not found", data: { uri: uri("hers") } });
    assert.deepEqual(errorOf(never), { code: -32002, message: "Resource not found", data: { uri: uri("none") } });
  }
  const { structuredContent } = Object(resultOf(await bob.call("chat_room", { message: "b", actor_id: "hers" })));
  assert.equal(structuredContent.error.type, "actor_not_found");
  assert.deepEqual(await bob.read("packetflow://actors"), { actors: [] });
});

test("an actor_id that is not text, or too long, is an invalid argument", async () => {
  await using world = await served(ALL);
  const client = await world.client("ann");
  for (const actor_id of [7, "", "x".repeat(257)]) {
    const { code, data } = Object(errorOf(await client.call("chat_room", { message: "a", actor_id })));
    assert.equal(code, -32602);
    assert.match(String(data.capability_error), /actor_id/);
  }
});

test("C8 every client is notified when capabilities are added or removed, and the list is new #packet.mcp.server #packet.implied.7-changed", async () => {
  await using world = await served([transform]);
  const clients = [await world.client("ann"), await world.client("bob")];
  for (const client of clients) {
    await client.send("tools/list");
    await client.send("resources/subscribe", { uri: "packetflow://capabilities" });
  }
  const undo = world.capabilities.register(numbers);
  const both = ["notifications/tools/list_changed", "packetflow://capabilities"];
  for (const client of clients) {
    await until("it is told", () => client.notifications().length === 2);
    assert.deepEqual(client.notifications().toSorted(), both);
    assert.deepEqual(Object(resultOf(await client.send("tools/list")))["tools"].length, 2);
    assert.equal(Object(await client.read("packetflow://capabilities")).capabilities.length, 2);
  }
  undo();
  for (const client of clients) await until("it is told again", () => client.notifications().length === 4);
  assert.deepEqual(errorOf((await clients[0]?.call("numbers")) ?? {}), { code: -32602, message: "Unknown tool: numbers" });
});

for (const persistence of ["memory", "disk"] as const)
  test(`C8 a viewer is notified when its own actor changes, starts or stops, before the reply, and not of others (${persistence}) #packet.mcp.server #packet.resources`, async () => {
    const room = actorCapability("chat_room", {
      intent: "Keeps what was said.",
      initialState: { said: 0 },
      persistence,
      messages: {
        say: {
          run({ state }) {
            state.said += 1;
          },
        },
      },
    });
    await using world = await served([room]);
    const [ann, bob] = [await world.client("ann"), await world.client("bob")];
    const [uri, list] = ["packetflow://actor/chat_room/mine", "packetflow://actors"];
    const since = (from: number): readonly string[] => ann.notifications().slice(from).toSorted();
    for (const client of [ann, bob]) await client.send("resources/subscribe", { uri: list });
    await ann.call("chat_room", { actor_id: "mine" });
    assert.deepEqual(ann.notifications(), [list], "it begins");
    await ann.send("resources/subscribe", { uri });
    await ann.call("chat_room", { actor_id: "mine" });
    assert.deepEqual(since(1), [uri], "it changes");
    await world.flow.actors.terminateActor("chat_room", "mine", "enough", { principal: "ann", scopes: [] });
    await until("the end is told", () => ann.notifications().length === 4);
    assert.deepEqual(since(2), [uri, list].toSorted());
    await ann.call("chat_room", { actor_id: "mine" });
    assert.deepEqual(new Set(since(4)), new Set([uri, list]), "it begins again");
    const last = ann.notifications().length;
    assert.deepEqual(bob.notifications(), []);
    await bob.call("chat_room", { actor_id: "his" });
    assert.deepEqual([bob.notifications(), ann.notifications().length], [[list], last]);
  });

test("C8 another user's actor under the id of one's own stopped actor notifies no one", async () => {
  await using world = await served([chat]);
  const [ann, bob] = [await world.client("ann"), await world.client("bob")];
  await ann.call("chat_room", { message: "a", actor_id: "mine" });
  await ann.send("resources/subscribe", { uri: "packetflow://actor/chat_room/mine" });
  await world.flow.actors.terminateActor("chat_room", "mine", "enough", { principal: "ann", scopes: [] });
  await until("the end is told", () => ann.notifications().length === 1);
  await bob.call("chat_room", { message: "b", actor_id: "mine" });
  await bob.call("chat_room", { message: "c", actor_id: "mine" });
  await settle();
  const { actors } = Object(await bob.read("packetflow://actors"));
  assert.deepEqual([ann.notifications().length, actors.length], [1, 1]);
});

test("C8 a viewer with an actor whose key is * is not notified of other users' actors", async () => {
  await using world = await served([chat]);
  const [ann, bob] = [await world.client("ann"), await world.client("bob")];
  await ann.call("chat_room", { message: "a", actor_id: "*" });
  await ann.send("resources/subscribe", { uri: "packetflow://actor/chat_room/*" });
  await ann.call("chat_room", { message: "b", actor_id: "*" });
  await until("the change is notified", () => ann.notifications().length > 0);
  await settle();
  const before = ann.notifications().length;
  await bob.call("chat_room", { message: "c", actor_id: "his" });
  await settle();
  assert.equal(ann.notifications().length, before);
});

test("the engine is not watched without subscribers, or after the source is disposed", async () => {
  const watched = new Set<string>();
  const engine = {
    read: async () => undefined,
    watch(topic: string) {
      watched.add(topic);
      return () => void watched.delete(topic);
    },
  };
  const viewer: Viewer = { principal: "ann", scopes: [] };
  const capabilities = new Capabilities([chat]);
  const source = capabilitySource({
    capabilities,
    engine,
    actors: { listActors: async () => [], getActorState: () => Promise.reject(new Error("not asked")) },
    run: () => Promise.reject(new Error("not asked")),
  });
  const notifications: (OfferRef | undefined)[] = [];
  const undos = [
    source.watch(viewer, (ref) => void notifications.push(ref), { ref: "resources/capability_actors", args: {} }),
    source.watch(viewer, (ref) => void notifications.push(ref), {
      ref: "resources/capability_actor",
      args: { capability: "chat_room", id: "a b" },
    }),
  ];
  assert.deepEqual([...watched], ["chat-room/*", "chat-room/a%20b"]);
  for (const undo of undos) undo();
  assert.equal(watched.size, 0);
  source.watch(viewer, (ref) => void notifications.push(ref), { ref: "resources/capability_actors", args: {} });
  source.watch(viewer, (ref) => void notifications.push(ref));
  source[Symbol.dispose]();
  capabilities.register(numbers);
  assert.deepEqual([watched.size, notifications], [0, []]);
});

test("two tools of one name are an error at the start; later, the first stays and a warning is logged", async () => {
  const clash = mcpCapability("other", { intent: "x", tools: { numbers: { description: "y" } }, handleToolCall: () => "other's" });
  await assert.rejects(async () => served([numbers, clash]), {
    code: "NAME_COLLISION",
    message: /numbers and other both have a tool numbers/,
  });
  const lines: Json[] = [];
  await using world = await served([numbers], { log: (level, data) => void lines.push([level, data]) });
  const client = await world.client("ann");
  world.capabilities.register(clash);
  assert.deepEqual(Object(resultOf(await client.call("numbers")))["content"], [{ type: "text", text: "[1,2]" }]);
  assert.match(JSON.stringify(lines), /tool-name-taken.*numbers and other/);
  world.capabilities.unregister("numbers");
  assert.deepEqual(Object(resultOf(await client.call("numbers")))["content"], [{ type: "text", text: "other's" }]);
});

test("a run receives the viewer, trace and options of its call; callers without a principal read no actor", async () => {
  const given: unknown[] = [];
  const source = capabilitySource({
    capabilities: new Capabilities([numbers, chat]),
    engine: { read: async () => undefined, watch: () => () => undefined },
    actors: { listActors: async () => [], getActorState: () => Promise.reject(new Error("not asked")) },
    async run(id, payload, options) {
      given.push([id, payload, options]);
      return { result: null, execution_time_ms: 1, trace_id: "t" };
    },
    toolTimeoutMs: 5,
  });
  const viewer: Viewer = { principal: "ann", scopes: ["s"] };
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  const reply = await source.act(viewer, "tools/numbers", { x: 1 }, { key: "k", trace });
  assert.deepEqual(reply, { ok: { [CONTENT]: [{ type: "text", text: "null" }], isError: false } });
  const context = { user_id: "ann", trace_id: "0af7651916cd43dd8448eb211c80319c" };
  assert.deepEqual(given, [["numbers", { x: 1 }, { viewer, context, timeoutMs: 5, key: "k" }]]);
  const anonymous = await source.act({ scopes: [] }, "resources/capability_actor", { capability: "chat_room", id: "a" }, {});
  assert.equal(Object(Object(anonymous)["refused"])["code"], "UNKNOWN");
});

test("a capability unregistered during a call answers like an unknown one", async () => {
  const capabilities = new Capabilities([numbers]);
  const source = capabilitySource({
    capabilities,
    engine: { read: async () => undefined, watch: () => () => undefined },
    actors: { listActors: async () => [], getActorState: () => Promise.reject(new Error("not asked")) },
    async run(id) {
      capabilities.unregister(id);
      throw new PacketError("capability_not_found", "There is none.");
    },
  });
  const reply = await source.act({ scopes: [] }, "tools/numbers", {}, {});
  assert.equal(Object(Object(reply)["refused"])["code"], "UNKNOWN");
});

// Listed types and enforced types.

const outcome = (reply: JsonObject): unknown => Object(reply["result"])["structuredContent"] ?? Object(reply["error"])["data"];

test("a type guessed from a name is listed, but not enforced", async () => {
  const sum = capability("sum", { intent: "Adds.", requires: ["a", "b"], execute: ({ a, b }) => ({ sum: Number(a) + Number(b) }) });
  const who = capability("who", { intent: "Says.", requires: ["user_id", "tags"], execute: ({ user_id, tags }) => ({ user_id, tags }) });
  const looks = mcpCapability("looks", {
    intent: "Looks.",
    tools: { look: { description: "Looks.", parameters: ["result_count"], required: ["result_count"] } },
    handleToolCall: (_, { result_count }) => ({ result_count }),
  });
  await using on = await served([sum, who, looks]);
  const ada = await on.client("ada");
  assert.deepEqual(outcome(await ada.call("sum", { a: 1, b: 2 })), { sum: 3 });
  assert.deepEqual(outcome(await ada.call("who", { user_id: "auth0|1", tags: "one" })), { user_id: "auth0|1", tags: "one" });
  assert.deepEqual(outcome(await ada.call("look", { result_count: "all" })), { result_count: "all" });
  assert.deepEqual(outcome(await ada.call("look")), { capability_error: "Missing required field: result_count" });
  assert.deepEqual(outcome(await ada.call("sum", { a: 1 })), { capability_error: "Missing required field: b" });
});

test("actor_id names the actor, and is in the payload only if the capability requires it", async () => {
  const keyed = (id: string, about: { readonly requires?: readonly string[]; readonly parameters?: JsonObject }) =>
    actorCapability(id, {
      intent: "Keeps.",
      ...about,
      initialState: {},
      messages: { any: { run: ({ key, payload }) => ({ key, fields: Object.keys(payload) }) } },
    });
  const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
  const actor_id = { type: "string" };
  const text = { type: "string" };
  const all = [
    keyed("closed", { parameters: object({ text }, { additionalProperties: false }) }),
    keyed("declared", { parameters: object({ text, actor_id }) }),
    keyed("open", { parameters: object({ text }) }),
    keyed("marked", { parameters: object({ text, actor_id }, { required: ["actor_id"] }) }),
    keyed("needed", { requires: ["actor_id"] }),
  ];
  await using on = await served(all);
  for (const { id } of all) {
    // A user may have three actors at a time.
    const ada = await on.client(`ada of ${id}`);
    const fields = id === "marked" || id === "needed" ? ["text", "actor_id"] : ["text"];
    assert.deepEqual(outcome(await ada.call(id, { text: "t", actor_id: "k" })), { key: "k", fields }, id);
    assert.match(JSON.stringify(outcome(await ada.call(id, { text: "t", actor_id: 5 }))), /actor_id must be/, id);
  }
});

test("an exposed id that does not exist is logged, with the closest match", async () => {
  const warned: Json[] = [];
  await using _on = await served([numbers], { expose: ["numbers", "numbesr"], log: (level, data) => void warned.push({ level, data }) });
  assert.deepEqual(warned, [{ level: "warning", data: { event: "exposed-unknown", capability_id: "numbesr", meant: "numbers" } }]);
});
