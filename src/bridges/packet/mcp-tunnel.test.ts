// MCP inside packets, through a whole gateway, one message at a time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, type Caller, type Channel, EngineError, type Gateway, type Json } from "../../core/contract/index.ts";
import { createGateway, type GatewayOptions } from "../../mcp/gateway/index.ts";
import { registry } from "../../mcp/source/index.ts";
import { settle, SimulatedClock, SimulatedEntropy, until } from "../../testing/index.ts";
import { InFlightMemoryBudget } from "../../core/contract/internal.ts";
import { world as flowWorld } from "./world.fixture.ts";
import { McpTunnel, type TunnelOptions } from "./mcp-tunnel.ts";
import { Session } from "./packet-session.ts";

const ANN: Caller = { principal: "ann", scopes: [] };
const BOB: Caller = { principal: "bob", scopes: [] };
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function world(options: Partial<TunnelOptions> = {}, gatewayOptions: Partial<GatewayOptions> = {}) {
  const clock = new SimulatedClock();
  const aborted: string[] = [];
  const waiting = new Map<string, () => void>();
  const source = registry({
    tools: {
      who: { description: "Who?", work: ({ viewer }) => ({ principal: viewer.principal ?? null, scopes: viewer.scopes }) },
      progress: {
        description: "Says things.",
        work({ progress, log }) {
          progress(1, 2);
          log("error", "hm");
          return "done";
        },
      },
      wait: {
        description: "Waits.",
        input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        work: ({ args: { name = null }, signal }) =>
          new Promise((resolve, reject) => {
            waiting.set(textOf(name), () => resolve(textOf(name)));
            signal.addEventListener("abort", () => {
              aborted.push(textOf(name));
              reject(new EngineError("CANCELLED", "Cancelled."));
            });
          }),
      },
      ask: {
        description: "Asks.",
        work: ({ ask }) =>
          ask({ a: { method: "elicitation/create", params: { message: "?", requestedSchema: { type: "object", properties: {} } } } }),
      },
    },
  });
  const gateway = createGateway({ source, info: { name: "t", version: "1" }, clock, entropy: new SimulatedEntropy(), ...gatewayOptions });
  const open = new Set<Channel>();
  let connects = 0;
  const counted: Pick<Gateway, "connect"> = {
    connect(channel, caller) {
      connects += 1;
      open.add(channel);
      channel.disconnected.addEventListener("abort", () => open.delete(channel));
      return gateway.connect(channel, caller);
    },
  };
  const tunnel = new McpTunnel({ gateway: counted, clock, ...options });
  return {
    clock,
    tunnel,
    gateway,
    aborted,
    waiting,
    open,
    connects: () => connects,
    async [Symbol.asyncDispose]() {
      await tunnel[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));
const call = (id: Json, name: string, args: JsonObject = {}): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});
const list = (id: Json): JsonObject => ({ jsonrpc: "2.0", id, method: "tools/list" });
const initialize = (id: Json, protocolVersion: string, capabilities: JsonObject = {}): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion, capabilities, clientInfo: { name: "t", version: "1" } },
});
const structured = (response: JsonObject | undefined): unknown => Object(Object(response)["result"])["structuredContent"];
const codeOf = (response: JsonObject | undefined): unknown => Object(Object(response)["error"])["code"];

test("a client that never sent initialize is answered as its viewer", async () => {
  await using w = world();
  const response = await w.tunnel.request(call(1, "who"), { principal: "ann", scopes: ["s"] }, "s1");
  assert.deepEqual([response?.["jsonrpc"], response?.["id"]], ["2.0", 1]);
  assert.deepEqual(structured(response), { principal: "ann", scopes: ["s"] });
});

test("initialize is answered by the server, and its revision applies to later packets of the session #packet.forward.mcp", async () => {
  await using w = world();
  const response = await w.tunnel.request(initialize(0, "2024-11-05"), ANN, "s1");
  assert.equal(Object(response?.["result"])["protocolVersion"], "2024-11-05");
  assert.equal(await w.tunnel.request({ jsonrpc: "2.0", method: "notifications/initialized" }, ANN, "s1"), undefined);
  assert.equal(structured(await w.tunnel.request(call(1, "who"), ANN, "s1")), undefined, "that revision has none");
  assert.ok(structured(await w.tunnel.request(call(1, "who"), ANN, "s2")) !== undefined, "another session is not that one");
  const again = await w.tunnel.request(initialize(1, "2025-11-25"), ANN, "s1");
  assert.equal(Object(again?.["result"])["protocolVersion"], "2025-11-25", "a client may begin anew");
  assert.ok(structured(await w.tunnel.request(call(2, "who"), ANN, "s1")) !== undefined);
  assert.equal(w.open.size, 2);
});

test("messages of 2026-07-28 pass unchanged, next to a legacy session #packet.forward.mcp", async () => {
  await using w = world();
  await w.tunnel.request(list(1), ANN, "s1");
  const modern = await w.tunnel.request({ ...list(1), params: { _meta: ENVELOPE } }, ANN, "s1");
  assert.equal(Object(modern?.["result"])["resultType"], "complete");
  const discovered = await w.tunnel.request({ jsonrpc: "2.0", id: "d", method: "server/discover", params: { _meta: ENVELOPE } }, ANN, "s1");
  assert.ok(Array.isArray(Object(discovered?.["result"])["supportedVersions"]));
  assert.equal("resultType" in Object((await w.tunnel.request(list(2), ANN, "s1"))?.["result"]), false);
  assert.equal(w.connects(), 2);
});

test("one connection for each principal, session and set of scopes", async () => {
  await using w = world();
  for (const _time of [1, 2]) {
    await w.tunnel.request(list(1), ANN, "s1");
    await w.tunnel.request(list(1), ANN, "s2");
    await w.tunnel.request(list(1), ANN, undefined);
    await w.tunnel.request(list(1), BOB, "s1");
  }
  assert.equal(w.connects(), 4);
  const admin = { principal: "ann", scopes: ["admin", "x"] };
  assert.deepEqual(structured(await w.tunnel.request(call(1, "who"), admin, "s1")), admin);
  assert.deepEqual(structured(await w.tunnel.request(call(1, "who"), ANN, "s1")), ANN);
  assert.equal(w.connects(), 5);
});

test("without a principal no connection is shared, and another's session_id has no effect", async () => {
  await using w = world();
  const anonymous: Caller = { scopes: [] };
  const [one, two] = [await w.tunnel.request(call(1, "who"), anonymous, "s1"), await w.tunnel.request(call(1, "who"), anonymous, "s1")];
  assert.notDeepEqual(structured(one), structured(two));
  assert.equal(
    await w.tunnel.request({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }, anonymous, "s1"),
    undefined,
  );
  await until("they are closed", () => w.open.size === 0);
});

test("the reply to an mcp_request has the duration of its message", async () => {
  await using all = world();
  await using flows = await flowWorld([]);
  let now = 0;
  const session = new Session(
    {
      running: flows.packets.running,
      tunnel: all.tunnel,
      admit: () => undefined,
      memoryBudget: new InFlightMemoryBudget(1_000_000, () => new Error("full")),
      traceId: () => "t",
      elapsed: () => now,
      fault: () => undefined,
    },
    { caller: ANN },
  );
  const reply = session.receive(
    JSON.stringify({ version: "1.0", type: "mcp_request", payload: { mcp_message: call(1, "wait", { name: "a" }) } }),
  );
  await until("it waits", () => all.waiting.has("a"));
  now = 250;
  all.waiting.get("a")?.();
  assert.equal((await reply).metadata["execution_time_ms"], 250);
});

test("a JSON-RPC error is a response packet #packet.implied.1-mcp-reply", async () => {
  await using w = world();
  assert.equal(codeOf(await w.tunnel.request({ jsonrpc: "2.0", id: 1, method: "no/such" }, ANN, "s")), -32601);
  assert.deepEqual(Object(await w.tunnel.request(call("x", "never"), ANN, "s"))["error"], { code: -32602, message: "Unknown tool: never" });
});

test("invalid JSON-RPC gets the gateway's error with its readable id, without a session #packet.security.validation", async () => {
  await using w = world();
  const cases: readonly (readonly [Json, Json, number])[] = [
    [{}, null, -32600],
    [7, null, -32600],
    [{ jsonrpc: "2.0", id: null, method: "ping" }, null, -32600],
    [{ jsonrpc: "2.0", id: 1.5, method: "ping" }, null, -32600],
    [{ jsonrpc: "2.0", id: 3, method: 7 }, 3, -32600],
    [{ jsonrpc: "1.0", id: 4, method: "ping" }, 4, -32600],
    [{ jsonrpc: "2.0", id: 5, method: "ping", params: [1] }, 5, -32602],
    [{ jsonrpc: "2.0", id: "x".repeat(300), method: "ping" }, null, -32600],
  ];
  for (const [message, id, code] of cases) {
    const response = await w.tunnel.request(message, ANN, "s");
    assert.equal(codeOf(response), code, JSON.stringify(message).slice(0, 80));
    assert.equal(response?.["id"], id);
  }
  assert.equal(await w.tunnel.request({ jsonrpc: "2.0", id: 1, result: {} }, ANN, "s"), undefined, "a response to nothing");
});

test("responses match their requests in any order, whatever their ids", async () => {
  await using w = world();
  const ids: readonly Json[] = [1, "1", -1, 0, "", Number.MAX_SAFE_INTEGER];
  const running = ids.map((id) => w.tunnel.request(call(id, "wait", { name: JSON.stringify(id) }), ANN, "s"));
  await until("all wait", () => w.waiting.size === ids.length);
  for (const go of [...w.waiting.values()].toReversed()) go();
  const responses = await Promise.all(running);
  for (const [index, id] of ids.entries()) {
    assert.equal(responses[index]?.["id"], id);
    assert.equal(Object(responses[index]?.["result"])["content"][0].text, JSON.stringify(id));
  }
});

test("an id in use in the session is refused, without disturbing the first request", async () => {
  await using w = world();
  const running = w.tunnel.request(call(1, "wait", { name: "a" }), ANN, "s");
  await until("it waits", () => w.waiting.has("a"));
  await assert.rejects(w.tunnel.request(list(1), ANN, "s"), { type: "protocol_error" });
  assert.equal(codeOf(await w.tunnel.request(list(1), ANN, "other")), undefined);
  w.waiting.get("a")?.();
  assert.equal((await running)?.["id"], 1);
  assert.equal(codeOf(await w.tunnel.request(list(1), ANN, "s")), undefined);
});

test("requests without a session_id may have the same id, since they may be those of several clients", async () => {
  await using w = world({ timeoutMs: 5_000 });
  const names = ["a", "b", "c", "d"];
  const leaving = new AbortController();
  const running = names.map((name) =>
    w.tunnel.request(call(1, "wait", { name }), ANN, undefined, { signal: name === "c" ? leaving.signal : undefined }),
  );
  const settled = Promise.allSettled(running);
  await until("all wait", () => w.waiting.size === names.length);
  leaving.abort();
  for (const name of ["b", "a"]) w.waiting.get(name)?.();
  await until("it is aborted", () => w.aborted.length === 1);
  await w.clock.advance(5_000);
  const ends = (await settled).map((one) =>
    one.status === "rejected" ? Object(one.reason)["type"] : [one.value?.["id"], Object(one.value?.["result"])["content"][0].text],
  );
  assert.deepEqual(ends, [[1, "a"], [1, "b"], "cancelled", "execution_failed"]);
  assert.deepEqual(w.aborted, ["c", "d"]);
  assert.equal(w.connects(), 1);
});

test("without a session_id a notifications/cancelled ends nothing if several clients may be meant", async () => {
  await using w = world();
  const cancel = async (requestId: number): Promise<void> => {
    await w.tunnel.request({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }, ANN, undefined);
    await settle();
  };
  const begin = async (name: string) => {
    const running = w.tunnel.request(call(1, "wait", { name }), ANN, undefined);
    const end = running.then(
      (response) => response?.["id"],
      (error: unknown) => Object(error)["type"],
    );
    await until("it waits", () => w.waiting.has(name));
    return { end };
  };
  const [one, two] = [await begin("a"), await begin("b")];
  await cancel(1);
  w.waiting.get("a")?.();
  assert.equal(await one.end, 1);
  await w.tunnel.request(initialize(2, "2024-11-05"), ANN, undefined);
  const three = await begin("c");
  await cancel(1);
  assert.deepEqual(w.aborted, []);
  w.waiting.get("c")?.();
  assert.equal(await three.end, 1);
  await cancel(1);
  assert.equal(await two.end, "cancelled", "the only one of that id, although it has another one here, in a session that was replaced");
  assert.deepEqual(w.aborted, ["b"]);
});

test("batches and subscriptions/listen are refused, with an alternative", async () => {
  await using w = world();
  await assert.rejects(w.tunnel.request([list(1)], ANN, "s"), { type: "protocol_error", message: /packet of its own/ });
  const listen = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { _meta: ENVELOPE, notifications: {} } };
  await assert.rejects(w.tunnel.request(listen, ANN, "s"), { type: "protocol_error", message: /MCP endpoint/ });
});

test("notifications of the server are not replies", async () => {
  await using w = world();
  await w.tunnel.request(initialize(0, "2025-11-25"), ANN, "s");
  await w.tunnel.request({ jsonrpc: "2.0", method: "notifications/initialized" }, ANN, "s");
  const message = { ...call(1, "progress"), params: { name: "progress", arguments: {}, _meta: { progressToken: 1 } } };
  const response = await w.tunnel.request(message, ANN, "s");
  assert.deepEqual(Object(response)["result"]["content"], [{ type: "text", text: "done" }]);
});

test("the server asks a client nothing through packets, and the tool reports that", async () => {
  await using w = world();
  await w.tunnel.request(initialize(0, "2025-11-25", { elicitation: {}, sampling: {}, roots: {}, experimental: { x: {} } }), ANN, "s");
  const response = await w.tunnel.request(call(1, "ask"), ANN, "s");
  assert.equal(Object(response)["result"]["isError"], true);
  assert.match(JSON.stringify(response), /elicitation/);
});

test("a request that times out is cancelled, and its id is free again", async () => {
  await using w = world({ timeoutMs: 1_000 });
  const timedOut = assert.rejects(w.tunnel.request(call(1, "wait", { name: "a" }), ANN, "s"), {
    type: "execution_failed",
    details: { timeout_ms: 1_000 },
  });
  await until("it waits", () => w.waiting.has("a"));
  await w.clock.advance(999);
  assert.deepEqual(w.aborted, []);
  await w.clock.advance(1);
  await timedOut;
  assert.deepEqual(w.aborted, ["a"]);
  assert.equal((await w.tunnel.request(list(1), ANN, "s"))?.["id"], 1);
});

test("an abort or notifications/cancelled cancels that request only", async () => {
  await using w = world();
  const leaving = new AbortController();
  const cancelled = { type: "cancelled" };
  const one = assert.rejects(w.tunnel.request(call(1, "wait", { name: "a" }), ANN, "s", { signal: leaving.signal }), cancelled);
  const two = assert.rejects(w.tunnel.request(call(2, "wait", { name: "b" }), ANN, "s"), cancelled);
  const three = w.tunnel.request(call(3, "wait", { name: "c" }), ANN, "s");
  await until("they wait", () => w.waiting.size === 3);
  leaving.abort();
  await one;
  await w.tunnel.request({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } }, BOB, "s");
  await settle();
  assert.deepEqual(w.aborted, ["a"], "another's notification reaches nothing");
  await w.tunnel.request({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } }, ANN, "s");
  await two;
  await until("it is aborted", () => w.aborted.length === 2);
  w.waiting.get("c")?.();
  assert.equal((await three)?.["id"], 3);
  const disconnected = new AbortController();
  disconnected.abort();
  await assert.rejects(w.tunnel.request(call(4, "wait", { name: "d" }), ANN, "s", { signal: disconnected.signal }), cancelled);
  assert.equal(w.waiting.has("d"), false, "it is not begun");
});

test("an initialize leaves running requests of the session alone, which may be another client's", async () => {
  await using w = world({ sessionsEach: 2 });
  const running = w.tunnel.request(call(1, "wait", { name: "a" }), ANN, undefined);
  await until("it waits", () => w.waiting.has("a"));
  const begun = await w.tunnel.request(initialize(1, "2024-11-05"), ANN, undefined);
  assert.equal(Object(begun?.["result"])["protocolVersion"], "2024-11-05");
  assert.equal(structured(await w.tunnel.request(call(1, "who"), ANN, undefined)), undefined, "the new session is used");
  const other = w.tunnel.request(call(1, "wait", { name: "b" }), ANN, undefined);
  await until("it waits", () => w.waiting.has("b"));
  await assert.rejects(w.tunnel.request(initialize(1, "2024-11-05"), ANN, undefined), { type: "rate_limited" }, "they count as sessions");
  assert.deepEqual(w.aborted, []);
  w.waiting.get("a")?.();
  assert.equal((await running)?.["id"], 1);
  await until("it ends with its request", () => w.open.size === 1);
  w.waiting.get("b")?.();
  assert.equal((await other)?.["id"], 1);
});

test("sessions are limited: the least recently used is evicted, unless it is in use", async () => {
  await using w = world({ sessions: 3, sessionsEach: 2 });
  const running = w.tunnel.request(call(1, "wait", { name: "a" }), ANN, "s1");
  await until("it waits", () => w.waiting.has("a"));
  await w.tunnel.request(list(1), ANN, "s2");
  await w.tunnel.request(list(1), ANN, "s3");
  await until("s2 made room", () => w.open.size === 2);
  await w.tunnel.request(list(1), BOB, "s1");
  await w.tunnel.request(list(1), { principal: "cy", scopes: [] }, "s1");
  await until("s3 made room", () => w.open.size === 3);
  assert.equal(w.connects(), 5);
  await w.tunnel.request(list(1), BOB, "s1");
  assert.equal(w.connects(), 5, "bob's was kept");
  const more = w.tunnel.request(call(1, "wait", { name: "b" }), ANN, "s4");
  await until("it waits", () => w.waiting.has("b"));
  await assert.rejects(w.tunnel.request(list(1), ANN, "s5"), { type: "rate_limited", details: { limit: 2, used: 2, reset: 1 } });
  for (const go of w.waiting.values()) go();
  assert.deepEqual([(await running)?.["id"], (await more)?.["id"]], [1, 1]);
});

test("eviction goes by last use, not by age", async () => {
  await using w = world({ sessions: 2 });
  const cy: Caller = { principal: "cy", scopes: [] };
  for (const caller of [ANN, BOB, ANN, cy]) await w.tunnel.request(list(1), caller, "s");
  assert.equal(w.connects(), 3);
  await w.tunnel.request(list(1), ANN, "s");
  assert.equal(w.connects(), 3, "ann's was kept");
  await w.tunnel.request(list(1), BOB, "s");
  assert.equal(w.connects(), 4, "bob's had made room");
});

test("when the gateway ends a connection, pending requests fail with a hint to retry", async () => {
  const channels: Channel[] = [];
  const gateway: Pick<Gateway, "connect"> = {
    connect(channel) {
      channels.push(channel);
      return { receive: () => undefined, close: async () => undefined };
    },
  };
  await using tunnel = new McpTunnel({ gateway, clock: new SimulatedClock() });
  const running = assert.rejects(tunnel.request({ ...list(1), params: { _meta: ENVELOPE } }, ANN, "s"), {
    type: "execution_failed",
    message: /again/,
  });
  await until("it is connected", () => channels.length === 1);
  await settle();
  channels[0]?.close();
  await running;
});

test("an unused session is closed after its time; a used or busy one stays", async () => {
  await using w = world({ idleMs: 1_000, timeoutMs: 100_000 });
  const timers = w.clock.pending;
  await w.tunnel.request(list(1), ANN, "idle");
  await w.tunnel.request(list(1), ANN, "used");
  const running = w.tunnel.request(call(1, "wait", { name: "a" }), ANN, "busy");
  await until("it waits", () => w.waiting.has("a"));
  await w.clock.advance(600);
  await w.tunnel.request(list(1), ANN, "used");
  await w.clock.advance(400);
  assert.equal(w.open.size, 2);
  await w.clock.advance(10_000);
  assert.equal(w.open.size, 1);
  w.waiting.get("a")?.();
  assert.equal((await running)?.["id"], 1);
  await w.clock.advance(2_000);
  assert.equal(w.open.size, 0);
  assert.equal(w.clock.pending, timers, "nobody is waited for any more");
  assert.equal((await w.tunnel.request(list(1), ANN, "idle"))?.["id"], 1, "it begins again");
});

test("when the gateway refuses a session, the request gets the error under its own id", async () => {
  await using w = world();
  await w.gateway.drain(0);
  const response = await w.tunnel.request(list("mine"), ANN, "s");
  assert.equal(response?.["id"], "mine");
  assert.match(JSON.stringify(response?.["error"]), /shutting down/);
  await until("nothing of it is kept", () => w.open.size === 0);
});

test("a disposed tunnel cancels what runs, and accepts nothing more", async () => {
  await using w = world();
  const running = assert.rejects(w.tunnel.request(call(1, "wait", { name: "a" }), ANN, "s"), { type: "cancelled" });
  await until("it waits", () => w.waiting.has("a"));
  await w.tunnel[Symbol.asyncDispose]();
  await running;
  assert.deepEqual(w.aborted, ["a"]);
  assert.equal(w.open.size, 0);
  await assert.rejects(w.tunnel.request(list(1), ANN, "s"), { type: "cancelled" });
});
