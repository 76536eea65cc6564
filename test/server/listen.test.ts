// A server with its own listeners: HTTP, TCP and stdio at once, its health, and its end.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { createServer } from "troupe/server";
import { demo } from "../../examples/server/index.ts";
import { until } from "../../src/testing/index.ts";
import { CLIENTS, connect } from "../clients.ts";

const status = async (url: string, path: string): Promise<number> => (await fetch(new URL(path, url))).status;
const idle = async (): Promise<void> => undefined;

describe("a server that listens", () => {
  for (const which of CLIENTS)
    test(`serves the official client ${which.sdk}, ${which.era}, over HTTP and TCP`, async () => {
      await using server = demo(idle);
      const { http, tcp } = await server.listen({ http: true, tcp: true });
      for (const way of [{ http: http.url }, { tcp: tcp.url }]) {
        await using client = await connect(way, which);
        assert.equal((await client.call("echo", { message: "hi" })).text, "hi");
      }
    });

  test("serves standard streams, and resolves when they end", async () => {
    await using server = demo(idle);
    const [input, output] = [new PassThrough(), new PassThrough()];
    let written = "";
    output.on("data", (piece) => {
      written += String(piece);
    });
    const { stdio } = await server.listen({ stdio: { input, output } });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
    await until("it has answered", () => written.includes("\n"));
    assert.match(written, /"serverInfo":\{"name":"demo"/);
    input.end();
    await stdio.closed;
  });

  test("reports health and readiness, and closes after running calls", async () => {
    let ready = false;
    const go = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    await using server = createServer("s", "1", { ready: () => ready });
    server.tools.register({ name: "slow" }, async () => {
      began.resolve();
      await go.promise;
      return "done";
    });
    const { http } = await server.listen({ http: true });
    assert.deepEqual([await status(http.url, "/healthz"), await status(http.url, "/readyz")], [200, 503]);
    ready = true;
    assert.equal(await status(http.url, "/readyz"), 200);
    const client = await connect({ http: http.url }, { sdk: "v2", era: "modern" });
    const running = client.call("slow");
    await began.promise;
    let ended = false;
    const close = async (): Promise<void> => {
      await server.close();
      ended = true;
    };
    const closed = close();
    await assert.rejects(client.call("slow"));
    assert.equal(ended, false);
    go.resolve();
    assert.equal((await running).text, "done");
    await closed;
    assert.equal((await server.fetch(new Request("http://localhost/readyz"))).status, 503);
    await client[Symbol.asyncDispose]();
  });

  test("waits no longer than its grace period", async () => {
    const server = createServer("s", "1");
    const began = Promise.withResolvers<void>();
    server.tools.register({ name: "stuck" }, () => {
      began.resolve();
      return new Promise(() => undefined);
    });
    const { http } = await server.listen({ http: true });
    const client = await connect({ http: http.url }, { sdk: "v2", era: "modern" });
    const stuck = assert.rejects(client.call("stuck"));
    await began.promise;
    await server.close({ graceMs: 1 });
    await Promise.all([stuck, client[Symbol.asyncDispose]()]);
  });

  test("opens all of its listeners or none", async () => {
    await using server = demo(idle);
    const { http } = await server.listen({ http: true });
    const free: string[] = [];
    const log = (_level: unknown, data: unknown): void => {
      if (typeof data === "object" && data !== null && "event" in data && data.event === "listening" && "url" in data)
        free.push(String(data.url));
    };
    await assert.rejects(server.listen({ http: { log }, tcp: { port: http.port } }), { code: "BAD_ADDRESS" });
    const [opened = ""] = free;
    await assert.rejects(fetch(opened), TypeError);
    await assert.rejects(server.listen({ http: { host: "0.0.0.0" } }), { code: "UNSAFE_LISTENER" });
    assert.equal(await status(http.url, "/healthz"), 200);
  });
});
