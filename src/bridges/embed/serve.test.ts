import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client as ClientV2, InMemoryTransport as MemoryV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as MemoryV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { AgenticService } from "../agentic/index.ts";
import { registry } from "../../mcp/source/index.ts";
import { until } from "../../testing/index.ts";
import { lamp } from "./lamp.fixture.ts";
import { type MessageTransport, overPort, serve } from "./index.ts";

const named = (client: ClientV1 | ClientV2) => async (): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

describe("an AgenticService served inside an application", () => {
  test("serves an official client of version 1 over the SDK's own transport #agentic.embed", async () => {
    const service = lamp();
    const [theirs, ours] = MemoryV1.createLinkedPair();
    await using served = await serve(service, { transport: ours, info: { name: "lamp", version: "1.2.3" } });
    const client = new ClientV1({ name: "v1", version: "1" });
    let notifications = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (notifications += 1));
    await client.connect(theirs);
    const tools = named(client);
    assert.equal(client.getServerVersion()?.name, "lamp");
    assert.deepEqual(await tools(), ["switch_on"]);
    const done = await client.callTool({ name: "switch_on", arguments: {} });
    assert.deepEqual([done.content, done.isError], [[{ type: "text", text: "" }], false], "empty text is sent, not left out");
    await until("the list has changed", () => notifications === 1);
    assert.deepEqual(await tools(), ["switch_off"]);
    await client.close();
    await served.closed;
    assert.equal(service.listeners(), 0);
  });

  test("serves an official client of version 2 over a port #agentic.embed", async () => {
    const service = lamp();
    const { port1, port2 } = new MessageChannel();
    const served = await serve(service, { transport: overPort(port1) });
    const client = new ClientV2({ name: "v2", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(overPort(port2));
    assert.deepEqual(await named(client)(), ["switch_on"]);
    await client.callTool({ name: "switch_on", arguments: {} });
    assert.equal(service.isOn(), true);
    const read = await client.readResource({ uri: "mcp://service/state/on" });
    assert.match(JSON.stringify(read.contents), /true/);
    await served.close();
    await served.closed;
    assert.equal(service.listeners(), 0);
  });

  test("answers messages that are not JSON-RPC, and continues", async () => {
    const { port1, port2 } = new MessageChannel();
    await using served = await serve(lamp(), { transport: overPort(port1) });
    const heard: unknown[] = [];
    const client = overPort(port2);
    Object.assign(client, { onmessage: (message: unknown) => void heard.push(message) });
    await client.start();
    const round: { self?: unknown } = {};
    round.self = round;
    for (const nonsense of ["text", 7, null, undefined, [], {}, new Map(), round, 10n, { jsonrpc: "2.0", id: 1, method: "no/such" }])
      await client.send(nonsense);
    await client.send({ jsonrpc: "2.0", id: 2, method: "ping" });
    await until("the ping is answered", () => JSON.stringify(heard).includes('"id":2'));
    assert.ok(heard.length >= 9);
    await client.close();
    await served.closed;
  });

  test("is released when its client disconnects #agentic.embed", async () => {
    const service = lamp();
    const { port1, port2 } = new MessageChannel();
    const served = await serve(service, { transport: overPort(port1) });
    const client = new ClientV2({ name: "v2", version: "1" });
    await client.connect(overPort(port2));
    await named(client)();
    assert.ok(service.listeners() > 0);
    await client.close();
    await served.closed;
    assert.equal(service.listeners(), 0);
  });
});

describe("an action that never ends", () => {
  const stuck = async () => {
    const started = Promise.withResolvers<void>();
    const hang = (): Promise<undefined> => {
      started.resolve();
      return new Promise(() => undefined);
    };
    const actions: AgenticService["actions"] = (notify) => {
      notify({ hang: { description: "Never ends.", schema: false, execute: hang } });
      return () => undefined;
    };
    const service = { ...lamp(), actions, execute: hang };
    const [theirs, ours] = MemoryV2.createLinkedPair();
    const served = await serve(service, { transport: ours });
    const client = new ClientV2({ name: "v2", version: "1" });
    await client.connect(theirs);
    const outcome = client.callTool({ name: "hang", arguments: {} }).then(
      () => "a result",
      (error: unknown) => String(error),
    );
    await started.promise;
    assert.ok(service.listeners() > 0);
    return { service, served, client, outcome };
  };

  test("retains nothing of a disconnected client", async () => {
    const { service, served, client, outcome } = await stuck();
    await client.close();
    await served.closed;
    assert.equal(service.listeners(), 0);
    assert.match(await outcome, /closed/i);
  });

  test("is awaited within the grace period of a close, and its caller gets an error", async () => {
    const { service, served, outcome } = await stuck();
    await served.close({ graceMs: 0 });
    assert.equal(service.listeners(), 0);
    assert.match(await outcome, /whether it was applied is not known/);
  });
});

describe("a transport that fails", () => {
  const failing = (at: "start" | "send" | "close"): MessageTransport & { readonly calls: string[] } => {
    const calls: string[] = [];
    const method = (name: string) => (): void => {
      calls.push(name);
      if (name === at) throw new Error(`no ${name}`);
    };
    return { calls, start: method("start"), send: method("send"), close: method("close") };
  };

  test("to start leaves nothing open", async () => {
    const service = lamp();
    await assert.rejects(serve(service, { transport: failing("start") }), /no start/);
    assert.equal(service.listeners(), 0);
  });

  test("to send ends the connection", async () => {
    const service = lamp();
    const transport = failing("send");
    const served = await serve(service, { transport });
    const { onmessage } = transport;
    assert.ok(onmessage);
    Reflect.apply(onmessage, transport, [{ jsonrpc: "2.0", id: 1, method: "ping" }]);
    await served.closed;
    assert.deepEqual(transport.calls, ["start", "send", "close"]);
    assert.equal(service.listeners(), 0);
  });

  test("to close is closed anyway", async () => {
    const service = lamp();
    const transport = failing("close");
    const served = await serve(service, { transport });
    transport.onclose?.();
    await served.closed;
    assert.equal(service.listeners(), 0);
  });
});

test("a source is served the same way, and is not closed #agentic.embed", async () => {
  const source = registry({ tools: { greet: { description: "Greets.", work: () => "Hello." } } });
  for (const round of [1, 2]) {
    const [theirs, ours] = MemoryV2.createLinkedPair();
    await using served = await serve(source, { transport: ours, instructions: `Round ${round}.` });
    const client = new ClientV2({ name: "v2", version: "1" });
    await client.connect(theirs);
    assert.equal(client.getInstructions(), `Round ${round}.`);
    assert.match(JSON.stringify(await client.callTool({ name: "greet", arguments: {} })), /Hello\./);
    await client.close();
    await served.closed;
  }
});
