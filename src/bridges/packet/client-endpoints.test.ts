// The client against real endpoints: tokens, progress, cancelling, MCP inside packets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { until } from "troupe/testing";
import { authenticator, hashApiKey, serveHttp, serveTcp } from "troupe/transport";
import { PacketClientError } from "./client-error.ts";
import { packetClient } from "./client.ts";
import { packetEndpoints } from "./endpoints.ts";
import { actorCapability, Capabilities, capability, PacketError, PacketFlow } from "./index.ts";
import { capabilitySource } from "./capability-source.ts";

const KEY = "a-key-of-at-least-sixteen-characters";

const counter = actorCapability("counter", {
  intent: "Count what is counted",
  initialState: { count: 0 },
  messages: {
    add: {
      match: { message_type: "add" },
      run({ state }) {
        state.count += 1;
        return { count: state.count };
      },
    },
  },
});

async function served() {
  let cancelled = 0;
  let begun = 0;
  const slow = capability("slow", {
    intent: "Take as long as it takes",
    async execute({ wait }, { progress, signal }) {
      begun += 1;
      progress(1, 2, "half");
      if (wait === true)
        await new Promise<void>((ended) => {
          signal.addEventListener("abort", () => {
            cancelled += 1;
            ended();
          });
        });
      return { done: true };
    },
  });
  const capabilities = new Capabilities([counter, slow]);
  const engine = await LocalEngine.start({ kinds: [...capabilities.kinds] });
  const flow = new PacketFlow({ capabilities, engine });
  const source = capabilitySource({
    capabilities,
    run: (id, payload, options) => flow.running.run(id, payload, options),
    actors: flow.actors,
    engine,
  });
  const gateway = createGateway({ source, info: { name: "t", version: "1" } });
  flow.tunnelTo(gateway);
  const doors = packetEndpoints(flow);
  const auth = await authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY), scopes: [] }] });
  const http = await serveHttp({ gateway, endpoints: [doors.http], upgrades: [doors.webSocket], auth });
  const tcp = await serveTcp({ ...doors.tcp, auth });
  return {
    urls: [`http://127.0.0.1:${http.port}`, `ws://127.0.0.1:${http.port}`, `tcp://127.0.0.1:${tcp.port}`],
    get cancelled() {
      return cancelled;
    },
    get begun() {
      return begun;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([http.close({ graceMs: 0 }), tcp.close({ graceMs: 0 })]);
      source[Symbol.dispose]();
      await flow[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

void test("a packet client works with every endpoint: actors, progress, MCP inside packets #packet.client", async () => {
  await using server = await served();
  for (const [at, url] of server.urls.entries()) {
    using client = packetClient(url, { token: KEY });
    await client.heartbeat();
    assert.deepEqual(await client.request("counter", { message_type: "add" }, { actor_id: "one" }), { count: at + 1 }, url);
    const steps: unknown[] = [];
    assert.deepEqual(await client.request("slow", {}, { onProgress: (...all) => steps.push(all) }), { done: true });
    assert.deepEqual(steps, [[1, 2, "half"]], url);
    const reply = await client.send({
      type: "mcp_request",
      payload: { mcp_message: { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "packetflow://capabilities" } } },
    });
    assert.match(JSON.stringify(reply.payload), /Count what is counted/, url);
    await assert.rejects(
      client.request("nothing", {}),
      (error: unknown) => error instanceof PacketError && error.type === "capability_not_found",
    );
  }
});

void test("a packet client that cancels has the server cancel, at every endpoint", async () => {
  await using server = await served();
  for (const [at, url] of server.urls.entries()) {
    using client = packetClient(url, { token: KEY });
    const abort = new AbortController();
    const request = assert.rejects(
      client.request("slow", { wait: true }, { signal: abort.signal }),
      (error: unknown) => error instanceof PacketClientError && error.code === "CANCELLED",
    );
    await until("it runs", () => server.begun === at + 1);
    abort.abort();
    await request;
    await until(`it is cancelled behind ${url}`, () => server.cancelled === at + 1);
  }
});

void test("a packet client with a refused token gets unauthorized, or that no connection was opened", async () => {
  await using server = await served();
  for (const url of server.urls) {
    using client = packetClient(url, { token: "another-key-of-sixteen-characters", patienceMs: 0 });
    await assert.rejects(
      client.request("counter", { message_type: "add" }, { actor_id: "one" }),
      (error: unknown) =>
        url.startsWith("ws")
          ? error instanceof PacketClientError && error.applied === false
          : error instanceof PacketError && error.type === "unauthorized",
      url,
    );
  }
});
