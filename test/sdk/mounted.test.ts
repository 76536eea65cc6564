// Mounted servers of the official SDK, and their differences from the SDK's own transports.
import assert from "node:assert/strict";
import { it } from "node:test";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { UrlElicitationRequiredError as UrlElicitationRequiredErrorV1 } from "@modelcontextprotocol/sdk/types.js";
import {
  McpServer as McpServerV2,
  Server,
  UrlElicitationRequiredError as UrlElicitationRequiredErrorV2,
} from "@modelcontextprotocol/server";
import type { Reply } from "troupe/contract";
import { fromMcpServer, type McpServerOptions, type SdkServer } from "troupe/mount";
import { createServer } from "troupe/server";
import { connectInMemory } from "troupe/transport";
import { prefix } from "troupe/source";
import {
  assertError,
  assertHasTools,
  assertToolResult,
  callToolRequest,
  SimulatedClock,
  testServer,
  type TestServer,
  toolText,
  until,
} from "troupe/testing";
import * as z from "zod";
import { everythingV1 } from "./everything-v1.ts";
import { everythingV2 } from "./everything-v2.ts";

type Mounted = Parameters<typeof fromMcpServer>[0];

const YES = { elicitation: [{ action: "accept", content: { yes: true } }] };

/** Serves a mounted server on a simulated clock; closed with the test server. */
const serve = (mounted: Mounted, options: McpServerOptions = {}): Promise<TestServer> =>
  testServer(async ({ clock, entropy, ...wires }) => {
    const source = fromMcpServer(mounted, { clock, entropy, ...options });
    await source.ready.catch(() => undefined);
    const own = createServer("ours", "1.0.0", { clock, entropy, ...wires, sources: [source] });
    return {
      gateway: own.gateway,
      async [Symbol.asyncDispose]() {
        await own.close();
        await source[Symbol.asyncDispose]();
      },
    };
  });

/** A factory of servers that count their calls and record when they are closed. */
const counting = () => {
  const made: McpServer[] = [];
  const closed: number[] = [];
  const make = (): McpServer => {
    const server = new McpServer({ name: "counting", version: "1.0.0" });
    let n = 0;
    server.registerTool("count", {}, () => ({ content: [{ type: "text", text: `${(n += 1)}` }] }));
    const at = made.push(server) - 1;
    return Object.assign(server, {
      close: async () => {
        await server.server.close();
        closed.push(at);
      },
    });
  };
  return { made, closed, make };
};

for (const [sdk, everything] of [
  ["v1", everythingV1],
  ["v2", everythingV2],
] as const) {
  it(`${sdk}: a handler finds its viewer's principal and scopes`, async () => {
    await using served = await serve(everything().server);
    assertToolResult(await served.client({ principal: "ada", scopes: ["a", "b"] }).callTool("whoami"), '["ada",["a","b"]]');
    assertToolResult(await served.client({ principal: null }).callTool("whoami"), "[null,null]");
  });

  it(`${sdk}: authInfo is made by the option`, async () => {
    const authInfo = ({ principal = "" }) => ({ token: "t", clientId: principal.toUpperCase(), scopes: [] });
    await using served = await serve(everything().server, { authInfo });
    assertToolResult(await served.client({ principal: "ada" }).callTool("whoami"), '["ADA",[]]');
  });

  it(`${sdk}: log lines of a call reach its client, others the owner`, async () => {
    await using served = await serve(everything().server);
    const client = served.client();
    await client.callTool("say");
    const { params } = await client.notifications.first("notifications/message");
    assert.deepEqual(params, { level: "warning", logger: "sayer", data: { warned: true } });
    const logged: unknown[] = [];
    const mine = everything();
    await using source = fromMcpServer(mine.server, { onLog: (...entry) => void logged.push(entry) });
    await source.ready;
    await mine.log("alone");
    assert.deepEqual(logged, [["notice", "alone"]]);
  });

  it(`${sdk}: asking a client without the capability fails in the handler`, async () => {
    await using served = await serve(everything().server);
    for (const era of ["legacy", "modern"] as const) {
      const refused = await served.client({ era }).callTool("confirm", { what: "go" });
      assert.equal(refused.isError, true);
      assert.match(toolText(refused), /Client does not support elicitation/);
    }
  });

  it(`${sdk}: a call whose modern client never answers ends by itself`, async () => {
    const { server, seen } = everything();
    const source = fromMcpServer(server);
    const question = await source.act({ scopes: [] }, "tools/confirm", { what: "go" }, { can: ["elicitation"] });
    assert.ok("needs" in question);
    assert.equal(seen.runs, 1);
    const [key = ""] = Object.keys(question.needs);
    const answers = { [key]: { action: "accept", content: { yes: true } } };
    const foreign = await source.act({ principal: "eve", scopes: [] }, "tools/confirm", { what: "go" }, { can: ["elicitation"], answers });
    assert.ok("refused" in foreign && foreign.refused.code === "NOT_NOW", "another principal cannot answer");
    const other = await source.act({ scopes: [] }, "tools/confirm", { what: "stay" }, { can: ["elicitation"], answers });
    assert.ok("refused" in other && other.refused.code === "NOT_NOW", "nor another call");
    const reply = await source.act({ scopes: [] }, "tools/confirm", { what: "go" }, { can: ["elicitation"], answers });
    assert.match(JSON.stringify(reply), /accept/);
    const again = await source.act({ scopes: [] }, "tools/confirm", { what: "go" }, { can: ["elicitation"], answers });
    assert.ok("refused" in again && again.refused.code === "NOT_NOW", "an answer is given once");
    assert.equal(seen.runs, 1);
    await source[Symbol.asyncDispose]();
  });

  it(`${sdk}: a call that waits for its client times out`, async () => {
    await using served = await testServer((wires) => createServer("clock", "1", wires));
    const source = fromMcpServer(everything().server, { clock: served.clock, askMs: 1_000 });
    const question = await source.act({ scopes: [] }, "tools/confirm", { what: "go" }, { can: ["elicitation"] });
    assert.ok("needs" in question);
    await served.clock.advance(1_000);
    const answers = Object.fromEntries(Object.keys(question.needs).map((key) => [key, { action: "accept", content: { yes: true } }]));
    const expired = await source.act({ scopes: [] }, "tools/confirm", { what: "go" }, { can: ["elicitation"], answers });
    assert.ok("refused" in expired && expired.refused.code === "NOT_NOW");
    await source[Symbol.asyncDispose]();
  });

  it(`${sdk}: names and URIs can have a prefix, next to a registry and another server`, async () => {
    const [one, two] = [fromMcpServer(everything().server), fromMcpServer(everythingV1().server)];
    await using served = await testServer((wires) => {
      const own = createServer("ours", "1.0.0", { ...wires, sources: [prefix("one", one), prefix("two", two)] });
      own.tools.register({ name: "add", description: "Ours." }, () => "ours");
      return own;
    });
    await one.ready;
    await two.ready;
    const client = served.client({ answers: YES });
    assertHasTools(await client.listTools(), "add", "one__add", "two__add");
    assertToolResult(await client.callTool("one__add", { a: 1, b: 2 }), "3");
    assertToolResult(await client.callTool("two__confirm", { what: "go" }), /accept/);
    assertToolResult(await client.callTool("add"), "ours");
    assert.deepEqual(await client.readResource("notes://one/a%2Fb"), { contents: [{ uri: "notes://one/a%2Fb", text: "note a%2Fb" }] });
    assert.deepEqual(await client.complete({ uri: "notes://two/{id}" }, "id", "o"), ["one", "other"]);
    const about = 'About everything here whose name begins with "one__" or "two__":\nAsk for anything.';
    assert.equal((await client.initialize())["instructions"], about);
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
  });

  it(`${sdk}: differences from a direct connection are those in the guide #server.sdk`, async () => {
    await using served = await serve(everything().server);
    const client = served.client();
    await client.initialize();
    assertError(await client.raw(callToolRequest(7, "nothing")), -32602);
    assertError(await client.raw(callToolRequest(8, "secret")), -32602);
    await assert.rejects(client.getPrompt("torn"), { code: -31422, message: /It is torn/ });
    await assert.rejects(client.readResource("memo://broken"), { code: -31422, message: /It is torn/ });
    await assert.rejects(client.readResource("memo://nothing"), { code: -32002 });
    assert.equal((await client.listTools())[0]?.["execution"], undefined);
    const complete = { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "name", value: "A" } };
    assert.deepEqual((await client.request("completion/complete", complete))["completion"], { values: [], total: 0, hasMore: false });
  });
}

it("one name at two sources is an error that is logged with advice", async () => {
  const [one, two] = [fromMcpServer(everythingV1().server), fromMcpServer(everythingV2().server)];
  const logged: unknown[] = [];
  const log = (_level: string, data: unknown): void => void logged.push(data);
  await using served = await testServer((wires) => createServer("ours", "1.0.0", { ...wires, log, sources: [one, two] }));
  await assert.rejects(served.client().listTools(), { message: /misconfigured/ });
  assert.match(JSON.stringify(logged), /a mounted MCP server and by a mounted MCP server.*prefix\(\)/);
  await one[Symbol.asyncDispose]();
  await two[Symbol.asyncDispose]();
});

it("one server is shared by all; with a factory each principal has its own #server.sdk", async () => {
  const { make, closed, made } = counting();
  {
    await using shared = await serve(make());
    assertToolResult(await shared.client({ principal: "ada" }).callTool("count"), "1");
    assertToolResult(await shared.client({ principal: "bob" }).callTool("count"), "2");
  }
  assert.deepEqual(closed, [0], "the server is closed with its source");
  {
    await using own = await serve(make);
    assertToolResult(await own.client({ principal: "ada" }).callTool("count"), "1");
    assertToolResult(await own.client({ principal: "bob" }).callTool("count"), "1");
    assertToolResult(await own.client({ principal: "ada" }).callTool("count"), "2");
    assertToolResult(await own.client({ principal: "ada", scopes: ["more"] }).callTool("count"), "1");
  }
  assert.equal(closed.length, made.length, "all are closed with the source");
});

it("idle servers are closed, and their number is limited", async () => {
  const { make, closed, made } = counting();
  await using served = await serve(make, { idleMs: 1_000, maxServers: 2, instructions: "" });
  const as = (principal: string) => served.client({ principal, listen: false, era: "modern" });
  assertToolResult(await as("ada").callTool("count"), "1");
  assertToolResult(await as("bob").callTool("count"), "1");
  assertToolResult(await as("cyd").callTool("count"), "1");
  await until("the idlest to be closed", () => closed.length === 1);
  assert.deepEqual(closed, [0]);
  await served.clock.advance(1_000);
  await until("the idle to be closed", () => closed.length === 3);
  assertToolResult(await as("ada").callTool("count"), "1");
  assert.equal(made.length, 4);
});

it("if all servers are in use, another viewer is refused", async () => {
  const { server, seen } = everythingV1();
  await using served = await serve(() => server, { maxServers: 1, instructions: "" });
  const busy = served.client({ principal: "ada" }).callTool("wait");
  await until("the tool to run", () => seen.runs === 1);
  await assert.rejects(served.client({ principal: "bob" }).listTools(), { message: /call again later/ });
  await server.close();
  assert.equal((await busy).isError, true);
});

it("a server with a call that waits for its client is in use, until the answer or for askMs", async () => {
  await using served = await testServer((wires) => createServer("clock", "1", wires));
  const { clock } = served;
  const closed: string[] = [];
  const make = ({ principal = "" }): SdkServer => {
    const { server } = everythingV1();
    return {
      connect: (transport) => server.connect(transport),
      close: async () => {
        await server.close();
        closed.push(principal);
      },
    };
  };
  await using source = fromMcpServer(make, { clock, idleMs: 1_000, askMs: 10_000, maxServers: 1, instructions: "" });
  const [ada, bob] = ["ada", "bob"].map((principal) => ({ principal, scopes: [] }));
  assert.ok(ada !== undefined && bob !== undefined);
  const act = (answers?: object): Promise<Reply> =>
    source.act(ada, "tools/confirm", { what: "go" }, { can: ["elicitation"], ...(answers && { answers: { ...answers } }) });
  const first = await act();
  await clock.advance(3_000);
  await assert.rejects(async () => source.surface(bob), { code: "MAILBOX_FULL" });
  const answers = "needs" in first ? Object.fromEntries(Object.keys(first.needs).map((key) => [key, { action: "decline" }])) : {};
  assert.match(JSON.stringify(await act(answers)), /decline/);
  await clock.advance(1_000);
  await until("the idle to be closed", () => closed.length === 1);

  assert.ok("needs" in (await act()));
  await clock.advance(11_000);
  await until("the one with a client that never comes back to be closed", () => closed.length === 2);
});

it("an idle server with listeners is closed to make room, and its listeners get the next one", async () => {
  const { make, closed, made } = counting();
  await using served = await testServer((wires) => createServer("clock", "1", wires));
  await using source = fromMcpServer(make, { clock: served.clock, idleMs: 1_000, maxServers: 1, instructions: "" });
  const [ada, bob] = [
    { principal: "ada", scopes: [] },
    { principal: "bob", scopes: [] },
  ];
  let heard = 0;
  const undo = source.watch(ada, () => (heard += 1));
  assert.match(JSON.stringify(await source.act(ada, "tools/count", {}, {})), /"1"/);
  await assert.rejects(async () => source.surface(bob), { code: "MAILBOX_FULL" });
  await served.clock.advance(1_000);
  assert.deepEqual(closed, [], "its place is not needed");
  await source.surface(bob);
  await until("the one only listened to to be closed", () => closed.length === 1);
  assert.deepEqual(closed, [0]);
  assert.equal(heard, 0);
  await source.surface(ada);
  assert.equal(heard, 1, "what may have changed meanwhile is looked at");
  made.at(-1)?.registerTool("more", {}, () => ({ content: [] }));
  await until("ada to hear of the new server's tools", () => heard === 2);
  undo();
  await served.clock.advance(1_000);
  await until("a server without listeners is closed", () => closed.length === 3);
});

it("with a factory, a call after a server closed itself gets a new one", async () => {
  const { make, made } = counting();
  await using served = await serve(make, { instructions: "" });
  const client = served.client({ principal: "ada", era: "modern", listen: false });
  assertToolResult(await client.callTool("count"), "1");
  await made[0]?.close();
  assertToolResult(await client.callTool("count"), "1");
  await using shared = await serve(make());
  const other = shared.client();
  assertToolResult(await other.callTool("count"), "1");
  await made.at(-1)?.close();
  assert.equal((await other.callTool("count")).isError, true);
});

it("a call of a client with a session can ask at most eight times", async () => {
  const { make } = counting();
  const server = make();
  server.registerTool("nag", {}, async () => {
    for (;;) await server.server.listRoots();
  });
  await using served = await serve(server);
  const nagged = await served.client({ answers: { roots: () => ({ roots: [] }) } }).callTool("nag");
  assert.equal(nagged.isError, true);
});

const ERROR = { code: -1, message: "no window is open" };

/** The result for a client of 2025-11-25 that answers every question like this. Undefined: it never answers. */
const resultWhere = async (own: McpServer, name: string, answer: object | undefined, clock?: SimulatedClock): Promise<unknown> => {
  const options = clock === undefined ? {} : { clock };
  await using source = fromMcpServer(own, options);
  await using server = createServer("ours", "1.0.0", { ...options, sources: [source] });
  await using client = connectInMemory(server.gateway);
  const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } };
  client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name, arguments: {} } });
  for await (const text of client.messages) {
    const { id, method, result } = MESSAGE.parse(JSON.parse(text));
    if (id === 2) return result;
    if (method !== "elicitation/create") continue;
    if (answer === undefined) await clock?.advance(600_000);
    else client.send({ jsonrpc: "2.0", id, ...answer });
  }
  return undefined;
};

const MESSAGE = z.object({ id: z.unknown().optional(), method: z.string().optional(), result: z.unknown().optional() });

/** Asks a given number of times, regardless of the answers. */
const asking = (times: number) => {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  const seen: unknown[] = [];
  server.registerTool("buy", {}, async ({ signal }) => {
    signal.addEventListener("abort", () => seen.push("aborted"));
    const requestedSchema = { type: "object" as const, properties: {} };
    for (let n = 0; n < times && !signal.aborted; n += 1)
      try {
        seen.push((await server.server.elicitInput({ message: "Sure?", requestedSchema })).action);
      } catch (error) {
        seen.push(error instanceof Error && "code" in error ? [error.code, error.message] : error);
      }
    return { content: [{ type: "text", text: "Reserved." }] };
  });
  return { server, seen };
};

it("a client's error for a question reaches the handler, whose result the caller gets", async () => {
  const { server, seen } = asking(1);
  assert.deepEqual(await resultWhere(server, "buy", { error: ERROR }), { content: [{ type: "text", text: "Reserved." }] });
  assert.deepEqual(seen, [[-1, "MCP error -1: no window is open"]]);
});

it("a client's error that the SDK would ignore reaches the handler, too", async () => {
  const { server, seen } = asking(1);
  await resultWhere(server, "buy", { error: { code: 0.5, message: "half" } });
  assert.deepEqual(seen, [[-32000, "MCP error -32000: half"]]);
});

it("an invalid answer is an error for the handler that asked", async () => {
  const { server, seen } = asking(1);
  assert.deepEqual(await resultWhere(server, "buy", { result: { action: "perhaps" } }), { content: [{ type: "text", text: "Reserved." }] });
  assert.match(JSON.stringify(seen), /^\[\[-32000,".*is not the result of elicitation\/create/);
});

it("after eight rounds the next question of a handler fails, and one that asks on is cancelled", async () => {
  const nine = asking(9);
  const accept = { result: { action: "accept", content: {} } };
  assert.deepEqual(await resultWhere(nine.server, "buy", accept), { content: [{ type: "text", text: "Reserved." }] });
  assert.match(JSON.stringify(nine.seen), /^\[("accept",){8}\[-32000,".*After 8 rounds of questions/);
  const endless = asking(Infinity);
  const cancelled = JSON.stringify(await resultWhere(endless.server, "buy", { error: ERROR }));
  assert.match(cancelled, /"isError":true.*"applied":"unknown"/);
  assert.doesNotMatch(cancelled, /Nothing was applied/);
  assert.ok(endless.seen.includes("aborted"));
});

it("the caller of a handler whose question failed is not promised that nothing was applied", async () => {
  const { server, seen } = asking(1);
  const expired = JSON.stringify(await resultWhere(server, "buy", undefined, new SimulatedClock()));
  assert.match(expired, /did not answer.*may stay.*"isError":true.*"applied":"unknown"/);
  assert.equal(seen[0], "aborted");
});

it("a low-level server with many pages is listed completely", async () => {
  const server = new Server({ name: "pages", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", ({ params }) => {
    const page = Number(params?.cursor ?? 0);
    const tools = [{ name: `tool-${page}`, inputSchema: { type: "object" as const } }];
    return page < 4 ? { tools, nextCursor: `${page + 1}` } : { tools };
  });
  server.setRequestHandler("tools/call", ({ params }) => {
    if (params.name === "tool-1") throw Object.assign(new Error("Not so."), { code: -32_050, data: { why: 1 } });
    return { content: [{ type: "text", text: params.name }] };
  });
  const source: SdkServer = server;
  await using served = await serve(source);
  const client = served.client();
  assertHasTools(await client.listTools(), "tool-0", "tool-1", "tool-2", "tool-3", "tool-4");
  assertToolResult(await client.callTool("tool-4"), "tool-4");
  const failed = await client.callTool("tool-1");
  assert.equal(toolText(failed), "Not so.");
  assert.deepEqual(failed["_meta"], { "troupe/refused": { code: "REFUSED", data: { code: -32_050, data: { why: 1 } } } });
});

const PAGE = { mode: "url", url: "https://shop.example/connect", message: "Connect your account.", elicitationId: "one" };

const shops = {
  v1() {
    const server = new McpServer({ name: "shop", version: "1.0.0" });
    server.registerTool("buy", {}, () => {
      throw new UrlElicitationRequiredErrorV1([{ ...PAGE, mode: "url" }], "Connect first.");
    });
    return server;
  },
  v2() {
    const server = new McpServerV2({ name: "shop", version: "1.0.0" });
    server.registerTool("buy", {}, () => {
      throw new UrlElicitationRequiredErrorV2([{ ...PAGE, mode: "url" }], "Connect first.");
    });
    return server;
  },
};

for (const [sdk, shop] of Object.entries(shops))
  it(`${sdk}: a URL elicitation is sent in the form of the client's revision`, async () => {
    const resultFor = async (protocolVersion: string, capabilities: object): Promise<Readonly<Record<string, unknown>>> => {
      await using source = fromMcpServer(shop());
      await using server = createServer("ours", "1.0.0", { sources: [source] });
      await using client = connectInMemory(server.gateway, { principal: "ada", scopes: [] });
      const params = { name: "buy", arguments: {} };
      const meta = {
        "io.modelcontextprotocol/protocolVersion": protocolVersion,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
      };
      if (protocolVersion === "2026-07-28")
        client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { ...params, _meta: meta } });
      else {
        const clientInfo = { name: "t", version: "1" };
        client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion, capabilities, clientInfo } });
        client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
        client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
      }
      for await (const text of client.messages)
        if (text.includes('"id":2')) return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
      return {};
    };
    const url = { elicitation: { url: {} } };
    const { error } = await resultFor("2025-11-25", url);
    assert.deepEqual(z.object({ code: z.number(), data: z.unknown() }).parse(error), { code: -32042, data: { elicitations: [PAGE] } });
    for (const [revision, capabilities] of [
      ["2025-11-25", { elicitation: {} }],
      ["2025-06-18", url],
      ["2026-07-28", url],
    ] as const) {
      const { result } = await resultFor(revision, capabilities);
      const { content } = z.object({ content: z.array(z.object({ text: z.string() })), isError: z.literal(true) }).parse(result);
      assert.match(content[0]?.text ?? "", /Connect first\. Connect your account\. https:\/\/shop\.example\/connect$/, revision);
    }
  });

it("a server gets subscriptions to its own resources only, and one that it refused again", async () => {
  const requests: string[] = [];
  const mounted = new Server({ name: "mounted", version: "1" }, { capabilities: { resources: { subscribe: true } } });
  mounted.setRequestHandler("resources/list", () => ({ resources: [{ uri: "note://1", name: "one" }] }));
  mounted.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  mounted.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    requests.push(`subscribe ${uri}`);
    if (requests.length === 1) throw new Error("Not yet.");
    return {};
  });
  mounted.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    requests.push(`unsubscribe ${uri}`);
    return {};
  });
  const faults: string[] = [];
  await using source = fromMcpServer(mounted, { onFault: (error) => faults.push(String(error)) });
  const listen = (uri: string): (() => void) => source.watch({ scopes: [] }, () => undefined, { ref: `resources/${uri}`, args: {} });
  const undos = [listen("note"), listen("note://1")];
  await until("the refusal", () => faults.length === 1);
  undos.push(listen("note://1"), listen("note://1"));
  await until("the subscription", () => requests.length === 2);
  for (const undo of undos) undo();
  await until("the end of the subscription", () => requests.length === 3);
  listen("note://1")();
  listen("note://1");
  await until("another subscription", () => requests.length === 4);
  assert.deepEqual(requests, ["subscribe note://1", "subscribe note://1", "unsubscribe note://1", "subscribe note://1"]);
  assert.match(faults.join(), /^EngineError: resources\/subscribe failed: Not yet\.$/);
});
