// The official clients, v1 and v2, over one ordered stream in this process, in both eras; every message is checked by the official schemas.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { JSONRPCMessageSchema, ServerNotificationSchema, ServerRequestSchema } from "@modelcontextprotocol/core";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Gateway } from "../../core/contract/index.ts";
import { connectInMemory, type MemoryClient } from "../transport/index.ts";
import { gatewayOf, quiet, until, world } from "./kit.fixture.ts";

/** The transport that both clients accept. */
class InMemory {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  // oxlint-disable-next-line typescript/no-explicit-any -- each client has a message type of its own
  onmessage?: (message: any) => void;
  readonly seen: unknown[] = [];
  readonly #gateway: Gateway;
  #client: MemoryClient | undefined;
  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }
  async start(): Promise<void> {
    this.#client = connectInMemory(this.#gateway);
    this.#client.onMessage((text) => {
      const message: unknown = JSON.parse(text);
      this.seen.push(message);
      assert.doesNotThrow(() => JSONRPCMessageSchema.parse(message), text);
      if (typeof message === "object" && message !== null && "method" in message) {
        const schema = "id" in message ? ServerRequestSchema : ServerNotificationSchema;
        assert.doesNotThrow(() => schema.parse(message), text);
      }
      this.onmessage?.(message);
    });
  }
  async send(message: object): Promise<void> {
    this.#client?.send(message);
  }
  async close(): Promise<void> {
    await this.#client?.close();
    this.onclose?.();
  }
}

describe("the official client v1", () => {
  test("lists, calls, reads, prompts, completes and logs in its newest revision #gateway.initialize #gateway.ping #gateway.tools #gateway.resources #gateway.completion #spec.7.sdk", async () => {
    const { source } = world();
    await using gateway = gatewayOf(source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
    await client.connect(new InMemory(gateway));
    assert.equal(client.getInstructions(), "A door.");
    assert.equal(client.getServerVersion()?.title, "Test");
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map((tool) => tool.name),
      ["look", "open", "measure", "list", "slow", "confirm", "twice", "fails", "region"],
    );
    assert.equal(tools[0]?.annotations?.readOnlyHint, true);
    assert.deepEqual((await client.callTool({ name: "look" })).content, [{ type: "text", text: "Shut." }]);
    const measured = await client.callTool({ name: "measure" });
    assert.deepEqual(measured.structuredContent, { cm: 90 });
    assert.deepEqual(measured.content, [{ type: "text", text: '{"cm":90}' }]);
    const parts = await client.callTool({ name: "list" });
    assert.equal(parts.structuredContent, undefined);
    assert.deepEqual(
      (await client.listResources()).resources.map((one) => one.uri),
      ["door://state"],
    );
    assert.deepEqual(
      (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
      ["door://part/{name}"],
    );
    assert.deepEqual((await client.readResource({ uri: "door://part/left%20hinge" })).contents, [
      { uri: "door://part/left%20hinge", text: "part left hinge" },
    ]);
    assert.equal((await client.listPrompts()).prompts[0]?.name, "knock");
    assert.deepEqual((await client.getPrompt({ name: "knock", arguments: { times: "3" } })).messages, [
      { role: "user", content: { type: "text", text: "Knock 3 times." } },
    ]);
    assert.deepEqual(
      (await client.complete({ ref: { type: "ref/resource", uri: "door://part/{name}" }, argument: { name: "name", value: "ha" } }))
        .completion.values,
      ["handle"],
    );
    await client.ping();
    await client.setLoggingLevel("error");
    await client.close();
  });

  test("receives progress and logs before the reply, and no log below its level #gateway.logging #gateway.progress", async () => {
    const { source } = world();
    await using gateway = gatewayOf(source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
    const logged: unknown[] = [];
    await client.connect(new InMemory(gateway));
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params.data));
    const steps: unknown[] = [];
    await client.callTool({ name: "slow" }, undefined, { onprogress: (step) => void steps.push(step) });
    assert.deepEqual(steps, [{ progress: 1, total: 2, message: "half" }]);
    assert.deepEqual(logged, [{ at: "half" }]);
    await client.setLoggingLevel("error");
    await client.callTool({ name: "slow" });
    assert.equal(logged.length, 1);
    await client.close();
  });

  test("answers an elicitation, and the call runs again with its answer #gateway.needs.elicitation", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { yes: true } }));
    await client.connect(new InMemory(gateway));
    const result = await client.callTool({ name: "confirm" });
    assert.deepEqual(result.structuredContent, { sure: { action: "accept", content: { yes: true } } });
    assert.equal(made.calls, 1);
    await client.close();
  });

  test("without the capability gets a tool error, and nothing was applied", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
    await client.connect(new InMemory(gateway));
    const result = await client.callTool({ name: "confirm" });
    assert.equal(result.isError, true);
    assert.match(JSON.stringify(result.content), /elicitation/);
    assert.equal(made.calls, 0);
    await client.close();
  });

  test("C8 is notified once of a list before the reply to the call that changed it #gateway.resources.subscribe #spec.5.notification.tools #spec.5.notification.updated #spec.7.subscriptions", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
    const transport = new InMemory(gateway);
    await client.connect(transport);
    let changed = 0;
    const updated: string[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changed += 1));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
    await client.listTools();
    await client.subscribeResource({ uri: "door://state" });
    const before = transport.seen.length;
    await client.callTool({ name: "open", arguments: { how: "softly" } });
    const first = transport.seen.slice(before).find((message) => JSON.stringify(message).includes("tools/list_changed"));
    const methods = transport.seen
      .slice(before)
      .map((message) => (typeof message === "object" && message !== null && "method" in message ? message.method : "reply"));
    assert.ok(first);
    assert.equal(methods.at(-1), "reply");
    await quiet();
    assert.equal(changed, 1);
    assert.deepEqual(updated, ["door://state"]);
    assert.equal(methods.includes("notifications/prompts/list_changed"), false);
    await client.unsubscribeResource({ uri: "door://state" });
    made.set(false);
    await until(() => changed === 2);
    assert.deepEqual(updated, ["door://state"]);
    await client.close();
  });

  test("cancels a call, which aborts its tool and gets no reply #gateway.cancel", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
    const transport = new InMemory(gateway);
    await client.connect(transport);
    const before = transport.seen.length;
    const stop = new AbortController();
    const call = client.callTool({ name: "slow" }, undefined, { signal: stop.signal });
    stop.abort();
    await assert.rejects(call);
    await client.ping();
    assert.equal(made.calls, 0);
    assert.equal(transport.seen.slice(before).filter((message) => JSON.stringify(message).includes('"content"')).length, 0);
    await client.close();
  });

  test("reads what the arguments should be in a tool's error, and no internals #secure.stacks", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: {} });
    await client.connect(new InMemory(gateway));
    const wrong = await client.callTool({ name: "open", arguments: { how: "never" } });
    assert.equal(wrong.isError, true);
    assert.match(JSON.stringify(wrong.content), /how must be one of/);
    const failed = await client.callTool({ name: "fails" });
    assert.equal(failed.isError, true);
    assert.doesNotMatch(JSON.stringify(failed), /secret/);
    await assert.rejects(client.callTool({ name: "nothing" }), /-32602/);
    await assert.rejects(client.callTool({ name: "shut" }), /-32602/);
    await assert.rejects(client.readResource({ uri: "door://hidden" }), /-32002/);
    await assert.rejects(client.readResource({ uri: "door://none" }), /-32002/);
    await assert.rejects(client.getPrompt({ name: "knock" }), /-32602/);
    await client.close();
  });
});

describe("the official client v2", () => {
  test("discovers 2026-07-28 and works in it #gateway.discover #spec.7.sdk", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const client = new ClientV2({ name: "v2", version: "1" }, { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept" as const, content: { yes: true } }));
    const transport = new InMemory(gateway);
    await client.connect(transport);
    const { tools } = await client.listTools();
    assert.ok(!tools.some((tool) => tool.name === "shut"), "hidden without a reason: in no list");
    assert.deepEqual((await client.callTool({ name: "look" })).content, [{ type: "text", text: "Shut." }]);
    assert.deepEqual((await client.callTool({ name: "list" })).structuredContent, ["hinge", "handle"]);
    const confirmed = await client.callTool({ name: "confirm" });
    assert.deepEqual(confirmed.structuredContent, { sure: { action: "accept", content: { yes: true } } });
    const out = await client.callTool({ name: "open" });
    assert.deepEqual(out.structuredContent, { open: true });
    const again = await client.callTool({ name: "open" });
    assert.equal(again.isError, true);
    assert.match(JSON.stringify(again.content), /It is open/);
    assert.deepEqual(JSON.parse(JSON.stringify((await client.readResource({ uri: "door://state" })).contents))[0].text, '{"open":true}');
    for (const message of transport.seen)
      assert.ok(!(typeof message === "object" && message !== null && "method" in message && "id" in message), "no request of the server's");
    await client.close();
  });

  test("listens, is notified of what it subscribed to, and sees a drain end its stream #gateway.listen #spec.7.subscriptions", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source, { listMode: { modern: "dynamic" } });
    const client = new ClientV2({ name: "v2", version: "1" }, { capabilities: {}, versionNegotiation: { mode: "auto" } });
    const transport = new InMemory(gateway);
    await client.connect(transport);
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ["door://state", "door://none"] });
    assert.deepEqual(subscription.honoredFilter, { toolsListChanged: true, resourceSubscriptions: ["door://state"] });
    await client.callTool({ name: "open" });
    const texts = transport.seen.map((message) => JSON.stringify(message));
    const changed = texts.findIndex((text) => text.includes("tools/list_changed"));
    const replied = texts.findIndex((text) => text.includes('"open\\":true'));
    assert.ok(changed !== -1 && changed < replied, "the notification precedes the reply");
    assert.ok(texts.some((text) => text.includes("notifications/resources/updated")));
    await gateway.drain(1_000);
    assert.equal(await subscription.closed, "graceful");
    await client.close();
  });

  test("speaks a legacy revision when configured to", async () => {
    const { source } = world();
    await using gateway = gatewayOf(source);
    const client = new ClientV2({ name: "v2", version: "1" }, { capabilities: {}, versionNegotiation: { mode: "legacy" } });
    await client.connect(new InMemory(gateway));
    assert.deepEqual((await client.callTool({ name: "look" })).content, [{ type: "text", text: "Shut." }]);
    await client.close();
  });
});
