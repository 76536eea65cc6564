// Variations of the folder's transcripts with other names, ids and orders, to test the meaning and not one example.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, Json } from "../../src/core/contract/index.ts";
import { fixtureOf } from "./fixture.ts";
import { play } from "./play.ts";

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is JSON-RPC; strings are sent unchanged. */
  readonly body?: Json;
  readonly status?: number;
  readonly answer?: Json;
  readonly session?: string;
  readonly frames?: readonly { readonly id?: string; readonly event?: string; readonly data: string }[];
}

const BOTH = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const lists = (all: Readonly<Record<string, string>>): Json =>
  Object.fromEntries(Object.entries(all).map(([name, value]) => [name, [value]]));

function written(setup: JsonObject, steps: readonly Sent[]): unknown {
  const server = { name: "Varied", version: "v" };
  return {
    id: "varied",
    name: "varied",
    setup: { mcp: { server, id_sequence: ["s-1", "s-2"], ...setup } },
    input: {
      mcp: {
        steps: steps.map(({ method = "POST", headers = {}, body }, at) => ({
          name: `step ${at}`,
          request: {
            method,
            path: "/mcp",
            headers: lists({ ...(method === "POST" ? BOTH : {}), ...headers }),
            ...(body === undefined ? {} : { body: { encoding: "utf8", value: typeof body === "string" ? body : JSON.stringify(body) } }),
          },
        })),
      },
    },
    expect: {
      mcp: {
        steps: steps.map(({ status = 200, answer, session, frames }) => ({
          status,
          headers: lists({
            ...(answer === undefined ? {} : { "content-type": "application/json" }),
            ...(frames === undefined ? {} : { "content-type": "text/event-stream" }),
            ...(session === undefined ? {} : { "mcp-session-id": session }),
            "x-request-id": "req",
          }),
          ...(answer === undefined ? {} : { body_json: answer }),
          ...(frames === undefined ? {} : { sse_frames: frames }),
        })),
      },
    },
  };
}

const played = async (setup: JsonObject, steps: readonly Sent[]): Promise<void> =>
  assert.deepEqual(await play(fixtureOf(written(setup, steps)), "apptheory-v3"), []);

const ask = (id: Json, method: string, params?: JsonObject): JsonObject & { readonly method: string } => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
const result = (id: Json, value: Json): JsonObject => ({ jsonrpc: "2.0", id, result: value });
const error = (id: Json, code: number, message: string, data?: Json): JsonObject => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
});
const begin = (capabilities: JsonObject = {}, wanted = "2025-11-25", protocolVersion = wanted): Sent => ({
  body: ask(0, "initialize", { protocolVersion: wanted }),
  answer: result(0, { protocolVersion, capabilities, serverInfo: { name: "Varied", version: "v" } }),
  session: "s-1",
});
const within = (body: Json, answer: Json): Sent => ({ headers: { "mcp-session-id": "s-1" }, body, answer });

const schema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
const tool = (name: string, handler: string): JsonObject => ({ name, description: name, input_schema: schema, handler });
const tools = [tool("shout", "echo_text"), tool("break", "fail_error"), tool("walk", "stream_progress"), tool("ask", "input_required")];

test("tools of any name and ids of any kind get results, failures and invalid-call errors #apptheory.later.fixtures", async () => {
  const call = (id: Json, params: JsonObject): JsonObject => ask(id, "tools/call", params);
  await played({ tools }, [
    begin({ tools: {} }),
    within(call("é", { name: "shout", arguments: { message: "hé" } }), result("é", { content: [{ type: "text", text: "hé" }] })),
    within(call(-7, { name: "break", arguments: { message: "" } }), error(-7, -32000, "fixture tool failed")),
    within(call(1, { name: "no such", arguments: {} }), error(1, -32602, "tool not found: no such")),
    within(call(2, {}), error(2, -32602, "Invalid params: missing tool name")),
    within(call(3, { name: "shout", arguments: { message: "" }, task: {} }), error(3, -32601, "Method not found: tasks not enabled")),
    within(
      call(4, { name: "ask", arguments: { message: "m" } }),
      error(4, -32600, "input_required results require MCP protocol version 2026-07-28"),
    ),
    within(ask(5, "tasks/get", { taskId: "t" }), error(5, -32601, "Method not found: tasks/get")),
    within(ask(6, "completion/complete", {}), error(6, -32601, "Method not found: completion/complete")),
    within(ask(7, "logging/setLevel", { level: "info" }), error(7, -32601, "Method not found: logging/setLevel")),
    within(ask(8, "resources/list"), result(8, { resources: [] })),
  ]);
});

test("resources may be text, bytes or several parts; a URI that only fits a template is not found #apptheory.capabilities.some #apptheory.resources.contents", async () => {
  const resources = [
    {
      uri: "x://a",
      name: "a",
      title: "A",
      mime_type: "text/plain",
      size: 1,
      contents: [{ uri: "x://a", mime_type: "text/plain", text: "a" }],
    },
    {
      uri: "x://b",
      name: "b",
      contents: [
        { uri: "x://b/1", blob: "AQID" },
        { uri: "x://b/2", text: "" },
      ],
    },
  ];
  const resource_templates = [{ uri_template: "x://t/{id}", name: "t", title: null, description: "T", mime_type: "text/plain" }];
  await played({ resources, resource_templates, tools: null }, [
    begin({ resources: {} }),
    within(
      ask(1, "resources/list"),
      result(1, {
        resources: [
          { uri: "x://a", name: "a", title: "A", mimeType: "text/plain", size: 1 },
          { uri: "x://b", name: "b" },
        ],
      }),
    ),
    within(
      ask(2, "resources/templates/list", {}),
      result(2, { resourceTemplates: [{ uriTemplate: "x://t/{id}", name: "t", description: "T", mimeType: "text/plain" }] }),
    ),
    within(ask(3, "resources/read", { uri: "x://a" }), result(3, { contents: [{ uri: "x://a", mimeType: "text/plain", text: "a" }] })),
    within(
      ask(4, "resources/read", { uri: "x://b" }),
      result(4, {
        contents: [
          { uri: "x://b/1", blob: "AQID" },
          { uri: "x://b/2", text: "" },
        ],
      }),
    ),
    within(ask(5, "resources/read", { uri: "x://t/5" }), error(5, -32602, "resource not found: x://t/5")),
    within(ask(6, "resources/read", {}), error(6, -32602, "Invalid params: missing uri")),
    within(ask(7, "prompts/get", { name: "none" }), error(7, -32602, "prompt not found: none")),
    within(ask(8, "prompts/get", {}), error(8, -32602, "Invalid params: missing name")),
  ]);
});

test("a session lasts from initialize, in the negotiated revision, until it is deleted or expires #apptheory.later.cancel #apptheory.later.delete #apptheory.later.versions #apptheory.later.headers", async () => {
  const seed = [
    { id: "old", expires_unix_ms: 1_000, data: { protocolVersion: "2025-11-25" } },
    { id: "kept", expires_unix_ms: null, data: { protocolVersion: "2025-06-18", initialized: "true" } },
  ];
  const ping = (session: string, version?: string): Sent => ({
    headers: { "mcp-session-id": session, ...(version === undefined ? {} : { "mcp-protocol-version": version }) },
    body: ask(1, "ping"),
  });
  const bare = (why: string): Json => ({ error: why });
  await played({ session_store: { seed } }, [
    { body: ask(1, "ping"), status: 400, answer: bare("missing Mcp-Session-Id") },
    { ...ping("unknown"), status: 404, answer: bare("session not found") },
    { ...ping("old"), status: 404, answer: bare("session not found") },
    { ...ping("kept"), answer: result(1, {}) },
    { ...ping("kept", "2025-06-18"), answer: result(1, {}) },
    { ...ping("kept", "2025-11-25"), status: 400, answer: bare("MCP-Protocol-Version mismatch") },
    { ...ping("kept", "1999-01-01"), status: 400, answer: bare("unsupported MCP-Protocol-Version") },
    begin({}, "2025-03-26"),
    { ...begin({}, "1999-01-01", "2025-11-25"), headers: { "mcp-session-id": "kept" }, session: "s-2" },
    { ...ping("kept"), answer: result(1, {}) },
    {
      headers: { "mcp-session-id": "s-2" },
      body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
      status: 202,
    },
    { method: "DELETE", status: 400, answer: bare("missing Mcp-Session-Id") },
    { method: "DELETE", headers: { "mcp-session-id": "unknown" }, status: 404, answer: bare("session not found") },
    { method: "DELETE", headers: { "mcp-session-id": "s-1" }, status: 202 },
    { method: "DELETE", headers: { "mcp-session-id": "s-1" }, status: 404, answer: bare("session not found") },
    { method: "PUT", status: 405, answer: bare("method not allowed") },
    {
      method: "GET",
      headers: { "mcp-session-id": "s-2", accept: "application/json" },
      status: 400,
      answer: bare("GET /mcp requires Accept: text/event-stream"),
    },
    {
      headers: { "content-type": "text/plain" },
      status: 400,
      answer: bare("POST /mcp requires Content-Type: application/json"),
      body: ask(1, "ping"),
    },
    {
      headers: { accept: "application/json, text/event-stream;q=0" },
      body: ask(1, "ping"),
      status: 400,
      answer: bare("POST /mcp requires Accept: application/json and text/event-stream"),
    },
  ]);
});

test("a non-message is a parse error without an id; an invalid response is refused in plain JSON #apptheory.later.errors", async () => {
  const wrong = (body: Json, why: string): Sent => ({ body, answer: error(null, -32700, `Parse error: ${why}`) });
  await played({}, [
    wrong("{", "The message is not JSON."),
    wrong({ id: 1, method: "ping" }, "missing required field: jsonrpc"),
    wrong({ jsonrpc: "1.0", id: 1, method: "ping" }, "unsupported jsonrpc version: 1.0"),
    wrong({ jsonrpc: "2.0", id: null, method: "ping" }, "id must not be null"),
    wrong({ jsonrpc: "2.0", id: 1, method: "" }, "method must not be empty"),
    { body: { jsonrpc: "2.0", id: 1 }, status: 400, answer: { error: "invalid JSON-RPC message" } },
    { body: { jsonrpc: "2.0", id: 1, result: {}, error: {} }, status: 400, answer: { error: "invalid JSON-RPC response" } },
  ]);
});

test("batches (2025-03-26) are answered in order, without replies to notifications, or refused whole #apptheory.later.batches", async () => {
  await played({ tools }, [
    begin({ tools: {} }, "2025-03-26"),
    within(
      [ask(1, "ping"), { jsonrpc: "2.0", method: "notifications/initialized" }, ask(2, "none")],
      [result(1, {}), error(2, -32601, "Method not found: none")],
    ),
    within([], error(null, -32700, "Parse error: empty batch request")),
    within([ask(1, "ping"), ask(null, "ping")], error(null, -32700, "Parse error: batch element 1: id must not be null")),
    { headers: { "mcp-session-id": "s-1" }, body: [{ jsonrpc: "2.0", method: "notifications/initialized" }], status: 202 },
    { ...begin({ tools: {} }), session: "s-2" },
    {
      headers: { "mcp-session-id": "s-2" },
      body: [ask(1, "ping")],
      status: 400,
      answer: { error: "batch requests are only supported for MCP-Protocol-Version 2025-03-26" },
    },
  ]);
});

test("a batch without a session is no message, however or whether it names a version", async () => {
  const invalid = error(null, -32700, "Parse error: invalid JSON object");
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  await played({ tools }, [
    { body: [ask("a", "initialize", { _meta: meta })], answer: invalid },
    { headers: { "mcp-protocol-version": "2026-07-28" }, body: [ask("b", "tools/list")], answer: invalid },
    { body: [ask(1, "ping"), ask(2, "ping")], answer: invalid },
    { headers: { "mcp-protocol-version": "2025-03-26" }, body: [ask(1, "ping")], status: 400, answer: { error: "missing Mcp-Session-Id" } },
  ]);
});

test("a tool that reports steps is answered by events, even without a progress token #apptheory.later.streams", async () => {
  const frames = [
    { id: "1", data: "" },
    { id: "2", event: "message", data: JSON.stringify(result("w", { content: [{ type: "text", text: "there" }] })) },
  ];
  await played({ tools }, [
    begin({ tools: {} }),
    {
      headers: { "mcp-session-id": "s-1" },
      body: ask("w", "tools/call", { name: "walk", arguments: { message: "there" } }),
      frames,
      session: "s-1",
    },
    {
      method: "GET",
      headers: { "mcp-session-id": "s-1", accept: "text/event-stream", "last-event-id": "1" },
      frames: frames.slice(1),
      session: "s-1",
    },
    {
      method: "GET",
      headers: { "mcp-session-id": "s-1", accept: "text/event-stream", "last-event-id": "77" },
      status: 404,
      answer: { error: "event not found" },
    },
  ]);
});

const modern = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const stateless = (body: JsonObject & { readonly method: string }, name: string | undefined, answer: Json, status = 200): Sent => ({
  headers: {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": body.method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  },
  body,
  answer,
  status,
});

test("a server can be configured to omit its name from results of 2026-07-28", async () => {
  const server = { name: "Varied", version: "v", include_server_info_metadata: false };
  const call = ask("m", "tools/call", { name: "shout", arguments: { message: "private" }, _meta: modern });
  await played({ tools, server }, [
    stateless(call, "shout", result("m", { content: [{ type: "text", text: "private" }], resultType: "complete" })),
    stateless(
      ask("l", "prompts/list", { _meta: modern }),
      undefined,
      result("l", { prompts: [], resultType: "complete", ttlMs: 0, cacheScope: "private" }),
    ),
  ]);
});

test("2026-07-28 has no sessions: removed methods are unknown, and missing headers are reported #apptheory.later.fixtures", async () => {
  const ours = (method: string, params: JsonObject = {}) => ask("m", method, { ...params, _meta: modern });
  const meta = { _meta: { "io.modelcontextprotocol/serverInfo": { name: "Varied", version: "v" } }, resultType: "complete" };
  const noName = error("m", -32602, "Invalid params: params.name must be a non-empty string");
  await played({ tools }, [
    stateless(ours("ping"), undefined, error("m", -32601, "Method not found: ping"), 404),
    stateless(ours("completion/complete"), undefined, error("m", -32601, "Method not found: completion/complete"), 404),
    stateless(ours("tools/call"), undefined, noName, 400),
    stateless(ours("tools/call", { name: "" }), undefined, noName, 400),
    stateless(
      ours("tools/call", { name: "shout" }),
      undefined,
      error("m", -32020, "Header mismatch: missing required Mcp-Name header"),
      400,
    ),
    stateless(ours("tools/call", { name: "break", arguments: { message: "" } }), "break", error("m", -32000, "fixture tool failed")),
    stateless(ours("tools/call", { name: "none" }), "none", error("m", -32602, "tool not found: none")),
    stateless(
      ours("tools/call", { name: "shout", arguments: { message: "x" } }),
      "shout",
      result("m", { content: [{ type: "text", text: "x" }], ...meta }),
    ),
    {
      headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" },
      body: ours("tools/list"),
      status: 400,
      answer: error("m", -32020, "Header mismatch: Mcp-Method does not match request method"),
    },
    {
      headers: { "mcp-protocol-version": "2026-07-28" },
      body: ours("tools/list"),
      status: 400,
      answer: error("m", -32020, "Header mismatch: missing required Mcp-Method header"),
    },
  ]);
});

test("a client without a session may list what is served, in the session format #apptheory.later.fixtures", async () => {
  const answer = result("d", {
    supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
    capabilities: { tools: {} },
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "Varied", version: "v" } },
  });
  await played({ tools }, [
    { headers: { "mcp-protocol-version": "2025-11-25" }, body: ask("d", "server/discover", {}), answer },
    { body: ask("d", "server/discover"), answer },
  ]);
});

test("an unknown handler fails when it is called, and everything else is played #apptheory.later.runner", async () => {
  const [echo] = tools;
  const steps = [
    begin({ tools: {} }),
    within(ask(1, "tools/call", { name: "shout", arguments: { message: "x" } }), error(1, -32000, "This runner has no handler later.")),
  ];
  await played({ tools: [{ ...echo, handler: "later" }] }, steps);
  assert.throws(() => fixtureOf({ id: "x", name: "x" }), /This is no transcript: setup: /);
  const { input, expect, ...rest } = fixtureOf(written({}, [begin()]));
  assert.throws(
    () => fixtureOf({ ...rest, input, expect: { mcp: { steps: [...expect.mcp.steps, ...expect.mcp.steps] } } }),
    /other steps than answers/,
  );
});
