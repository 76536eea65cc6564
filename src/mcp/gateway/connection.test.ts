import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, Gateway } from "../../core/contract/index.ts";
import { type HandlerContext, registry } from "../source/index.ts";
import { connectInMemory } from "../transport/index.ts";
import { channelDouble, ENVELOPE, gatewayOf, quiet, type ReadChannel, until, world } from "./kit.fixture.ts";

const initialize = (version: string, id: number | string = 0, capabilities: JsonObject = {}): object => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion: version, capabilities, clientInfo: { name: "t", version: "1" } },
});
const request = (id: number | string, method: string, params: JsonObject = {}): object => ({ jsonrpc: "2.0", id, method, params });
const modern = (id: number | string, method: string, params: JsonObject = {}): object =>
  request(id, method, { ...params, _meta: ENVELOPE });
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

const cancel = (id: number | string): object => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });

interface Wire {
  readonly channel: ReadChannel;
  readonly send: (...messages: readonly (object | string)[]) => void;
  readonly reply: (id: number | string) => Promise<JsonObject>;
  readonly close: () => Promise<void>;
}

function wire(gateway: Gateway, principal = "local"): Wire {
  const channel = channelDouble();
  const connection = gateway.connect(channel, { principal, scopes: [] });
  return {
    channel,
    send(...messages) {
      for (const message of messages) connection.receive(typeof message === "string" ? message : Buffer.from(JSON.stringify(message)));
    },
    async reply(id) {
      const find = (): JsonObject | undefined => channel.messages.find((message) => message["id"] === id && !("method" in message));
      await until(() => find() !== undefined);
      return find() ?? {};
    },
    close: () => connection.close(),
  };
}

const talk = ({ progress, log }: Pick<HandlerContext, "progress" | "log">, step = 1): void => {
  progress(step);
  log("info", { step });
};

const asides = ({ messages }: ReadChannel): readonly unknown[] =>
  messages.flatMap(({ method }) => (method === "notifications/progress" || method === "notifications/message" ? [method] : []));

const notices = ({ messages }: ReadChannel): readonly JsonObject[] =>
  messages.filter(({ method }) => typeof method === "string" && /updated|list_changed/.test(method));

const code = (message: JsonObject): unknown => Object(message["error"])["code"];

describe("a connection", () => {
  test("takes one token of the rate limit for a call with several questions", async () => {
    // The other is for `initialize`.
    await using gateway = gatewayOf(world().source, { rateLimit: { perSecond: 0.001, burst: 2 } });
    const client = wire(gateway);
    const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } };
    client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    await client.reply(1);
    client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "twice", arguments: {} } });
    for (let question = 1; question <= 2; question += 1) {
      const questions = (): readonly JsonObject[] => client.channel.messages.filter(({ method }) => method === "elicitation/create");
      await until(() => questions().length === question);
      client.send({ jsonrpc: "2.0", id: questions().at(-1)?.["id"] ?? null, result: { action: "accept", content: { n: question } } });
    }
    assert.deepEqual(Object.keys(Object(Object((await client.reply(2))["result"])["structuredContent"])), ["first", "second"]);
    client.send({ jsonrpc: "2.0", id: 3, method: "ping" });
    client.send({ jsonrpc: "2.0", id: 4, method: "tools/list" });
    assert.match(JSON.stringify(await client.reply(4)), /Too many requests/);
  });

  test("a progress token has at most 256 characters", async () => {
    await using gateway = gatewayOf(world().source);
    const legacyWire = wire(gateway);
    const modernWire = wire(gateway);
    legacyWire.send(initialize("2025-11-25", "i"), initialized);
    const params = (length: number): JsonObject => ({
      name: "look",
      arguments: {},
      _meta: { ...ENVELOPE, progressToken: "x".repeat(length) },
    });
    for (const [length, expected] of [
      [256, undefined],
      [257, -32602],
    ] as const) {
      legacyWire.send(request(length, "tools/call", params(length)));
      modernWire.send(request(length, "tools/call", params(length)));
      assert.equal(code(await legacyWire.reply(length)), expected);
      assert.equal(code(await modernWire.reply(length)), expected);
    }
  });

  test("initialize makes it one legacy session; before it only ping is answered #gateway.stdio #gateway.ping #spec.7.stateful", async () => {
    await using gateway = gatewayOf(world().source);
    const { send, reply } = wire(gateway);
    send(request(1, "ping"), request(2, "tools/list"));
    assert.deepEqual(await reply(1), { jsonrpc: "2.0", id: 1, result: {} });
    assert.equal(code(await reply(2)), -32600);
    send(initialize("2025-06-18", 3), initialized, request(4, "tools/list"), modern(5, "server/discover"), initialize("2025-06-18", 6));
    assert.equal(Object((await reply(3))["result"])["protocolVersion"], "2025-06-18");
    assert.ok("result" in (await reply(4)));
    assert.equal(code(await reply(5)), -32601);
    assert.equal(code(await reply(6)), -32600);
  });

  test("an enveloped request makes it modern; server/discover alone does not decide #gateway.stdio", async () => {
    await using gateway = gatewayOf(world().source);
    const one = wire(gateway);
    one.send(modern(1, "server/discover"));
    await one.reply(1);
    one.send(initialize("2025-11-25", 2));
    assert.ok("result" in (await one.reply(2)));
    const two = wire(gateway);
    two.send(modern(1, "tools/list"));
    await two.reply(1);
    two.send(initialize("2025-11-25", 2), request(3, "server/discover"));
    assert.equal(code(await two.reply(2)), -32602);
    assert.equal(code(await two.reply(3)), -32602);
  });

  test("C8 no notification precedes the initialize reply or notifications/initialized #gateway.initialize", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const { send, channel, reply } = wire(gateway);
    made.set(true);
    send(initialize("2025-11-25", "i"), request(1, "tools/list"));
    await reply(1);
    made.set(false);
    await quiet();
    assert.equal(channel.messages[0]?.["id"], "i");
    assert.ok(channel.messages.every((message) => !("method" in message)));
    send(initialized);
    await until(() => channel.messages.some((message) => message["method"] === "notifications/tools/list_changed"));
    assert.equal(channel.messages.filter((message) => "method" in message).length, 1, "resources were never listed");
  });

  test("C8 a notification precedes the reply to the call that caused it, in both eras", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source, { listMode: { modern: "dynamic" } });
    const legacyWire = wire(gateway);
    const modernWire = wire(gateway);
    legacyWire.send(initialize("2025-11-25", "i"), initialized, request("l", "tools/list"));
    modernWire.send(modern("w", "subscriptions/listen", { notifications: { toolsListChanged: true } }));
    await legacyWire.reply("l");
    for (let round = 0; round < 40; round += 1) {
      const [actor, speak] = round % 4 < 2 ? [legacyWire, request] : [modernWire, modern];
      const before = actor.channel.messages.length;
      actor.send(speak(round, "tools/call", { name: made.open ? "shut" : "open", arguments: {} }));
      await actor.reply(round);
      const methods = actor.channel.messages.slice(before).map((message) => message["method"] ?? message["id"]);
      assert.equal(methods.indexOf("notifications/tools/list_changed") < methods.indexOf(round), true, JSON.stringify(methods));
      assert.ok(methods.includes("notifications/tools/list_changed"));
      await quiet();
      const changesOf = (of: Wire): number =>
        of.channel.messages.filter((message) => message["method"] === "notifications/tools/list_changed").length;
      assert.deepEqual([changesOf(legacyWire), changesOf(modernWire)], [round + 1, round + 1], "once each");
    }
  });

  test("a slow client's replies follow their notifications, and its progress is dropped", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const { send, channel, reply } = wire(gateway);
    send(initialize("2025-11-25"), initialized, request("l", "tools/list"));
    await reply("l");
    channel.block();
    send(request(1, "tools/call", { name: "open" }), request(2, "tools/call", { name: "slow", _meta: { progressToken: 1 } }));
    await reply(2);
    const methods = channel.messages.map((message) => message["method"] ?? message["id"]);
    assert.ok(methods.indexOf("notifications/tools/list_changed") < methods.indexOf(1));
    assert.equal(methods.includes("notifications/progress"), false);
  });

  test("batches are served in 2025-03-26 only #gateway.batch", async () => {
    await using gateway = gatewayOf(world().source);
    const one = wire(gateway);
    one.send(
      initialize("2025-03-26"),
      initialized,
      JSON.stringify([request(1, "ping"), initialized, 5, request(2, "tools/call", { name: "look" })]),
    );
    await until(() => one.channel.events.some((event) => event.text.startsWith("[")));
    const batch: unknown = JSON.parse(one.channel.events.find((event) => event.text.startsWith("["))?.text ?? "");
    assert.ok(Array.isArray(batch));
    assert.deepEqual(
      batch.map((message: JsonObject) => message["id"]),
      [1, null, 2],
    );
    const two = wire(gateway);
    two.send(initialize("2025-06-18"), initialized, JSON.stringify([request(1, "ping")]));
    await until(() => two.channel.messages.length === 2);
    assert.deepEqual([code(two.channel.messages[1] ?? {}), two.channel.messages[1]?.["id"]], [-32600, null]);
  });

  test("the dialect apptheory has batches here as over HTTP: in order, and whole", async () => {
    const order: string[] = [];
    const slowly = (name: string) => ({
      async work() {
        order.push(`${name} begins`);
        await quiet();
        order.push(`${name} ends`);
        return name;
      },
    });
    await using gateway = gatewayOf(registry({ tools: { a: slowly("a"), b: slowly("b") } }), { profile: "apptheory" });
    const { send, channel } = wire(gateway);
    const calls = ["a", "b"].map((name, at) => request(at, "tools/call", { name }));
    send(request("i", "initialize"), JSON.stringify(calls));
    await until(() => channel.events.length === 2);
    assert.deepEqual(order, ["a begins", "a ends", "b begins", "b ends"]);
    const replies: unknown = JSON.parse(channel.events[1]?.text ?? "");
    assert.ok(Array.isArray(replies));
    assert.deepEqual(
      replies.map((reply: JsonObject) => reply["id"]),
      [0, 1],
    );
    send(JSON.stringify([calls[0], { id: 2, method: "ping" }]), "[]");
    await until(() => channel.events.length === 4);
    assert.deepEqual(
      channel.messages.slice(-2).map((message) => message["error"]),
      ["batch element 1: missing required field: jsonrpc", "empty batch request"].map((why) => ({
        code: -32700,
        message: `Parse error: ${why}`,
      })),
    );
    assert.equal(order.length, 4);
  });

  test("C8 initialize begins no session in a batch, whose other replies its own would wait for", async () => {
    await using gateway = gatewayOf(world().source, { profile: "apptheory" });
    const { send, channel } = wire(gateway);
    const slow = request(1, "tools/call", { name: "slow", _meta: { progressToken: 1 } });
    send(JSON.stringify([request("i", "initialize"), initialized, slow]), request("i", "initialize"));
    assert.deepEqual(
      channel.messages.map(({ id }) => id),
      [null, "i"],
    );
    assert.match(JSON.stringify(channel.messages[0]), /Send initialize first, outside of batches/);
  });

  test("a cancelled modern request gets no reply, and an id is used once at a time #gateway.cancel", async () => {
    const made = world();
    made.slowMs = 10_000;
    await using gateway = gatewayOf(made.source, { listMode: { modern: "dynamic" } });
    const { send, channel, reply } = wire(gateway);
    send(modern(1, "tools/call", { name: "slow" }), modern("l", "subscriptions/listen", { notifications: { toolsListChanged: true } }));
    await quiet();
    send(modern(1, "ping"), cancel(1));
    assert.equal(code(await reply(1)), -32600);
    await until(() => channel.messages.some((message) => message["method"] === "notifications/subscriptions/acknowledged"));
    send(cancel("l"), modern(2, "tools/call", { name: "open" }));
    await reply(2);
    await quiet();
    assert.equal(made.calls, 1, "the cancelled call did nothing");
    assert.equal(
      channel.messages.some((message) => message["method"] === "notifications/tools/list_changed"),
      false,
    );
    assert.equal(channel.messages.filter((message) => message["id"] === 1).length, 1);
  });

  test("what a handler reports after its request is over is dropped, in both eras", async () => {
    const says: (() => void)[] = [];
    const source = registry({
      tools: {
        quick: { description: "Goes on talking.", work: (context) => void says.push(() => talk(context)) },
        deaf: {
          description: "Does not heed its signal.",
          async work(context) {
            talk(context);
            says.push(() => talk(context, 2));
            await new Promise(() => undefined);
          },
        },
      },
    });
    await using gateway = gatewayOf(source);
    const asks = { ...ENVELOPE, "io.modelcontextprotocol/logLevel": "debug", progressToken: "t" };
    for (const { begin, _meta } of [
      { begin: [initialize("2025-11-25"), initialized], _meta: { progressToken: "t" } },
      { begin: [], _meta: asks },
    ]) {
      const { send, channel, reply } = wire(gateway);
      send(...begin, request(1, "tools/call", { name: "quick", _meta }), request(2, "tools/call", { name: "deaf", _meta }));
      await reply(1);
      await until(() => asides(channel).length === 2);
      send(cancel(2));
      for (const say of says.splice(0)) say();
      await quiet();
      assert.deepEqual(asides(channel), ["notifications/progress", "notifications/message"]);
    }
  });

  test("a step that is no number is not sent, and keeps none from following", async () => {
    const work = ({ progress }: { progress: (done: number, total?: number) => void }): string => {
      for (const [done, total] of [[1, NaN], [Infinity], [NaN, 4], [2, Infinity], [3, 4]] as const) progress(done, total);
      // Served modules are not type-checked.
      Reflect.apply(progress, undefined, [4, "five", 6]);
      return "done";
    };
    await using gateway = gatewayOf(registry({ tools: { steps: { work } } }));
    const { send, channel, reply } = wire(gateway);
    send(initialize("2025-11-25"), initialized, request(1, "tools/call", { name: "steps", _meta: { progressToken: "t" } }));
    await reply(1);
    const steps = channel.messages.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
    assert.deepEqual(steps, [
      { progressToken: "t", progress: 1 },
      { progressToken: "t", progress: 2 },
      { progressToken: "t", progress: 3, total: 4 },
      { progressToken: "t", progress: 4 },
    ]);
  });

  test("concurrent requests and listen requests are bounded", async () => {
    await using gateway = gatewayOf(world().source, { limits: { inFlight: 3, listensPerConnection: 1 } });
    const legacyWire = wire(gateway);
    legacyWire.send(initialize("2025-11-25"), initialized);
    for (let id = 1; id <= 4; id += 1) legacyWire.send(request(id, "tools/call", { name: "slow" }));
    assert.equal(code(await legacyWire.reply(4)), -31429);
    const modernWire = wire(gateway);
    modernWire.send(modern(1, "subscriptions/listen", { notifications: {} }), modern(2, "subscriptions/listen", { notifications: {} }));
    assert.equal(code(await modernWire.reply(2)), -31429);
  });

  test("at the end of the input running requests finish, and questions are cancelled", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const { send, channel, close } = wire(gateway);
    send(
      initialize("2025-11-25", 0, { elicitation: {} }),
      initialized,
      request(1, "tools/call", { name: "slow" }),
      request(2, "tools/call", { name: "confirm" }),
    );
    await until(() => channel.messages.some((message) => message["method"] === "elicitation/create"));
    await close();
    const text = JSON.stringify(channel.messages);
    assert.match(text, /"text":"done"/);
    assert.match(text, /The client has disconnected/);
    assert.equal(made.calls, 1);
  });

  test("C8 after it is closed no notification is sent, though a call still runs", async () => {
    const made = world();
    made.slowMs = 200;
    await using gateway = gatewayOf(made.source);
    const { send, channel, close, reply } = wire(gateway);
    send(initialize("2025-11-25"), initialized, request(1, "resources/subscribe", { uri: "door://state" }), request(2, "tools/list"));
    await reply(2);
    await quiet();
    made.set(true);
    await until(() => notices(channel).length > 0);
    await quiet();
    const before = notices(channel).length;
    send(request(3, "tools/call", { name: "slow" }));
    const closed = close();
    made.set(false);
    await closed;
    assert.match(JSON.stringify(channel.messages.at(-1)), /"id":3.*"text":"done"/);
    assert.equal(notices(channel).length, before);
  });

  test("subscribing and unsubscribing take effect in the order they were sent", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const { channel, send, reply } = wire(gateway);
    const uri = "door://state";
    send(initialize("2025-11-25"), initialized, request(1, "resources/subscribe", { uri }), request(2, "resources/unsubscribe", { uri }));
    assert.deepEqual([(await reply(1))["result"], (await reply(2))["result"]], [{}, {}]);
    const updates = (): number => channel.messages.filter(({ method }) => method === "notifications/resources/updated").length;
    made.set(true);
    await quiet();
    assert.equal(updates(), 0);
    const again = [request(3, "resources/subscribe", { uri }), request(4, "resources/unsubscribe", { uri })];
    send(...again, request(5, "resources/subscribe", { uri }));
    await reply(5);
    made.set(false);
    await until(() => updates() === 1);
  });

  test("C8 notifications depend on the caller that opened the stream", async () => {
    const source = registry({
      resources: { vault: { description: "Gold.", uri: "bank://vault", meta: { "troupe/scopes": ["admin"] }, view: () => "gold" } },
    });
    await using gateway = gatewayOf(source);
    const notificationsAfter = async (openedWith: readonly string[], ...messages: readonly object[]): Promise<number> => {
      const channel = channelDouble();
      const connection = gateway.connect(channel, { principal: "ann", scopes: openedWith });
      for (const message of messages) connection.receive(JSON.stringify(message), { principal: "ann", scopes: ["admin"] });
      await quiet();
      source.changed("vault");
      await quiet();
      await connection.close();
      return notices(channel).length;
    };
    const subscribe = [initialize("2025-11-25"), initialized, request(1, "resources/subscribe", { uri: "bank://vault" })];
    const listen = modern(1, "subscriptions/listen", { notifications: { resourceSubscriptions: ["bank://vault"] } });
    assert.deepEqual([await notificationsAfter(["admin"], ...subscribe), await notificationsAfter(["admin"], listen)], [1, 1]);
    assert.deepEqual([await notificationsAfter([], ...subscribe), await notificationsAfter([], listen)], [0, 0]);
  });

  test("a client that leaves cancels its modern calls, but not its legacy calls #gateway.leave.legacy", async () => {
    const made = world();
    made.slowMs = 500;
    await using gateway = gatewayOf(made.source);
    const legacyWire = wire(gateway);
    legacyWire.send(initialize("2025-11-25"), initialized, request(1, "tools/call", { name: "slow" }));
    const modernWire = wire(gateway);
    modernWire.send(modern(1, "tools/call", { name: "slow" }));
    await quiet();
    legacyWire.channel.leave();
    modernWire.channel.leave();
    await gateway.drain(5_000);
    assert.equal(made.calls, 1);
  });

  test("a drain takes no new work and waits for running requests", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const { send, reply } = wire(gateway);
    send(initialize("2025-11-25"), initialized, request(1, "tools/call", { name: "slow" }));
    const drained = gateway.drain(5_000);
    send(request(2, "tools/call", { name: "look" }));
    assert.equal(code(await reply(2)), -31503);
    await drained;
    assert.equal(made.calls, 1);
  });

  test("a modern client never receives a request of the server #spec.6.trust.prompts", async () => {
    await using gateway = gatewayOf(world().source);
    await using client = connectInMemory(gateway);
    const can = { ...ENVELOPE, "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    client.send(request(1, "tools/call", { name: "confirm", _meta: can }));
    for await (const text of client.messages) {
      assert.match(text, /input_required/);
      break;
    }
  });
});
