// Misbehaving servers: every operation ends in time, with an error that states the cause.
import assert from "node:assert/strict";
import { it } from "node:test";
import { type JsonObject, Cancellation, type Json, type Reply } from "troupe/contract";
import { fromMcpServer, type McpServerOptions, type SdkServer, type SdkTransport } from "troupe/mount";
import { SimulatedClock, until } from "troupe/testing";

type Handler = (message: JsonObject, transport: SdkTransport) => unknown;

const reply = (transport: SdkTransport, id: Json | undefined, result: unknown): void => {
  transport.send({ jsonrpc: "2.0", id, result }).catch(() => undefined);
};

const HELLO = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "h", version: "1" } };
const TOOLS = { tools: [{ name: "go", inputSchema: { type: "object" } }] };

/** A server that answers `initialize` and handles other messages as a test specifies. */
class Hostile implements SdkServer {
  readonly heard: JsonObject[] = [];
  readonly #on: Readonly<Record<string, Handler>>;
  transport: SdkTransport | undefined;

  constructor(on: Readonly<Record<string, Handler>>) {
    this.#on = { initialize: ({ id }, to) => reply(to, id, HELLO), "tools/list": ({ id }, to) => reply(to, id, TOOLS), ...on };
  }

  async connect(transport: SdkTransport): Promise<void> {
    this.transport = transport;
    const onmessage = (sent: object): void => {
      const message: JsonObject = { ...sent };
      const { method } = message;
      this.heard.push(message);
      if (typeof method === "string") this.#on[method]?.(message, transport);
    };
    Object.assign(transport, { onmessage });
    await transport.start();
  }

  async close(): Promise<void> {
    await this.transport?.close();
  }
}

const VIEWER = { principal: "ada", scopes: [] };

const mount = (on: Readonly<Record<string, Handler>>, options: McpServerOptions = {}) => {
  const server = new Hostile(on);
  const clock = new SimulatedClock();
  const faults: unknown[] = [];
  const source = fromMcpServer(server, { clock, onFault: (error) => void faults.push(error), ...options });
  const go = (more = {}): Promise<Reply> => source.act(VIEWER, "tools/go", {}, more);
  return { server, clock, faults, source, go };
};

it("a server that never answers: connecting, lists and calls time out #server.sdk", async () => {
  const deaf = mount({ initialize: () => undefined }, { listMs: 100 });
  const surface = assert.rejects(async () => deaf.source.surface(VIEWER), { code: "WORK_TIMEOUT" });
  await deaf.clock.advance(100);
  await surface;

  const { clock, go, server } = mount({ "tools/call": () => undefined }, { callMs: 100 });
  const call = go();
  call.catch(() => undefined);
  await until("the call to come", () => server.heard.some(({ method }) => method === "tools/call"));
  await clock.advance(100);
  await assert.rejects(call, { code: "WORK_TIMEOUT" });
  assert.ok(
    server.heard.some(({ method }) => method === "notifications/cancelled"),
    "it is notified of the cancellation",
  );
});

it("a server that answers twice, or without a request: the first answer counts", async () => {
  const { go, faults } = mount({
    "tools/call": ({ id }, to) => {
      reply(to, id, { content: [{ type: "text", text: "first" }] });
      reply(to, id, { content: [{ type: "text", text: "second" }] });
      reply(to, 99, {});
    },
  });
  assert.match(JSON.stringify(await go()), /first/);
  assert.equal(faults.length, 2);
});

it("a server that throws when it connects, or on a notification", async () => {
  const broken: SdkServer = {
    connect: () => Promise.reject(new Error("Already connected.")),
    close: () => Promise.reject(new Error("No.")),
  };
  const source = fromMcpServer(broken);
  await assert.rejects(source.ready, { message: "Already connected." });
  await assert.rejects(async () => source.surface(VIEWER), { code: "CRASHED" });
  await source[Symbol.asyncDispose]();

  const { go } = mount({
    "tools/call": () => {
      throw new Error("secret words");
    },
  });
  await assert.rejects(go(), (error: Error) => !error.message.includes("secret") && "code" in error && error.code === "CRASHED");
});

it("a server that closes during a call, or while its client has a question", async () => {
  const { go, source } = mount({ "tools/call": (_message, to) => void to.close() });
  await assert.rejects(go(), { code: "CRASHED", message: /closed/ });
  await assert.rejects(go(), { code: "CRASHED", message: /closed/ });
  await source[Symbol.asyncDispose]();

  const asking = mount({
    "tools/call": (_message, to) =>
      to.send({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params: { message: "?" } }, { relatedRequestId: 3 }),
  });
  await asking.source.surface(VIEWER);
  const question = await asking.go({ can: ["elicitation"] });
  assert.ok("needs" in question);
  await asking.server.close();
  const answers = Object.fromEntries(Object.keys(question.needs).map((key) => [key, { action: "decline" }]));
  await assert.rejects(asking.go({ can: ["elicitation"], answers }), { code: "CRASHED", message: /closed/ });
});

it("a server that sends invalid messages: cyclic, too long, not a result, not a message", async () => {
  const ring: { self?: unknown } = {};
  ring.self = ring;
  for (const rubbish of [ring, "x".repeat(2_000), 1n, "text", null, []]) {
    const { go } = mount({ "tools/call": ({ id }, to) => reply(to, id, rubbish) }, { maxLength: 1_000 });
    await assert.rejects(go(), { code: "CRASHED" }, typeof rubbish);
  }
  const long = mount({ "tools/call": ({ id }, to) => reply(to, id, "x".repeat(2_000)) }, { maxLength: 1_000 });
  await assert.rejects(long.go(), { code: "CRASHED", message: /longer than 1000 characters \(maxLength\)/ });
  const { go, faults } = mount({
    "tools/call": ({ id }, to) => {
      for (const message of [[], { jsonrpc: "2.0" }, { id: {} }, { method: "notifications/progress", params: { progressToken: "x" } }])
        to.send(message).catch(() => undefined);
      reply(to, id, { content: "no list", structuredContent: 7, isError: "perhaps", _meta: [] });
    },
  });
  assert.deepEqual(await go(), { ok: { "troupe/content": [], structured: 7 } });
  assert.ok(faults.length >= 2);
});

it("endless lists are cut off, and invalid entries omitted", async () => {
  let page = 0;
  const endless = mount({ "tools/list": ({ id }, to) => reply(to, id, { ...TOOLS, nextCursor: `${(page += 1)}` }) }, { maxListed: 50 });
  assert.equal((await endless.source.surface(VIEWER)).catalogue.tools.length, 1);
  assert.equal(page, 50);
  const circling = mount({ "tools/list": ({ id }, to) => reply(to, id, { tools: [], nextCursor: "again" }) });
  assert.deepEqual((await circling.source.surface(VIEWER)).catalogue.tools, []);
  const tools = [null, {}, { name: 7 }, { name: "x".repeat(300) }, { name: "go" }, { name: "go" }];
  const odd = mount({ "tools/list": ({ id }, to) => reply(to, id, { tools }) });
  assert.deepEqual(
    (await odd.source.surface(VIEWER)).catalogue.tools.map(({ name }) => name),
    ["go"],
  );
  assert.ok(odd.faults.length > 0);
});

it("members that would make clients refuse the whole list are omitted and reported", async () => {
  const wrong: Readonly<Record<string, readonly Json[]>> = {
    description: [5, null],
    title: [{}],
    icons: [7, [{ src: 1 }]],
    annotations: ["x", { readOnlyHint: "yes" }],
    _meta: [[]],
    inputSchema: [null, { type: "object", properties: [] }, { type: "object", properties: { a: 7 } }, { type: "object", required: "a" }],
    outputSchema: [[], { type: "object", required: [1] }],
  };
  const tools = Object.entries(wrong).flatMap(([member, values]) => values.map((value, n) => ({ name: `${member}${n}`, [member]: value })));
  const resources = [
    { uri: "a:1", name: 5, mimeType: 3, size: "1", annotations: { priority: 7 } },
    { uri: "a:2", name: "n", size: 1, annotations: { priority: 1 } },
  ];
  const prompts = [
    { name: "p", arguments: "x" },
    { name: "q", arguments: [{ name: "a" }, null] },
    { name: "r", arguments: [{ name: "a" }] },
  ];
  const { source, faults } = mount({
    initialize: ({ id }, to) => reply(to, id, { ...HELLO, capabilities: { tools: {}, resources: {}, prompts: {} } }),
    "tools/list": ({ id }, to) => reply(to, id, { tools }),
    "resources/list": ({ id }, to) => reply(to, id, { resources }),
    "resources/templates/list": ({ id }, to) => reply(to, id, { resourceTemplates: [{ uriTemplate: "a:{b}", name: "t", title: 1 }] }),
    "prompts/list": ({ id }, to) => reply(to, id, { prompts }),
  });
  const { catalogue } = await source.surface(VIEWER);
  assert.deepEqual(
    catalogue.tools.map(({ name, definition }) => [name, definition]),
    tools.map(({ name }) => [name, {}]),
  );
  assert.deepEqual(
    catalogue.resources.map(({ definition }) => definition),
    [{ uri: "a:1" }, resources[1], { uriTemplate: "a:{b}", name: "t" }],
  );
  assert.deepEqual(
    catalogue.prompts.map(({ definition }) => definition),
    [{}, {}, { arguments: [{ name: "a" }] }],
  );
  assert.equal(faults.length, tools.length + 4 + 1 + 2);
});

it("a server's questions outside of a call, of other methods or too many are refused", async () => {
  const { server, source } = mount({});
  await source.ready;
  const { transport } = server;
  for (const method of ["elicitation/create", "tools/list"])
    await transport?.send({ jsonrpc: "2.0", id: method, method, params: { message: "?" } });
  const answerTo = (id: string): string => JSON.stringify(server.heard.find((message) => message["id"] === id && "error" in message));
  assert.match(answerTo("elicitation/create"), /outside of a call/);
  assert.match(answerTo("tools/list"), /Method not found/);

  const many = mount(
    {
      "tools/call": (_message, to) => {
        for (let n = 0; n < 5; n += 1) to.send({ jsonrpc: "2.0", id: `q${n}`, method: "roots/list" }).catch(() => undefined);
      },
    },
    { maxAsking: 2 },
  );
  const questions = await many.go({ can: ["roots"] });
  assert.ok("needs" in questions);
  assert.equal(Object.keys(questions.needs).length, 2, "concurrent questions are sent together, up to the limit");
  assert.equal(many.server.heard.filter((message) => "error" in message).length, 3);
});

it("a caller whose calls wait leaves room for the questions of others, however many sessions it opens", async () => {
  const asking = mount(
    {
      "tools/call": ({ id = null }, to) => {
        to.send({ jsonrpc: "2.0", id: `q${JSON.stringify(id)}`, method: "roots/list" }).catch(() => undefined);
      },
    },
    { maxAsking: 4 },
  );
  const { server, source } = asking;
  const refusals = (): number => server.heard.filter((message) => "error" in message).length;
  const call = async (principal: string, peer?: string): Promise<boolean> => {
    const before = refusals();
    let hasQuestion = false;
    const options = { can: ["roots"], ...(peer === undefined ? {} : { peer }) };
    source.act({ principal, scopes: [] }, "tools/go", {}, options).then(
      () => (hasQuestion = true),
      () => undefined,
    );
    await until("a question or a refusal", () => hasQuestion || refusals() > before);
    return hasQuestion;
  };
  assert.deepEqual([await call("session|1", "192.0.2.1"), await call("session|2", "192.0.2.1")], [true, true]);
  assert.equal(await call("session|3", "192.0.2.1"), false);
  assert.deepEqual([await call("ada"), await call("session|4", "192.0.2.2")], [true, true]);
});

it("a client that disconnects during a question ends the call in the server too", async () => {
  const ask: Handler = (_message, to) => to.send({ jsonrpc: "2.0", id: "q", method: "roots/list" });
  const { server, go } = mount({ "tools/call": ask });
  const signal = new Cancellation();
  assert.ok("needs" in (await go({ can: ["roots"], signal })));
  signal.abort();
  assert.ok(server.heard.some(({ method }) => method === "notifications/cancelled"));
});

it("lists that cannot be read again are unchanged", async () => {
  let broken = false;
  const list: Handler = ({ id }, to) => reply(to, id, broken ? 7 : TOOLS);
  const { server, source, faults } = mount({ "tools/list": list });
  const before = await source.surface(VIEWER);
  broken = true;
  await server.transport?.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  assert.equal(source.catalogue?.(VIEWER), undefined);
  assert.equal(await source.surface(VIEWER), before);
  assert.equal(faults.length, 1);
});

it("a factory that is too slow: calls and closing time out, and its server is closed", async () => {
  const clock = new SimulatedClock();
  const delayed = Promise.withResolvers<SdkServer>();
  const closed = Promise.withResolvers<void>();
  const source = fromMcpServer(() => delayed.promise, { clock, listMs: 100, instructions: "" });
  const surface = assert.rejects(async () => source.surface(VIEWER), { code: "WORK_TIMEOUT", message: /was not made within 100 ms/ });
  await clock.advance(100);
  await surface;
  const again = assert.rejects(async () => source.surface(VIEWER), { code: "WORK_TIMEOUT" });
  const closing = source[Symbol.asyncDispose]();
  await clock.advance(100);
  await Promise.all([again, closing]);
  delayed.resolve({ connect: () => Promise.reject(new Error("It was connected.")), close: async () => closed.resolve() });
  await closed.promise;
});

it("a server whose close never ends does not delay its owner", async () => {
  const { clock, source, server } = mount({}, { listMs: 100 });
  await source.ready;
  server.close = () => new Promise(() => undefined);
  const closing = source[Symbol.asyncDispose]();
  await clock.advance(100);
  await closing;
});
