import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer, Json, JsonObject, CallOptions, Caller, Gateway, Source } from "../../core/contract/index.ts";
import { meta as metaOf } from "../source/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf, quiet, type Sent, until, world } from "./kit.fixture.ts";

const ann: Caller = { principal: "iss|ann", scopes: [], peer: "10.0.0.1" };
const bob: Caller = { principal: "iss|bob", scopes: [], peer: "10.0.0.2" };
const BASE = { accept: "application/json, text/event-stream", "content-type": "application/json", "mcp-protocol-version": "2026-07-28" };

interface How {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly meta?: JsonObject | null;
  readonly caller?: Caller;
  readonly id?: number | string;
}

function send(
  gateway: Gateway,
  method: string,
  params: JsonObject = {},
  how: How = {},
): { readonly sent: Sent; readonly answer: Promise<Answer> } {
  const { name, uri } = params;
  const headers: Record<string, string> = { ...BASE, "mcp-method": method };
  if (typeof name === "string") headers["mcp-name"] = name;
  if (typeof uri === "string") headers["mcp-name"] = uri;
  for (const [key, value] of Object.entries(how.headers ?? {})) {
    if (value === undefined) delete headers[key];
    else headers[key] = value;
  }
  const _meta = how.meta === null ? undefined : { ...ENVELOPE, ...how.meta };
  const body = { jsonrpc: "2.0", id: how.id ?? 1, method, params: { ...params, ...(_meta === undefined ? {} : { _meta }) } };
  const sent = exchangeOf("POST", headers, body, how.caller);
  return { sent, answer: Promise.resolve(gateway.exchange(sent.exchange)) };
}

async function ask(
  gateway: Gateway,
  method: string,
  params: JsonObject = {},
  how: How = {},
): Promise<{ readonly status: number; readonly body: JsonObject; readonly result: JsonObject; readonly error: JsonObject }> {
  const answer = await send(gateway, method, params, how).answer;
  const body = bodyOf(answer);
  return { status: answer.status, body, result: object(body["result"]), error: object(body["error"]) };
}

const object = (value: unknown): JsonObject => (typeof value === "object" && value !== null ? { ...value } : {});
const accept = (n: number): JsonObject => ({ action: "accept", content: { n } });
const canAsk = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };

describe("the envelope of 2026-07-28", () => {
  test("must be complete: -32602 and 400", async () => {
    await using gateway = gatewayOf(world().source);
    for (const meta of [
      null,
      { "io.modelcontextprotocol/clientCapabilities": null },
      { "io.modelcontextprotocol/protocolVersion": null },
      { "io.modelcontextprotocol/clientInfo": 3 },
      { "io.modelcontextprotocol/logLevel": "loud" },
    ]) {
      const { status, error, body } = await ask(gateway, "server/discover", {}, { meta, id: 9 });
      assert.deepEqual([status, error["code"], body["id"]], [400, -32602, 9], JSON.stringify(meta));
    }
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
    for (const params of [[], "x", 5]) {
      const answer = await gateway.exchange(exchangeOf("POST", headers, { jsonrpc: "2.0", id: 9, method: "tools/list", params }).exchange);
      const { error, id } = bodyOf(answer);
      assert.deepEqual([answer.status, Object(error)["code"], id], [400, -32602, 9], JSON.stringify(params));
    }
  });

  test("must name a served version (-32022), and match the headers (-32020) #gateway.modern", async () => {
    await using gateway = gatewayOf(world().source);
    const other = { "io.modelcontextprotocol/protocolVersion": "2027-01-01" };
    const unsupported = await ask(gateway, "tools/list", {}, { meta: other, headers: { "mcp-protocol-version": "2027-01-01" } });
    assert.deepEqual(
      [unsupported.status, unsupported.error["code"], unsupported.error["data"]],
      [400, -32022, { supported: ["2026-07-28"], requested: "2027-01-01" }],
    );
    const alone = await ask(gateway, "tools/list", {}, { meta: null, headers: { "mcp-protocol-version": "2027-01-01" } });
    assert.deepEqual([alone.status, alone.error], [unsupported.status, unsupported.error], "the header alone says it");
    const mismatches: readonly [string, JsonObject, How][] = [
      ["tools/list", {}, { meta: other }],
      ["tools/list", {}, { headers: { "mcp-protocol-version": undefined } }],
      ["tools/list", {}, { headers: { "mcp-method": undefined } }],
      ["tools/list", {}, { headers: { "mcp-method": "TOOLS/LIST" } }],
      ["tools/call", { name: "look" }, { headers: { "mcp-name": undefined } }],
      ["tools/call", { name: "look" }, { headers: { "mcp-name": "open" } }],
      ["resources/read", { uri: "door://state" }, { headers: { "mcp-name": "=?base64?!!!?=" } }],
      ["tools/call", { name: "region", arguments: { region: "eu" } }, {}],
      ["tools/call", { name: "region", arguments: { region: "eu" } }, { headers: { "mcp-param-region": "us" } }],
      ["tools/call", { name: "region", arguments: {} }, { headers: { "mcp-param-region": "us" } }],
      ["tools/call", { name: "region", arguments: { size: 4 } }, { headers: { "mcp-param-size": "5" } }],
    ];
    for (const [method, params, how] of mismatches) {
      const { status, error } = await ask(gateway, method, params, how);
      assert.deepEqual([status, error["code"]], [400, -32020], JSON.stringify([method, params, how]));
    }
    const fits: readonly [string, JsonObject, How][] = [
      ["tools/call", { name: "look" }, { headers: { "mcp-name": "  look " } }],
      ["tools/call", { name: "look" }, { headers: { "mcp-name": "=?base64?bG9vaw==?=" } }],
      ["tools/call", { name: "region", arguments: { region: "=?base64?x" } }, { headers: { "mcp-param-region": "=?base64?x" } }],
      [
        "tools/call",
        { name: "region", arguments: { region: "Zürich", size: 42 } },
        { headers: { "mcp-param-region": "=?base64?WsO8cmljaA==?=", "mcp-param-size": "42.0" } },
      ],
      ["tools/call", { name: "region", arguments: { region: null } }, {}],
    ];
    for (const [method, params, how] of fits)
      assert.equal((await ask(gateway, method, params, how)).status, 200, JSON.stringify([method, params, how]));
  });

  test("with a removed or unknown method is answered 404 and -32601", async () => {
    await using gateway = gatewayOf(world().source);
    for (const method of ["initialize", "ping", "logging/setLevel", "resources/subscribe", "toString", "__proto__"]) {
      const { status, error } = await ask(gateway, method);
      assert.deepEqual([status, error["code"]], [404, -32601], method);
    }
    const notification = exchangeOf("POST", BASE, {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1, _meta: ENVELOPE },
    });
    assert.equal((await gateway.exchange(notification.exchange)).status, 202);
    const contradicted = exchangeOf(
      "POST",
      { ...BASE, "mcp-method": "tools/call" },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, _meta: ENVELOPE } },
    );
    const refused = await gateway.exchange(contradicted.exchange);
    assert.equal(refused.status, 400);
    assert.match(String(refused.body), /"id":null,"error":\{"code":-32020,/);
    const response = exchangeOf("POST", BASE, { jsonrpc: "2.0", id: 1, result: {} });
    assert.equal((await gateway.exchange(response.exchange)).status, 400);
    for (const verb of ["GET", "DELETE"] as const)
      assert.equal((await gateway.exchange(exchangeOf(verb, { ...BASE, "mcp-session-id": "x" }).exchange)).status, 405);
  });
});

describe("results of 2026-07-28", () => {
  test("have a type and the server's name, and cache hints for exactly six methods #gateway.modern #gateway.discover #gateway.cache-hints", async () => {
    await using gateway = gatewayOf(world().source);
    const held: readonly [string, JsonObject][] = [
      ["server/discover", {}],
      ["tools/list", {}],
      ["prompts/list", {}],
      ["resources/list", {}],
      ["resources/templates/list", {}],
      ["resources/read", { uri: "door://state" }],
    ];
    const others: readonly [string, JsonObject][] = [
      ["tools/call", { name: "look" }],
      ["prompts/get", { name: "knock", arguments: { times: "1" } }],
      ["completion/complete", { ref: { type: "ref/prompt", name: "knock" }, argument: { name: "times", value: "" } }],
    ];
    for (const [method, params] of [...held, ...others]) {
      const { status, result } = await ask(gateway, method, params);
      assert.equal(status, 200, method);
      assert.equal(result["resultType"], "complete");
      assert.deepEqual(result["_meta"], { "io.modelcontextprotocol/serverInfo": { name: "test", version: "1.0.0", title: "Test" } });
      assert.equal(
        "ttlMs" in result && "cacheScope" in result,
        held.some(([one]) => one === method),
        method,
      );
    }
    assert.deepEqual((await ask(gateway, "server/discover")).result["supportedVersions"], ["2026-07-28"]);
  });

  test("report an unknown or hidden resource as -32602 with its URI #spec.7.error-format", async () => {
    await using gateway = gatewayOf(world().source);
    for (const uri of ["door://none", "door://hidden"]) {
      const { status, error } = await ask(gateway, "resources/read", { uri });
      assert.deepEqual([status, error["code"], error["data"], error["message"]], [200, -32602, { uri }, "Resource not found"]);
    }
  });

  test("follow log messages and progress only if the request enables them #gateway.logging", async () => {
    await using gateway = gatewayOf(world().source);
    const silent = send(gateway, "tools/call", { name: "slow" });
    await silent.answer;
    assert.equal(silent.sent.opened(), false);
    const loud = send(gateway, "tools/call", { name: "slow" }, { meta: { "io.modelcontextprotocol/logLevel": "info", progressToken: 0 } });
    const answer = await loud.answer;
    assert.deepEqual(
      loud.sent.channel.messages.map((message) => message["method"]),
      ["notifications/progress", "notifications/message"],
    );
    assert.ok(loud.sent.channel.events.every((event) => event.id === undefined));
    assert.equal(bodyOf(answer)["id"], 1);
  });

  test("list what is off with a reason, and dynamic lists only with a principal #sources.list-mode.static", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source, { listMode: { modern: "dynamic" } });
    const names = async (caller?: Caller): Promise<string> =>
      JSON.stringify((await ask(gateway, "tools/list", {}, caller === undefined ? {} : { caller })).result["tools"]);
    assert.doesNotMatch(await names(), /"shut"/);
    assert.doesNotMatch(await names(ann), /"shut"/);
    made.set(true);
    assert.match(await names(), /"open".*"shut"/);
    assert.match(await names(ann), /"shut"/);
    assert.doesNotMatch(await names(ann), /"open"/);
    const refused = await ask(gateway, "tools/call", { name: "open" });
    assert.equal(refused.result["isError"], true);
    assert.match(JSON.stringify(refused.result["content"]), /It is open/);
  });
});

describe("asking within a call", () => {
  test("an undeclared capability is -32021 and names it", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const { status, error } = await ask(gateway, "tools/call", { name: "confirm" });
    assert.deepEqual([status, error["code"], error["data"]], [400, -32021, { requiredCapabilities: { elicitation: {} } }]);
    assert.equal(made.calls, 0);
  });

  test("repeats the call with all answers so far, and runs once #gateway.needs.modern", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const call = (more: JsonObject): ReturnType<typeof ask> =>
      ask(gateway, "tools/call", { name: "twice", arguments: {}, ...more }, { meta: canAsk });
    const one = await call({});
    assert.equal(one.result["resultType"], "input_required");
    assert.deepEqual(Object.keys(Object(one.result["inputRequests"])), ["first"]);
    assert.equal("ttlMs" in one.result, false);
    const two = await call({ inputResponses: { first: accept(1), unknown: accept(9) }, requestState: one.result["requestState"] ?? null });
    assert.deepEqual(Object.keys(Object(two.result["inputRequests"])), ["second"]);
    const missing = await call({ inputResponses: {}, requestState: two.result["requestState"] ?? null });
    assert.deepEqual(Object.keys(Object(missing.result["inputRequests"])), ["second"]);
    const three = await call({ inputResponses: { second: accept(2) }, requestState: two.result["requestState"] ?? null });
    assert.deepEqual(three.result["structuredContent"], { first: accept(1), second: accept(2) });
  });

  test("takes one token of the rate limit for all its rounds, and one more for each state that is sent again", async () => {
    await using gateway = gatewayOf(world().source, { rateLimit: { perSecond: 0.001, burst: 2 } });
    const call = (more: JsonObject): ReturnType<typeof ask> =>
      ask(gateway, "tools/call", { name: "twice", arguments: {}, ...more }, { meta: canAsk });
    const one = await call({});
    const first = { inputResponses: { first: accept(1) }, requestState: one.result["requestState"] ?? null };
    const two = await call(first);
    const second = { inputResponses: { second: accept(2) }, requestState: two.result["requestState"] ?? null };
    for (let sent = 0; sent < 2; sent += 1) assert.equal((await call(second)).result["resultType"], "complete");
    for (const again of [first, second, {}]) assert.equal((await call(again)).status, 429);
  });

  test("has as many rounds for one token as a call in a session has", async () => {
    await using gateway = gatewayOf(world().source, { rateLimit: { perSecond: 0.001, burst: 1 }, limits: { rounds: 2 } });
    const statuses: number[] = [];
    for (let state: Json = null; statuses.length < 4;) {
      const { status, result } = await ask(
        gateway,
        "tools/call",
        { name: "confirm", arguments: {}, inputResponses: {}, requestState: state },
        { meta: canAsk },
      );
      statuses.push(status);
      state = result["requestState"] ?? null;
    }
    assert.deepEqual(statuses, [200, 200, 200, 429]);
  });

  test("a foreign, expired or altered requestState is refused: -32602 #gateway.needs.modern", async () => {
    let now = 1_000_000;
    await using gateway = gatewayOf(world().source, { clock: { now: () => now, after: () => () => undefined } });
    const call = (more: JsonObject, caller: Caller = ann, name = "confirm"): ReturnType<typeof ask> =>
      ask(gateway, "tools/call", { name, ...more }, { meta: canAsk, caller });
    const { requestState } = (await call({ arguments: { a: 1, b: 2 } })).result;
    const state = typeof requestState === "string" ? requestState : "";
    const answer = { inputResponses: { sure: { action: "accept", content: { yes: true } } }, requestState: state };
    const right = { arguments: { b: 2, a: 1 }, ...answer };
    assert.equal((await call(right)).result["resultType"], "complete");
    const wrong: readonly (() => ReturnType<typeof ask>)[] = [
      () => call(right, bob),
      () => call({ ...right, arguments: { a: 1, b: 3 } }),
      () => call(right, ann, "twice"),
      () => call({ ...right, requestState: `${state}x` }),
      () => call({ ...right, requestState: `x${state}` }),
      () => call({ ...right, requestState: "" }),
      () => call({ ...right, requestState: 7 }),
      () => {
        now += 11 * 60_000;
        return call(right);
      },
    ];
    for (const [at, attempt] of wrong.entries()) {
      const { status, error } = await attempt();
      assert.deepEqual([status, error["code"]], [200, -32602], String(at));
    }
  });

  test("the shape of answers is checked before an actor sees them", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    for (const inputResponses of [
      [],
      { sure: 12_345 },
      { sure: { action: "maybe" } },
      { sure: { action: "accept", content: { yes: {} } } },
    ]) {
      const { error } = await ask(gateway, "tools/call", { name: "confirm", inputResponses }, { meta: canAsk });
      assert.equal(error["code"], -32602, JSON.stringify(inputResponses));
    }
    assert.equal(made.calls, 0);
    const { result } = await ask(
      gateway,
      "tools/call",
      { name: "confirm", inputResponses: { sure: { action: "decline" } } },
      { meta: canAsk },
    );
    assert.equal(result["resultType"], "complete");
  });
});

describe("subscriptions/listen over HTTP", () => {
  test("acknowledges first, notifies with its id, and ends when the client leaves #gateway.listen #spec.5.notification.updated #spec.6.privacy.consent", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source, { listMode: { modern: "dynamic" } });
    const { sent, answer } = send(
      gateway,
      "subscriptions/listen",
      { notifications: { toolsListChanged: true, resourceSubscriptions: ["door://state", "door://hidden"] } },
      { caller: ann, id: "L" },
    );
    assert.deepEqual(await answer, { status: 200, open: true });
    const meta = { "io.modelcontextprotocol/subscriptionId": "L" };
    assert.deepEqual(sent.channel.messages, [
      {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: { _meta: meta, notifications: { toolsListChanged: true, resourceSubscriptions: ["door://state"] } },
      },
    ]);
    await quiet();
    made.set(true);
    await until(() => sent.channel.messages.length === 3);
    assert.deepEqual(sent.channel.messages.slice(1), [
      { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta: meta } },
      { jsonrpc: "2.0", method: "notifications/resources/updated", params: { _meta: meta, uri: "door://state" } },
    ]);
    sent.leave();
    made.set(false);
    await quiet();
    assert.equal(sent.channel.messages.length, 3);
  });

  for (const id of [0, 1, 63, 64, -1, "1", 'a"b', "length"])
    test(`C8 notifies with the id of its request: ${JSON.stringify(id)}`, async () => {
      const made = world();
      await using gateway = gatewayOf(made.source, { listMode: { modern: "dynamic" } });
      const { sent, answer } = send(gateway, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { caller: ann, id });
      await answer;
      await quiet();
      made.set(true);
      await quiet();
      const params = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
      assert.deepEqual(sent.channel.messages.slice(1), [{ jsonrpc: "2.0", method: "notifications/tools/list_changed", params }]);
    });

  test("ends with a result when the server drains #gateway.listen", async () => {
    await using gateway = gatewayOf(world().source);
    const { sent, answer } = send(gateway, "subscriptions/listen", { notifications: {} });
    await answer;
    await gateway.drain(10);
    const last = sent.channel.messages.at(-1);
    assert.deepEqual(
      [
        last?.["id"],
        Object(last?.["result"])["resultType"],
        Object(Object(last?.["result"])["_meta"])["io.modelcontextprotocol/subscriptionId"],
      ],
      [1, "complete", 1],
    );
    assert.equal(sent.channel.ended, true);
  });

  test("is bounded, and refuses malformed filters before it opens a stream", async () => {
    await using gateway = gatewayOf(world().source, { limits: { listens: 1, subscriptions: 2 } });
    for (const params of [
      {},
      { notifications: [] },
      { notifications: { resourceSubscriptions: "x" } },
      { notifications: { resourceSubscriptions: ["a", "b", "c"] } },
      { notifications: { resourceSubscriptions: ["a".repeat(40_000), "b".repeat(40_000)] } },
    ]) {
      const { sent, answer } = send(gateway, "subscriptions/listen", params);
      assert.equal(Object(bodyOf(await answer)["error"])["code"], -32602);
      assert.equal(sent.opened(), false);
    }
    const open = send(gateway, "subscriptions/listen", { notifications: {} });
    await open.answer;
    assert.equal((await send(gateway, "subscriptions/listen", { notifications: {} }).answer).status, 429);
    // Also if the server ended the stream, since its client may still be there.
    open.sent.channel.leave();
    assert.equal((await send(gateway, "subscriptions/listen", { notifications: {} }).answer).status, 200);
  });
});

test("subscriptions/listen acknowledges what can be listened to, though the source of another URI fails", async () => {
  const { source } = world();
  const failing: Source = {
    surface: (viewer) => source.surface(viewer),
    watch: (...watch) => source.watch(...watch),
    act: (viewer, ref, args, options) => {
      if (ref === "resources/part") throw new Error("It cannot be reached.");
      return source.act(viewer, ref, args, options);
    },
  };
  const logged: unknown[] = [];
  await using gateway = gatewayOf(failing, { log: (_level, data) => void logged.push(data) });
  const resourceSubscriptions = ["door://part/hinge", "door://state"];
  const { sent, answer } = send(gateway, "subscriptions/listen", { notifications: { resourceSubscriptions } });
  assert.equal((await answer).status, 200);
  assert.deepEqual(Object(sent.channel.messages[0]?.["params"])["notifications"], { resourceSubscriptions: ["door://state"] });
  assert.match(JSON.stringify(logged), /"listen-failed","uri":"door:\/\/part\/hinge"/);
});

test("subscriptions/listen takes a token of the rate limit for each resource", async () => {
  const { source } = world();
  let looked = 0;
  const counting: Source = {
    surface: (viewer) => source.surface(viewer),
    watch: (...watch) => source.watch(...watch),
    act: (viewer, ref, args, options) => {
      if (ref.startsWith("resources/")) looked += 1;
      return source.act(viewer, ref, args, options);
    },
  };
  await using gateway = gatewayOf(counting, { rateLimit: { perSecond: 0.001, burst: 10 } });
  const uris = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `door://none/${n}`);
  const listen = (requested: readonly string[]) =>
    send(gateway, "subscriptions/listen", { notifications: { resourceSubscriptions: requested } }).answer;
  assert.equal((await listen(["door://state", "door://state", ...uris(5)])).status, 200);
  assert.ok(looked <= 1, `it looked ${looked} times`);
  assert.equal((await listen(uris(5))).status, 429);
});

describe("a call of 2026-07-28", () => {
  test("is cancelled when the client closes its stream, up to the commit #gateway.leave.modern", async () => {
    const made = world();
    made.slowMs = 10_000;
    await using gateway = gatewayOf(made.source);
    const { sent, answer } = send(gateway, "tools/call", { name: "slow" });
    await quiet();
    sent.leave();
    assert.equal((await answer).body, undefined);
    assert.equal(made.calls, 0);
  });

  test("passes its key, trace and capabilities to the source #gateway.trace", async () => {
    const seen: CallOptions[] = [];
    const { source } = world();
    const spied = {
      surface: source.surface.bind(source),
      watch: source.watch.bind(source),
      act: (...given: Parameters<typeof source.act>) => {
        seen.push(given[3]);
        given[3].onReceipt?.({ actor: "door/1", seq: 3, head: "abc" });
        return source.act(...given);
      },
    };
    await using gateway = gatewayOf(spied, { receipts: true });
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b" };
    const { result } = await ask(gateway, "tools/call", { name: "look" }, { meta: { ...canAsk, ...trace, "troupe/callId": "k1" } });
    assert.deepEqual(Object(result["_meta"])["troupe/receipt"], { actor: "door/1", seq: 3, head: "abc" });
    await ask(gateway, "tools/call", { name: "look" }, { headers: { "idempotency-key": "k2" } });
    assert.deepEqual([seen[0]?.key, seen[0]?.trace, seen[0]?.can, seen[1]?.key], ["k1", trace, ["elicitation"], "k2"]);
    const { error } = await ask(gateway, "tools/call", { name: "look" }, { meta: { "troupe/callId": "" } });
    assert.equal(error["code"], -32602);
  });

  test("needs the scopes of its offer: 403 and a challenge #secure.challenges", async () => {
    const { source } = world();
    source.add({ tools: { guarded: { description: "For some.", meta: { "troupe/scopes": ["keys"] }, work: () => "in" } } });
    await using gateway = gatewayOf(source);
    const refused = await send(gateway, "tools/call", { name: "guarded" }, { caller: ann }).answer;
    assert.equal(refused.status, 403);
    assert.match(refused.headers?.["www-authenticate"] ?? "", /insufficient_scope.*scope="keys"/);
    assert.equal((await ask(gateway, "tools/call", { name: "guarded" }, { caller: { ...ann, scopes: ["keys"] } })).status, 200);
  });

  test("needs them through the meta tools and for completion as well", async () => {
    const { source } = world();
    const meta = { "troupe/scopes": ["keys", "doors"] };
    const complete = { who: () => ["alice", "bob"] };
    source.add({
      tools: {
        guarded: { description: "For some.", meta, work: () => "in" },
        hidden: { description: "For none.", meta, enabled: () => false, work: () => "in" },
      },
      resources: { file: { description: "For some.", uri: "file://{who}", meta, complete, view: () => "text" } },
      prompts: { ask: { description: "For some.", arguments: [{ name: "who" }], meta, complete, view: () => "text" } },
    });
    const one = { caller: { ...ann, scopes: ["keys"] } };
    const both = { caller: { ...ann, scopes: ["keys", "doors"] } };
    await using gateway = gatewayOf(source);
    await using byMeta = gatewayOf(metaOf(source));
    const act = ["tools/call", { name: "act", arguments: { action: "guarded" } }] as const;
    const refused = await send(byMeta, ...act, one).answer;
    assert.equal(refused.status, 403);
    assert.match(refused.headers?.["www-authenticate"] ?? "", /insufficient_scope.*scope="keys doors"/);
    assert.equal((await ask(byMeta, ...act, both)).status, 200);
    // Law 3: nothing is disclosed about a hidden offer, not even what it would take.
    const hidden = ["tools/call", { name: "act", arguments: { action: "hidden" } }] as const;
    assert.deepEqual((await ask(byMeta, ...hidden, one)).result, (await ask(byMeta, ...hidden, both)).result);
    for (const ref of [
      { type: "ref/resource", uri: "file://{who}" },
      { type: "ref/prompt", name: "ask" },
    ]) {
      const completion = ["completion/complete", { ref, argument: { name: "who", value: "" } }] as const;
      assert.equal((await send(gateway, ...completion, one).answer).status, 403, ref.type);
      assert.deepEqual(Object((await ask(gateway, ...completion, both)).result["completion"])["values"], ["alice", "bob"], ref.type);
    }
  });

  test("takes a token of its principal's rate limit only #secure.rate #spec.7.performance.rate #packet.security.rate", async () => {
    await using gateway = gatewayOf(world().source, { rateLimit: { perSecond: 1, burst: 3 } });
    for (let call = 0; call < 3; call += 1) assert.equal((await ask(gateway, "tools/list", {}, { caller: ann })).status, 200);
    const refused = await send(gateway, "tools/list", {}, { caller: ann }).answer;
    assert.deepEqual([refused.status, refused.headers?.["retry-after"]], [429, "1"]);
    assert.equal((await ask(gateway, "tools/list", {}, { caller: bob })).status, 200);
  });
});
