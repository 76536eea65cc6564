import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer, JsonObject } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf, type Sent } from "./kit.fixture.ts";
import type { GatewayOptions } from "./options.ts";

const BOTH = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const JSON_ONLY = { "content-type": "application/json", accept: "application/json" };
const SESSION = "mcp-session-id";

const source = (): GatewayOptions["source"] =>
  registry({
    tools: {
      echo: {
        input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
        work: ({ args }) => args["message"] ?? null,
      },
      fail: {
        work() {
          throw new Error("out of ink");
        },
      },
      steps: {
        work({ progress }) {
          progress(1, 2, "half", { status: "started" });
          progress(2, 2, "whole");
          progress(3, undefined, "null", null);
          return "ok";
        },
      },
    },
    resources: { hello: { uri: "file://hello.txt", mimeType: "text/plain", view: () => "hello world" } },
  });

const gateway = (profile: NonNullable<GatewayOptions["profile"]>, more: Partial<GatewayOptions> = {}): ReturnType<typeof gatewayOf> =>
  gatewayOf(source(), { profile, ...more });

const ask = (id: number, method: string, params: JsonObject = {}): JsonObject => ({ jsonrpc: "2.0", id, method, params });

async function post(
  to: ReturnType<typeof gatewayOf>,
  body: unknown,
  headers: Readonly<Record<string, string>> = JSON_ONLY,
): Promise<Answer & { readonly sent: Sent }> {
  const sent = exchangeOf("POST", headers, body);
  return { ...(await to.exchange(sent.exchange)), sent };
}

const errorIn = (answer: Answer): unknown => bodyOf(answer)["error"];

describe("the dialect apptheory", () => {
  test("lists everything on one page unless a page size is given", async () => {
    const work = (): string => "ran";
    const many = registry({ tools: Object.fromEntries(Array.from({ length: 450 }, (_, n) => [`t${n}`, { work }])) });
    const listed = async (options: Partial<GatewayOptions>): Promise<readonly unknown[]> => {
      await using served = gatewayOf(many, { profile: "apptheory", ...options });
      const { result } = JSON.parse(JSON.stringify(bodyOf(await post(served, ask(1, "tools/list")))));
      return [result.tools.length, typeof result.nextCursor];
    };
    assert.deepEqual(await listed({}), [450, "undefined"]);
    assert.deepEqual(await listed({ pageSize: 100 }), [100, "string"]);
  });

  test("answers initialize with its only revision and with what it offers besides tools #apptheory.transport.revision #apptheory.capabilities.tools #apptheory.capabilities.some #apptheory.capabilities.stable", async () => {
    await using served = gateway("apptheory");
    const { result } = bodyOf(await post(served, ask(1, "initialize")));
    assert.deepEqual(result, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: "test", version: "1.0.0", title: "Test" },
    });
    await using empty = gatewayOf(registry({}), { profile: "apptheory" });
    const { result: bare } = bodyOf(await post(empty, ask(1, "initialize", { protocolVersion: "2025-11-25" })));
    assert.deepEqual(bare, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "test", version: "1.0.0", title: "Test" },
    });
  });

  test("names the session in every answer, also to a malformed message #apptheory.transport.session", async () => {
    await using served = gateway("apptheory");
    const { headers } = await post(served, ask(1, "initialize"));
    const id = headers?.[SESSION] ?? "";
    assert.match(id, /^[0-9a-f]{32}$/);
    for (const body of [
      ask(2, "ping"),
      ask(3, "nothing/here"),
      { jsonrpc: "2.0", method: "notifications/initialized" },
      "{",
      [ask(4, "ping")],
      [],
    ])
      assert.equal((await post(served, body, { ...JSON_ONLY, [SESSION]: id })).headers?.[SESSION], id, JSON.stringify(body));
    const fresh = await post(served, "{");
    assert.match(fresh.headers?.[SESSION] ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual([fresh.status, errorIn(fresh)], [200, { code: -32700, message: "Parse error: The message is not JSON." }]);
  });

  test("reports a failing handler as an error, and has its own messages for unknown names", async () => {
    await using served = gateway("apptheory");
    const call = async (name: string, args: JsonObject = {}): Promise<unknown> =>
      errorIn(await post(served, ask(1, "tools/call", { name, arguments: args })));
    assert.deepEqual(await call("fail"), { code: -32000, message: "out of ink" });
    assert.deepEqual(await call("none"), { code: -32602, message: "tool not found: none" });
    assert.match(JSON.stringify(await call("echo")), /-32602,"message":"Invalid params: .*message/);
    assert.deepEqual(errorIn(await post(served, ask(1, "tools/call"))), { code: -32602, message: "Invalid params: missing tool name" });
    assert.deepEqual(errorIn(await post(served, ask(1, "resources/read", { uri: "file://no" }))), {
      code: -32602,
      message: "resource not found: file://no",
    });
    assert.deepEqual(errorIn(await post(served, ask(1, "resources/read"))), { code: -32602, message: "Invalid params: missing uri" });
    assert.deepEqual(errorIn(await post(served, ask(1, "prompts/get", { name: "no" }))), { code: -32602, message: "prompt not found: no" });
  });

  test("reports an invalid id, method, name or URI as invalid and not as missing", async () => {
    const name = "text of 1 to 256 characters.";
    for (const profile of ["apptheory", "apptheory-v3"] as const) {
      await using served = gateway(profile);
      const begun = await post(served, ask(0, "initialize", { protocolVersion: "2025-06-18" }), BOTH);
      const headers = { ...BOTH, [SESSION]: begun.headers?.[SESSION] ?? "" };
      const errorOf = async (body: JsonObject): Promise<unknown> => {
        const { sent, ...answer } = await post(served, body, headers);
        const [event] = sent.channel.events;
        return (event === undefined ? bodyOf(answer) : JSON.parse(event.text))["error"];
      };
      const parse = (message: string): JsonObject => ({ code: -32700, message: `Parse error: ${message}` });
      const params = (message: string): JsonObject => ({ code: -32602, message: `Invalid params: ${message}` });
      for (const id of [1.5, {}, true, "x".repeat(300)])
        assert.deepEqual(
          await errorOf({ jsonrpc: "2.0", id, method: "ping" }),
          parse("An id is well-formed text of at most 256 characters or a whole number up to 2^53 - 1, not null."),
        );
      for (const method of [5, "x".repeat(300)])
        assert.deepEqual(await errorOf({ jsonrpc: "2.0", id: 1, method }), parse(`A method is ${name}`));
      for (const wrong of [5, "x".repeat(5_000)]) {
        assert.deepEqual(await errorOf(ask(1, "tools/call", { name: wrong })), params(`tools/call needs a name: ${name}`));
        assert.deepEqual(await errorOf(ask(1, "prompts/get", { name: wrong })), params(`prompts/get needs a name: ${name}`));
      }
      assert.match(
        JSON.stringify(await errorOf(ask(1, "resources/read", { uri: 5 }))),
        /Invalid params: resources\/read needs a uri: text/,
      );
      for (const missing of [{}, { name: "" }, { name: null }])
        assert.deepEqual(await errorOf(ask(1, "tools/call", missing)), params("missing tool name"));
    }
  });

  test("answers a tool call by an event stream with progress if the client accepts one", async () => {
    await using served = gateway("apptheory");
    const params = { name: "steps", _meta: { progressToken: "p" } };
    const { sent } = await post(served, ask(1, "tools/call", params), { "content-type": "application/json", accept: "text/event-stream" });
    assert.match(sent.head()[SESSION] ?? "", /^[0-9a-f]{32}$/);
    const events = sent.channel.events.map(({ event, text }): readonly [unknown, JsonObject] => [event, JSON.parse(text)]);
    const progress = (done: number, message: string): JsonObject => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "p", progress: done, ...(done < 3 && { total: 2 }), message },
    });
    assert.deepEqual(events, [
      ["progress", { status: "started" }],
      ["message", progress(1, "half")],
      ["progress", { progress: 2, total: 2, message: "whole" }],
      ["message", progress(2, "whole")],
      ["progress", null],
      ["message", progress(3, "null")],
      ["message", { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "ok" }] } }],
    ]);
    const failed = await post(served, ask(2, "tools/call", { name: "none" }), BOTH);
    assert.deepEqual(
      failed.sent.channel.events.map(({ event, text }) => [event, JSON.parse(text).error.message]),
      [["message", "tool not found: none"]],
    );
    assert.equal((await post(served, ask(3, "tools/call", params))).sent.opened(), false);
    assert.equal((await post(served, ask(4, "tools/list"), BOTH)).sent.opened(), false);
  });

  test("asks no question of a client that accepts JSON only", async () => {
    const elicitation = { method: "elicitation/create", params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } } };
    const asking = registry({ tools: { sure: { work: ({ ask: put }) => put({ sure: elicitation }) } } });
    await using served = gatewayOf(asking, { profile: "apptheory" });
    const { headers } = await post(served, ask(1, "initialize", { capabilities: { elicitation: {} } }));
    const session = { [SESSION]: headers?.[SESSION] ?? "" };
    const answer = await post(served, ask(2, "tools/call", { name: "sure" }), { ...JSON_ONLY, ...session });
    assert.equal(answer.sent.opened(), false);
    assert.match(JSON.stringify(bodyOf(answer)), /which needs an event stream: accept text\/event-stream/);
  });

  test("performs a batch in order, and refuses one with a malformed element as a whole", async () => {
    await using served = gateway("apptheory");
    const answer = await post(served, [ask(1, "ping"), { jsonrpc: "2.0", method: "notifications/initialized" }, ask(2, "nothing/here")]);
    assert.deepEqual(JSON.parse(JSON.stringify(bodyOf(answer))), [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "Method not found: nothing/here" } },
    ]);
    const empty = await post(served, []);
    assert.deepEqual([empty.status, errorIn(empty)], [200, { code: -32700, message: "Parse error: empty batch request" }]);
    const bad = await post(served, [ask(1, "ping"), { id: 2 }]);
    assert.deepEqual(
      [bad.status, errorIn(bad)],
      [200, { code: -32700, message: 'Parse error: batch element 1: A message says "jsonrpc": "2.0".' }],
    );
  });
});

test("cache hints come from the options, else from the dialect, and never for answered rounds", async () => {
  const cacheHints: GatewayOptions["cacheHints"] = {
    "tools/list": { ttlMs: 1_500.7, cacheScope: "public" },
    "resources/read": { ttlMs: -5 },
  };
  const cacheHintsOf = async (
    profile: NonNullable<GatewayOptions["profile"]>,
    method: string,
    params: JsonObject = {},
    more: Partial<GatewayOptions> = {},
  ): Promise<unknown> => {
    await using served = gateway(profile, more);
    const headers = { ...BOTH, "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": "file://hello.txt" };
    const { result } = bodyOf(await post(served, ask(1, method, { ...params, _meta: ENVELOPE }), headers));
    const { ttlMs, cacheScope } = JSON.parse(JSON.stringify(result));
    return [ttlMs, cacheScope];
  };
  assert.deepEqual(await cacheHintsOf("strict", "tools/list", {}, { cacheHints }), [1_500, "public"]);
  assert.deepEqual(await cacheHintsOf("strict", "resources/read", { uri: "file://hello.txt" }, { cacheHints }), [0, "private"]);
  assert.deepEqual(await cacheHintsOf("strict", "server/discover"), [300_000, "public"]);
  assert.deepEqual(await cacheHintsOf("apptheory-v3", "server/discover"), [0, "private"]);
  assert.deepEqual(
    await cacheHintsOf(
      "apptheory-v3",
      "resources/read",
      { uri: "file://hello.txt", requestState: "x" },
      { cacheHints: { "resources/read": { ttlMs: 9 } } },
    ),
    [0, "private"],
  );
});
