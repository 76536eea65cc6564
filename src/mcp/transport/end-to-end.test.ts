// The official clients, v1 and v2, both eras, over the doors they meet in the field.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
  type JSONRPCMessage,
} from "@modelcontextprotocol/sdk/types.js";
import { SocketTransport } from "../../../test/clients.ts";
import { eventually } from "../../../test/transport/settle.ts";
import { head, rawSocket } from "../../../test/transport/raw-socket.ts";
import { gatewayOf, world } from "../gateway/kit.fixture.ts";
import { AUTHORIZATION_KEY, authenticator, hashApiKey, serveHttp, serveTcp } from "./index.ts";

const INFO = { name: "doors", version: "1.0.0" };
const KEY = "fB7cKq0yRz5n1XwTt3LhQ9";
const auth = () => authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY) }] });
const legacy = (): ClientV2 => new ClientV2(INFO, { versionNegotiation: { mode: "legacy" } });
const modern = (): ClientV2 => new ClientV2(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });

interface Sdk {
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<Readonly<Record<string, unknown>>>;
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: readonly Readonly<Record<string, unknown>>[] }>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: readonly unknown[] }>;
  complete(params: {
    ref: { type: "ref/resource"; uri: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: readonly string[] } }>;
}

/** What any client does in a small world, whatever carries it. */
async function play(client: Sdk): Promise<void> {
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "open"));
  assert.deepEqual((await client.callTool({ name: "look", arguments: {} }))["content"], [{ type: "text", text: "Shut." }]);
  assert.deepEqual((await client.callTool({ name: "open", arguments: { how: "softly" } }))["structuredContent"], { open: true });
  const again = await client.callTool({ name: "open", arguments: {} });
  assert.equal(again["isError"], true);
  assert.match(JSON.stringify(again["content"]), /It is open/);
  assert.equal((await client.readResource({ uri: "door://state" })).contents[0]?.["text"], '{"open":true}');
  assert.equal((await client.getPrompt({ name: "knock", arguments: { times: "3" } })).messages.length, 1);
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "door://part/{name}" },
    argument: { name: "name", value: "h" },
  });
  assert.deepEqual(completion.values, ["hinge", "handle"]);
  await Promise.all(Array.from({ length: 50 }, () => client.callTool({ name: "measure", arguments: {} })));
  await client.callTool({ name: "shut", arguments: {} });
}

async function serve(options: Partial<Parameters<typeof serveHttp>[0]> = {}) {
  const made = world();
  const gateway = gatewayOf(made.source, { rateLimit: false });
  const door = await serveHttp({ gateway, ...options });
  return {
    url: new URL(door.url),
    port: door.port,
    set: (open: boolean) => made.set(open),
    slow: (ms: number) => void (made.slowMs = ms),
    async [Symbol.asyncDispose]() {
      await door.close({ graceMs: 0 });
      await gateway[Symbol.asyncDispose]();
    },
  };
}

type Begin = (
  url: URL,
  fetch: (url: string | URL, init?: RequestInit) => Promise<Response>,
  signal: AbortSignal,
  onerror: (error: unknown) => void,
) => Promise<{ readonly call: Promise<unknown>; readonly close: () => Promise<void> }>;

const SLOW = { name: "slow", arguments: {} };

const slowOfV1: Begin = async (url, fetch, signal, onerror) => {
  const client = Object.assign(new ClientV1(INFO), { onerror });
  await client.connect(new HttpV1(url, { fetch }));
  return { call: client.callTool(SLOW, undefined, { signal }), close: () => client.close() };
};

const slowOfV2: Begin = async (url, fetch, signal, onerror) => {
  const client = Object.assign(legacy(), { onerror });
  await client.connect(new HttpV2(url, { fetch }));
  return { call: client.callTool(SLOW, { signal }), close: () => client.close() };
};

describe("official clients over HTTP", () => {
  it("v1 plays, gets notifications, and ends its session #gateway.http.delete #spec.7.sdk", async () => {
    await using server = await serve();
    const transport = new HttpV1(server.url);
    const client = new ClientV1(INFO);
    const heard: string[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push("tools"));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri));
    await client.connect(transport);
    await client.subscribeResource({ uri: "door://state" });
    await play(client);
    await eventually(() => heard.includes("tools") && heard.includes("door://state"));
    assert.ok(transport.sessionId);
    await transport.terminateSession();
    await client.close();
  });

  it("v2 plays in both eras #gateway.modern", async () => {
    for (const client of [legacy(), modern()]) {
      await using server = await serve();
      await client.connect(new HttpV2(server.url));
      await play(client);
      await client.close();
    }
  });

  it("v1 and v2 cancel a call, resume its stream, and get no reply", async () => {
    for (const begin of [slowOfV1, slowOfV2]) {
      await using server = await serve();
      server.slow(60_000);
      const resumed: number[] = [];
      const errors: unknown[] = [];
      const watched = async (url: string | URL, init?: RequestInit): Promise<Response> => {
        const response = await fetch(url, init);
        if (new Headers(init?.headers).has("last-event-id")) resumed.push(response.status);
        return response;
      };
      const cancelling = new AbortController();
      const { call, close } = await begin(server.url, watched, cancelling.signal, (error) => errors.push(error));
      setTimeout(() => cancelling.abort(), 100);
      await assert.rejects(call);
      await eventually(() => resumed.length > 0, "a client that comes back");
      assert.deepEqual([resumed, errors], [[405], []], begin.name);
      await close();
    }
  });

  it("v2 listens in the modern era", async () => {
    await using server = await serve();
    const client = modern();
    const heard: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
    await client.connect(new HttpV2(server.url));
    const subscription = await client.listen({ resourceSubscriptions: ["door://state"] });
    server.set(true);
    await eventually(() => heard.length > 0);
    assert.deepEqual(heard, ["door://state"]);
    await subscription.close();
    await client.close();
  });

  it("both are served with a token, and refused without", async () => {
    await using server = await serve({ auth: await auth() });
    const requestInit = { headers: { authorization: `Bearer ${KEY}` } };
    const v1 = new ClientV1(INFO);
    await v1.connect(new HttpV1(server.url, { requestInit }));
    await play(v1);
    await v1.close();
    const v2 = modern();
    await v2.connect(new HttpV2(server.url, { requestInit }));
    await play(v2);
    await v2.close();
    await assert.rejects(new ClientV1(INFO).connect(new HttpV1(server.url)), /401|Unauthorized|Send a token/);
    await assert.rejects(modern().connect(new HttpV2(server.url)), /401|[Uu]nauthorized|Send a token/);
  });

  it("a page of a foreign origin cannot use a session #secure.origin", async () => {
    await using server = await serve();
    await using client = await rawSocket(server.port);
    client.write(head("GET /mcp HTTP/1.1", "Host: localhost", "Origin: https://evil.example", "Accept: text/event-stream"));
    assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 403 /);
  });

  it("a closing server ends their streams, and the process can exit", async () => {
    const server = await serve();
    const client = modern();
    await client.connect(new HttpV2(server.url));
    const subscription = await client.listen({ toolsListChanged: true });
    await server[Symbol.asyncDispose]();
    assert.ok(["graceful", "remote"].includes(await subscription.closed));
    await client.close();
  });
});

describe("official clients over stdio", () => {
  const command = {
    command: process.execPath,
    args: ["--conditions=troupe-source", fileURLToPath(new URL("../../../test/transport/world-over-stdio.ts", import.meta.url))],
    stderr: "ignore" as const,
  };

  it("v1 plays", async () => {
    const client = new ClientV1(INFO);
    await client.connect(new StdioV1(command));
    await play(client);
    await client.close();
  });

  it("v2 plays in both eras #gateway.stdio", async () => {
    for (const client of [legacy(), modern()]) {
      await client.connect(new StdioV2(command));
      await play(client);
      await client.close();
    }
  });
});

/** The same client transport, with a token in the first request. */
class TokenTransport extends SocketTransport {
  #first = true;
  override async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#first || !("params" in message)) return super.send(message);
    this.#first = false;
    const params = { ...message.params, _meta: { ...message.params?._meta, [AUTHORIZATION_KEY]: `Bearer ${KEY}` } };
    return super.send({ ...message, params });
  }
}

describe("official clients over TCP", () => {
  it("v1 and v2 play in both eras, with a token if required #gateway.tcp", async () => {
    for (const guarded of [false, true]) {
      const Transport = guarded ? TokenTransport : SocketTransport;
      for (const client of [new ClientV1(INFO), legacy(), modern()]) {
        const { source } = world();
        await using gateway = gatewayOf(source, { rateLimit: false });
        await using door = await serveTcp({ gateway, ...(guarded ? { auth: await auth() } : {}) });
        await client.connect(new Transport(door.url));
        await play(client);
        await client.close();
      }
    }
  });
});
