import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../core/contract/index.ts";
import { actorCapability } from "./define-actor.ts";
import { capability, mcpCapability } from "./define-capability.ts";
import { fieldSchema, toolsOf } from "./mcp-tools.ts";

// A capability as MCP lists it.

const nothing = (): null => null;
const SPEC =
  '{"name":"user_transform","description":"Transform user data with specified operations","inputSchema":{"type":"object","properties":{"user_id":{"type":"string"},"operations":{"type":"array"}},"required":["user_id","operations"]}}';

const guessed = (field: string): JsonObject => {
  const { description: _description, ...schema } = fieldSchema(field, "c");
  return schema;
};

const actorOf = (id: string, about: { readonly intent: string; readonly requires?: readonly string[]; readonly parameters?: JsonObject }) =>
  actorCapability(id, { ...about, initialState: {}, messages: { any: { run: nothing } } });

test("declared parameters give the specification's tools/list entry byte for byte", () => {
  const about = {
    intent: "Transform user data with specified operations",
    requires: ["user_id", "operations"],
    parameters: {
      type: "object",
      properties: { user_id: { type: "string" }, operations: { type: "array" } },
      required: ["user_id", "operations"],
    },
  };
  assert.equal(JSON.stringify(toolsOf(capability("user_transform", { ...about, execute: nothing }))), `[${SPEC}]`);
});

test("the tools of a capability are cached #packet.speed.discovery", () => {
  const one = capability("c", { intent: "Does.", requires: ["a"], execute: nothing });
  assert.equal(toolsOf(one), toolsOf(one));
});

test("without parameters, the required fields are guessed from their names #packet.phase.2-generation", () => {
  const [tool] = toolsOf(capability("user_transform", { intent: "Does.", requires: ["user_id", "operations"], execute: nothing }));
  assert.deepEqual(tool?.inputSchema, {
    type: "object",
    properties: {
      user_id: { type: "string", minLength: 1, description: "The user id that user_transform asks for." },
      operations: { type: "array", description: "The operations that user_transform asks for." },
    },
    required: ["user_id", "operations"],
  });
});

test("a capability that requires nothing has no member required", () => {
  const [tool] = toolsOf(capability("now", { intent: "Tells the time.", execute: nothing }));
  assert.deepEqual(tool?.inputSchema, { type: "object", properties: {} });
});

test("the type of a field is guessed from its name", () => {
  const id = { type: "string", minLength: 1 };
  const cases: readonly (readonly [string, JsonObject])[] = [
    ["order_id", id],
    ["orderId", id],
    ["id", id],
    ["retry_count", { type: "integer", minimum: 0 }],
    ["cache_enabled", { type: "boolean" }],
    ["user_list", { type: "array" }],
    ["operations", { type: "array" }],
    ["user_ids", { type: "array" }],
    ["photos", { type: "array" }],
    ["email", { type: "string", format: "email" }],
    ["contact_email", { type: "string", format: "email" }],
    ["emails", { type: "array" }],
    ["url", { type: "string", format: "uri" }],
    ["callback_url", { type: "string", format: "uri" }],
    ["max_results", { type: "number" }],
    ["timeout_ms", { type: "number" }],
    ["message", { type: "string" }],
    ["status", {}],
    ["address", { type: "string" }],
    ["analysis", {}],
    ["dns", {}],
    ["valid", {}],
    ["account", {}],
    ["", {}],
  ];
  for (const [field, schema] of cases) assert.deepEqual(guessed(field), schema, field);
});

test("a required field missing in the parameters is added, and their keywords stay", () => {
  const parameters = { type: "object", properties: { user_id: { type: "integer" } }, additionalProperties: false };
  const [tool] = toolsOf(capability("c", { intent: "Does.", requires: ["user_id", "operations"], parameters, execute: nothing }));
  assert.deepEqual(tool?.inputSchema, {
    type: "object",
    properties: { user_id: { type: "integer" }, operations: { type: "array", description: "The operations that c asks for." } },
    additionalProperties: false,
    required: ["user_id", "operations"],
  });
});

test("composed parameters stay unchanged", () => {
  const parameters = { type: "object", allOf: [{ properties: { a: {} }, required: ["a"] }] };
  const [tool] = toolsOf(capability("c", { intent: "Does.", requires: ["a"], parameters, execute: nothing }));
  assert.equal(tool?.inputSchema, parameters);
});

test("an actor's guessed parameters have an optional actor_id #packet.implied.8-actor-id", () => {
  const [tool] = toolsOf(actorOf("chat", { intent: "Talks.", requires: ["message"] }));
  const schema: JsonObject = tool?.inputSchema ?? {};
  assert.deepEqual(Object.keys(Object(schema["properties"])), ["message", "actor_id"]);
  assert.deepEqual(schema["required"], ["message"]);
  const [own] = toolsOf(actorOf("chat", { intent: "Talks.", requires: ["actor_id"] }));
  assert.deepEqual(own?.inputSchema["required"], ["actor_id"], "required by the capability itself, it is guessed like any other");
});

test("an actor's declared parameters get an undeclared actor_id", () => {
  const properties = { text: { type: "string" } };
  for (const more of [{ additionalProperties: false }, { allOf: [{ required: ["text"] }] }]) {
    const [tool] = toolsOf(actorOf("notes", { intent: "Notes.", parameters: { type: "object", properties, ...more } }));
    assert.deepEqual(Object.keys(Object(tool?.inputSchema["properties"])), ["text", "actor_id"]);
  }
  const own = { type: "object", properties: { actor_id: { type: "string", description: "Whose" } } };
  assert.equal(toolsOf(actorOf("notes", { intent: "Notes.", parameters: own }))[0]?.inputSchema, own);
});

test("a capability of tools lists its own #packet.tools.definition", () => {
  const one = mcpCapability("web", {
    intent: "Looks things up.",
    tools: {
      web_search: { description: "Searches.", parameters: { query: { type: "string" }, limit: { type: "integer" } }, required: ["query"] },
    },
    handleToolCall: nothing,
  });
  assert.deepEqual(toolsOf(one), [
    {
      name: "web_search",
      description: "Searches.",
      inputSchema: { type: "object", properties: { query: { type: "string" }, limit: { type: "integer" } }, required: ["query"] },
    },
  ]);
});

test("fields with hostile names become properties and nothing else", () => {
  const [tool] = toolsOf(capability("c", { intent: "Does.", requires: ["__proto__", "constructor"], execute: nothing }));
  const properties: object = Object(tool?.inputSchema["properties"]);
  assert.deepEqual(Object.keys(properties), ["__proto__", "constructor"]);
  assert.equal(Object.getPrototypeOf(properties), Object.prototype);
});

test("a capability without an intent is described by its id", () => {
  const one = { ...capability("c", { intent: "x", execute: nothing }), intent: "" };
  assert.equal(toolsOf(one)[0]?.description, "PacketFlow capability: c");
});

void test("a tool's parameters may be names alone, as in the specification", () => {
  const search = mcpCapability("search", {
    intent: "Search the web",
    tools: { web_search: { description: "Search", parameters: ["query", "result_count"], required: ["query"] } },
    handleToolCall: () => "found",
  });
  const [tool] = toolsOf(search);
  assert.deepEqual(Object(tool?.inputSchema["properties"])["query"].type, "string");
  assert.deepEqual(Object(tool?.inputSchema["properties"])["result_count"].type, "integer");
  assert.deepEqual(tool?.inputSchema["required"], ["query"]);
});

void test("a tool's parameters may be a whole schema; an invalid one is refused at its definition", () => {
  const of = (parameters: JsonObject) =>
    mcpCapability("search", {
      intent: "Search the web",
      tools: { web_search: { description: "Search", parameters } },
      handleToolCall: nothing,
    });
  const schema = { type: "object", properties: { query: { type: "string" } }, required: ["query"] };
  assert.deepEqual(toolsOf(of(schema))[0]?.inputSchema, schema);
  assert.deepEqual(toolsOf(of({ query: { type: "string" } }))[0]?.inputSchema, {
    type: "object",
    properties: { query: { type: "string" } },
  });
  for (const wrong of [{ type: "objct", properties: {} }, { query: "string" }])
    assert.throws(() => of(wrong), { code: "BAD_DEFINITION" }, JSON.stringify(wrong));
  assert.throws(() => capability("c", { intent: "Does", parameters: { type: "string" }, execute: nothing }), { code: "BAD_DEFINITION" });
});
