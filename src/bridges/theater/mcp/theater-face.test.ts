import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Gateway } from "../../../core/contract/index.ts";
import { createGateway } from "../../../mcp/gateway/index.ts";
import { connectInMemory, type MemoryClient } from "../../../mcp/transport/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { THEATER_INFO } from "./options.ts";
import { base64, bytesOf, fromBase64, ScriptedStage } from "./scripted-stage.fixture.ts";
import { theaterFace } from "./theater-face.ts";

// Theater's MCP server behind the gateway, for the official clients and in the revision that Theater's own server speaks.

/** A transport for both clients. */
class InMemory {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  // oxlint-disable-next-line typescript/no-explicit-any -- each client has a message type of its own
  onmessage?: (message: any) => void;
  readonly #gateway: Gateway;
  #client: MemoryClient | undefined;
  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }
  async start(): Promise<void> {
    this.#client = connectInMemory(this.#gateway);
    this.#client.onMessage((text) => this.onmessage?.(JSON.parse(text)));
  }
  async send(message: object): Promise<void> {
    this.#client?.send(message);
  }
  async close(): Promise<void> {
    await this.#client?.close();
    this.onclose?.();
  }
}

interface ServedFace extends AsyncDisposable {
  readonly stage: ScriptedStage;
  /** The server's clock. Each wait has a timer. */
  readonly clock: SimulatedClock;
  readonly gateway: Gateway;
}

const serveFace = (): ServedFace => {
  const stage = new ScriptedStage();
  const clock = new SimulatedClock();
  const face = theaterFace({ stage, clock });
  const gateway = createGateway({ source: face, info: THEATER_INFO });
  return {
    stage,
    clock,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await face[Symbol.asyncDispose]();
    },
  };
};

const connectV1 = async (gateway: Gateway): Promise<ClientV1> => {
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
  await client.connect(new InMemory(gateway));
  return client;
};

const connectV2 = async (gateway: Gateway): Promise<ClientV2> => {
  const client = new ClientV2({ name: "v2", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(new InMemory(gateway));
  return client;
};

const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), value);

const CAPABILITIES = {
  resources: { subscribe: true, listChanged: true },
  tools: { listChanged: true },
  prompts: { listChanged: true },
};

describe("a client of 2024-11-05", () => {
  test("finds theater-mcp 0.1.0 in that revision, with the specified capabilities #theater.server.info #theater.server.revision #theater.capabilities #theater.resources.actors #theater.list-changed #theater.face.unknown", async () => {
    await using made = serveFace();
    await using wire = connectInMemory(made.gateway);
    const replies = new Map<unknown, unknown>();
    const heard: unknown[] = [];
    wire.onMessage((text) => {
      const message: unknown = JSON.parse(text);
      if (at(message, "id") === undefined) heard.push(at(message, "method"));
      else replies.set(at(message, "id"), message);
    });
    const ask = async (id: number, method: string, params: object): Promise<unknown> => {
      wire.send({ jsonrpc: "2.0", id, method, params });
      await until(`the reply to ${method}`, () => replies.has(id));
      return replies.get(id);
    };
    const began = await ask(1, "initialize", {
      protocolVersion: "2024-11-05",
      capabilities: {},
      clientInfo: { name: "old", version: "1" },
    });
    assert.equal(at(began, "result", "protocolVersion"), "2024-11-05");
    assert.deepEqual(at(began, "result", "serverInfo"), { name: "theater-mcp", version: "0.1.0" });
    const { resources, tools, prompts } = Object(at(began, "result", "capabilities"));
    assert.deepEqual({ resources, tools, prompts }, CAPABILITIES);
    wire.send({ jsonrpc: "2.0", method: "notifications/initialized" });

    const started = await ask(2, "tools/call", { name: "start_actor", arguments: { manifest: "m", name: "counter" } });
    assert.deepEqual(at(started, "result"), {
      content: [{ type: "text", text: JSON.stringify({ actor_id: [...made.stage.actors.keys()][0], name: "counter", status: "RUNNING" }) }],
    });
    const id = String([...made.stage.actors.keys()][0]);
    const read = await ask(3, "resources/read", { uri: "theater://actors" });
    assert.deepEqual(at(read, "result", "contents"), [
      {
        uri: "theater://actors",
        mimeType: "application/json",
        text: JSON.stringify({ actors: [{ id, name: "counter", status: "RUNNING", uri: `theater://actor/${id}` }], total: 1 }),
      },
    ]);
    const unknown = await ask(4, "resources/read", { uri: "theater://actor/nobody" });
    assert.deepEqual([at(unknown, "error", "code"), at(unknown, "error", "data")], [-32002, { uri: "theater://actor/nobody" }]);

    await ask(5, "resources/list", {});
    for (const uri of ["theater://actors", `theater://actor/${id}`, `theater://actor/${id}/state`, `theater://events/${id}`])
      assert.deepEqual(at(await ask(uri.length, "resources/subscribe", { uri }), "result"), {});
    heard.length = 0;
    await ask(6, "tools/call", { name: "start_actor", arguments: { manifest: "m" } });
    assert.ok(heard.includes("notifications/resources/list_changed"), "C8 notified before the reply");
    assert.ok(at(await ask(7, "resources/subscribe", { uri: "theater://actor/nobody" }), "error"));
  });
});

describe("the official client v1 at Theater's face", () => {
  test("lists, reads and completes what the specification lists #theater.resources.actor #theater.resources.state #theater.resources.events #theater.resources.event #theater.resources.templates #theater.face.completion", async () => {
    await using made = serveFace();
    const id = made.stage.add("counter");
    const event = made.stage.addEvent(id, "StateChanged", { count: 1 });
    const client = await connectV1(made.gateway);
    assert.deepEqual(client.getServerVersion(), { name: "theater-mcp", version: "0.1.0" });
    assert.match(client.getInstructions() ?? "", /restart_actor resumes it/);
    const { resources } = await client.listResources();
    assert.deepEqual(
      resources.map(({ uri, name }) => [uri, name]),
      [
        ["theater://actors", "actors"],
        [`theater://actor/${id}`, "counter"],
      ],
    );
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      [
        "theater://actor/{actor_id}",
        "theater://actor/{actor_id}/state",
        "theater://events/{actor_id}",
        "theater://events/{actor_id}?before={before}",
        "theater://event/{event_id}",
        "theater://channel/{channel_id}",
      ],
    );
    for (const uri of [
      "theater://actors",
      `theater://actor/${id}`,
      "theater://actor/counter",
      `theater://actor/${id}/state`,
      `theater://events/${id}`,
      `theater://events/${id}?before=${event.id}`,
      `theater://event/${event.id}`,
    ]) {
      const { contents } = await client.readResource({ uri });
      assert.equal(contents[0]?.mimeType, "application/json");
      assert.doesNotThrow(() => JSON.parse(String(at(contents, 0, "text"))), uri);
    }
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "theater://actor/{actor_id}" },
      argument: { name: "actor_id", value: "cou" },
    });
    assert.deepEqual(completion.values, ["counter"]);
    const prompt = await client.getPrompt({ name: "diagnose_actor", arguments: { actor_id: "counter" } });
    assert.equal(prompt.messages.length, 4);
    await assert.rejects(client.getPrompt({ name: "diagnose_actor", arguments: { actor_id: "nobody" } }), /ActorNotFound/);
    await client.close();
  });

  test("calls every tool, and each result matches its output schema #theater.tools.start-actor #theater.tools.stop-actor #theater.tools.restart-actor #theater.tools.send-message #theater.tools.request-message #theater.tools.open-channel #theater.tools.send-on-channel #theater.tools.close-channel #theater.face.outputs #theater.face.without-resources", async () => {
    await using made = serveFace();
    const client = await connectV1(made.gateway);
    // From here on the client validates results.
    const { tools } = await client.listTools();
    const called = new Set<string>();
    const call = async (name: string, args: Record<string, unknown> = {}): Promise<unknown> => {
      called.add(name);
      const result = await client.callTool({ name, arguments: args });
      assert.notEqual(result.isError, true, JSON.stringify(result.content));
      assert.deepEqual(JSON.parse(String(at(result, "content", 0, "text"))), result.structuredContent);
      return result.structuredContent;
    };
    const actor_id = String(at(await call("start_actor", { manifest: "m", name: "counter", initial_state: { n: 0 } }), "actor_id"));
    assert.deepEqual(await call("send_message", { actor_id, data: base64({ n: 1 }) }), { success: true, actor_id });
    assert.equal(fromBase64(at(await call("request_message", { actor_id, data: base64("hello") }), "response")), "hello");
    await call("list_actors");
    assert.deepEqual(at(await call("get_actor", { actor_id: "counter" }), "state"), { n: 1 });
    await call("get_events", { actor_id });
    const waiting = call("wait_for_event", { actor_id });
    await until("the wait began", () => made.clock.pending > 0);
    made.stage.addEvent(actor_id, "StateChanged", Uint8Array.of(0xff), ["elsewhere"]);
    await waiting;
    const channel_id = String(at(await call("open_channel", { actor_id, initial_message: base64("hi") }), "channel_id"));
    await call("send_on_channel", { channel_id, message: base64("there") });
    made.stage.peers.get(channel_id)?.message(bytesOf("reply"));
    assert.deepEqual(at(await call("receive_on_channel", { channel_id }), "messages"), [base64("reply")]);
    made.stage.peers.get(channel_id)?.message(bytesOf("last"));
    made.stage.peers.get(channel_id)?.closed("it ended");
    await call("receive_on_channel", { channel_id });
    await call("close_channel", { channel_id: at(await call("open_channel", { actor_id }), "channel_id") });
    made.stage.pause(actor_id, "it trapped");
    await call("get_actor", { actor_id });
    await call("restart_actor", { actor_id });
    await call("stop_actor", { actor_id });
    assert.deepEqual([...called].toSorted(), tools.map(({ name }) => name).toSorted());
    await client.close();
  });

  test("receives tool errors for base64, arguments and refusals of the stage #theater.face.errors", async () => {
    await using made = serveFace();
    const id = made.stage.add("counter");
    made.stage.pause(id, "it trapped");
    const client = await connectV1(made.gateway);
    await client.listTools();
    for (const [name, args, says] of [
      ["send_message", { actor_id: id, data: "?" }, /`data` is not base64/],
      ["send_message", { actor_id: id }, /data/],
      ["send_message", { actor_id: 7, data: "" }, /actor_id/],
      ["stop_actor", { actor_id: "nobody" }, /^ActorNotFound: there is no actor nobody\. list_actors shows those there are\.$/],
      ["request_message", { actor_id: id, data: "" }, /^ActorError: counter is paused after event 0\. restart_actor resumes it\.$/],
      ["receive_on_channel", { channel_id: "ch_0" }, /^ChannelNotFound: you have no channel "ch_0"\. open_channel opens one\.$/],
    ] as const) {
      const result = await client.callTool({ name, arguments: { ...args } });
      assert.equal(result.isError, true, name);
      assert.match(String(at(result, "content", 0, "text")), says);
    }
    await assert.rejects(client.readResource({ uri: "theater://event/nothing" }), /Resource not found/);
    await client.close();
  });

  test("C8 is notified of list changes and subscriptions before the reply #theater.list-changed #theater.face.subscriptions", async () => {
    await using made = serveFace();
    const id = made.stage.add("counter");
    const client = await connectV1(made.gateway);
    const heard: string[] = [];
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void heard.push("list"));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri));
    await client.listResources();
    const uris = ["theater://actors", `theater://actor/${id}`, "theater://actor/counter/state", `theater://events/${id}`];
    for (const uri of uris) await client.subscribeResource({ uri });
    await client.callTool({ name: "send_message", arguments: { actor_id: id, data: base64("1") } });
    assert.deepEqual(heard.splice(0).toSorted(), uris.slice(1).toSorted());
    const other = await client.callTool({ name: "start_actor", arguments: { manifest: "m" } });
    assert.deepEqual(heard.splice(0).toSorted(), ["list", "theater://actors"]);
    await client.callTool({ name: "stop_actor", arguments: { actor_id: at(other, "structuredContent", "actor_id") } });
    assert.deepEqual(heard.splice(0).toSorted(), ["list", "theater://actors"]);
    for (const uri of uris) await client.unsubscribeResource({ uri });
    await client.callTool({ name: "send_message", arguments: { actor_id: id, data: base64("2") } });
    assert.deepEqual(heard, []);
    await client.close();
    await until("nobody listens to the stage", () => made.stage.watched === 0);
  });

  test("cancels a wait_for_event, which leaves no wait behind #theater.face.waiting", async () => {
    await using made = serveFace();
    const id = made.stage.add("counter");
    const client = await connectV1(made.gateway);
    await client.listTools();
    const controller = new AbortController();
    const waiting = client.callTool({ name: "wait_for_event", arguments: { actor_id: id, timeout_ms: 60_000 } }, undefined, {
      signal: controller.signal,
    });
    const failed = assert.rejects(waiting);
    await until("the wait began", () => made.clock.pending > 0);
    controller.abort();
    await failed;
    await until("the wait is over", () => made.clock.pending === 0);
    // The session answers as before.
    assert.equal((await client.callTool({ name: "list_actors" })).isError, undefined);
    await client.close();
  });
});

describe("the official client v2 of 2026-07-28 at Theater's face", () => {
  test("discovers, lists, calls, reads and listens #theater.server.revision #theater.capabilities #theater.list-changed", async () => {
    await using made = serveFace();
    const id = made.stage.add("counter");
    const client = await connectV2(made.gateway);
    const { resources, tools, prompts } = Object(client.getServerCapabilities());
    assert.deepEqual({ resources, tools, prompts }, CAPABILITIES);
    assert.equal((await client.listTools()).tools.length, 13);
    assert.equal((await client.listResources()).resources.length, 2);
    const heard: unknown[] = [];
    client.fallbackNotificationHandler = async (notification) => void heard.push(at(notification, "params", "uri") ?? notification.method);
    await client.listen({ resourcesListChanged: true, resourceSubscriptions: [`theater://events/${id}`] });
    const sent = await client.callTool({ name: "send_message", arguments: { actor_id: "counter", data: base64("1") } });
    assert.deepEqual(sent.structuredContent, { success: true, actor_id: id });
    await until("its events are reported", () => heard.includes(`theater://events/${id}`));
    await client.callTool({ name: "start_actor", arguments: { manifest: "m" } });
    await until("the list change is reported", () => heard.includes("notifications/resources/list_changed"));
    assert.equal((await client.listResources(undefined, { cacheMode: "refresh" })).resources.length, 3);
    const { contents } = await client.readResource({ uri: "theater://actors" });
    assert.equal(at(JSON.parse(String(at(contents, 0, "text"))), "total"), 2);
    await assert.rejects(client.readResource({ uri: "theater://actor/nobody" }), /Resource not found/);
    await client.close();
  });
});
