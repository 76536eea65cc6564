// Edge cases of a server inside an application: bodies too large, clients that disconnect, requests after an error.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { Hono } from "hono";
import { createServer, type Server } from "troupe/server";
import { closeWith, withHono, withNode } from "../../examples/server/mounts.ts";
import { CLIENTS } from "../clients.ts";
import { inProcess, listening, MOUNTS, ON_NODE } from "./mounted.ts";
import { callerOf } from "./progress.ts";

const UNPACKS = /express\.json|Express, in a router/;
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});

for (const [name, mount] of Object.entries(MOUNTS))
  describe(`mounted with ${name}, at its edges`, () => {
    test("a body that is too large is refused, and the next one is read #server.frameworks.edges", async () => {
      await using server = createServer("s", "1", { webLimits: { bodyBytes: 2_000 } });
      await using mounted = await mount(server);
      const send = mounted.fetch ?? fetch;
      const large = await send(mounted.url, { method: "POST", headers: HEADERS, body: `{"x":"${"x".repeat(1_500_000)}"}` });
      assert.equal(large.status, 413);
      await large.text();
      const answer = await send(mounted.url, { method: "POST", headers: HEADERS, body: INITIALIZE });
      assert.match(await answer.text(), /"serverInfo"/);
    });

    test("a compressed body is refused by its encoding, or read if a framework has decompressed it", async () => {
      await using server = createServer("s", "1");
      await using mounted = await mount(server);
      const send = mounted.fetch ?? fetch;
      const headers = { ...HEADERS, "content-encoding": "gzip" };
      const answer = await send(mounted.url, { method: "POST", headers, body: gzipSync(INITIALIZE) });
      const body = await answer.text();
      if (UNPACKS.test(name)) assert.match(body, /"serverInfo"/);
      else if (name.startsWith("Fastify")) assert.ok([400, 415].includes(answer.status), "Fastify itself may refuse it first");
      else assert.deepEqual([answer.status, /Content-Encoding: gzip/.test(body)], [415, true]);
    });

    for (const which of CLIENTS)
      test(
        `the official client ${which.sdk}, ${which.era}, aborts a running call when it disconnects #server.frameworks.edges`,
        { timeout: 20_000 },
        async () => {
          await using server = createServer("s", "1");
          const begun = Promise.withResolvers<void>();
          const aborted = Promise.withResolvers<void>();
          server.tools.register({ name: "wait" }, ({ signal, emit }) => {
            signal.addEventListener("abort", () => aborted.resolve());
            emit("begun");
            return new Promise(() => undefined);
          });
          server.tools.register({ name: "quick" }, () => "quick");
          await using mounted = await mount(server);
          const caller = await callerOf(which, mounted.url, mounted.fetch);
          const disconnect = new AbortController();
          const call = caller.call("wait", () => begun.resolve(), disconnect.signal);
          await begun.promise;
          disconnect.abort();
          await assert.rejects(call);
          await aborted.promise;
          // The connection is not stuck: the same client goes on.
          assert.deepEqual(await caller.call("quick", () => undefined), [{ type: "text", text: "quick" }]);
          await caller.close();
        },
      );
  });

interface Answered {
  readonly status: number | undefined;
  readonly body: string;
  readonly port: number | undefined;
}

/** Uses the agent's one connection; `port` is the local port, which identifies the connection. */
function ask(agent: Agent, url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method: "POST", agent, headers: { ...headers, "content-length": Buffer.byteLength(body) } },
      (response) => {
        const port = response.socket.localPort;
        textOf(response).then((text) => resolve({ status: response.statusCode, body: text, port }), reject);
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

for (const [name, mount] of Object.entries(ON_NODE))
  test(`a connection goes on after errors, mounted with ${name} #server.frameworks.edges`, async () => {
    await using server = createServer("s", "1");
    await using mounted = await mount(server);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      // The framework refuses a body that is not JSON, and some close the connection.
      assert.equal((await ask(agent, mounted.url, HEADERS, "{")).status, 400);
      const { port } = await ask(agent, mounted.url, HEADERS, INITIALIZE);
      const wrong: readonly (readonly [Readonly<Record<string, string>>, string, number])[] = [
        [{ ...HEADERS, accept: "text/html" }, INITIALIZE, 406],
        [{ ...HEADERS, "mcp-session-id": "unknown" }, '{"jsonrpc":"2.0","id":1,"method":"ping"}', 404],
        [HEADERS, '{"jsonrpc":"2.0","id":1,"method":"ping"}', 400],
        [{ ...HEADERS, origin: "https://evil.example" }, INITIALIZE, 403],
      ];
      for (const [headers, body, status] of wrong) {
        const answer = await ask(agent, mounted.url, headers, body);
        assert.deepEqual([answer.status, answer.port], [status, port], `${status} ${answer.body}`);
      }
      const last = await ask(agent, mounted.url, HEADERS, INITIALIZE);
      assert.deepEqual([last.status, last.port], [200, port]);
    } finally {
      agent.destroy();
    }
  });

for (const [name, app] of Object.entries({
  Hono: (server: Server) => inProcess((request) => withHono(server).fetch(request)),
  "node:http": ON_NODE["the guide's node:http"] ?? assert.fail(),
  Express: ON_NODE["Express"] ?? assert.fail(),
  Fastify: ON_NODE["Fastify"] ?? assert.fail(),
}))
  test(`${name}, mounted as in the guide, has health checks, HTTP+SSE, and DELETE with a type and no body`, async () => {
    await using server = createServer("s", "1", { sse: true, ready: () => false });
    await using mounted = await app(server);
    const send = mounted.fetch ?? fetch;
    const at = async (path: string): Promise<number> => (await send(new URL(path, mounted.url))).status;
    assert.deepEqual([await at("/healthz"), await at("/readyz")], [200, 503]);
    const disconnect = new AbortController();
    const pair = await send(new URL("/sse", mounted.url), { headers: { accept: "text/event-stream" }, signal: disconnect.signal });
    assert.equal(pair.headers.get("content-type"), "text/event-stream");
    disconnect.abort();
    const begun = await send(mounted.url, { method: "POST", headers: HEADERS, body: INITIALIZE });
    await begun.text();
    const headers = { ...HEADERS, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    assert.equal((await send(mounted.url, { method: "DELETE", headers })).status, 204);
    assert.equal((await send(mounted.url, { method: "POST", headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status, 404);
  });

test("a signal ends the server and its application", async () => {
  const server = createServer("s", "1");
  const app = withNode(server);
  app.listen(0, "127.0.0.1");
  await once(app, "listening");
  const ended = once(app, "close");
  closeWith(server, app);
  process.emit("SIGTERM");
  await ended;
  assert.equal((await server.fetch(new Request("http://localhost/readyz"))).status, 503);
});

test("a parsed body that is nested too deep is refused as such", async () => {
  await using server = createServer("s", "1");
  let deep: unknown = 1;
  for (let at = 0; at < 100_000; at += 1) deep = [deep];
  await using mounted = await listening((request, response) => void server.node(request, response, deep));
  const refused = await fetch(mounted.url, { method: "POST", headers: HEADERS, body: INITIALIZE });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /nested too deep/);
});

test("a body that other middleware has read is required, and used if it is passed on #server.frameworks.edges", async () => {
  await using server = createServer("s", "1");
  const app = new Hono();
  app.post("/mcp", async (context) => {
    const body = await context.req.json();
    const repeated = new URL(context.req.url).searchParams.has("again");
    return server.fetch(
      repeated ? new Request(context.req.raw.url, { method: "POST", headers: HEADERS, body: JSON.stringify(body) }) : context.req.raw,
    );
  });
  const { fetch: send = fetch } = inProcess((request) => app.fetch(request));
  const refused = await send("http://localhost/mcp", { method: "POST", headers: HEADERS, body: INITIALIZE });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /hand the request on as it came, or its body as it was parsed/);
  const taken = await send("http://localhost/mcp?again", { method: "POST", headers: HEADERS, body: INITIALIZE });
  assert.match(await taken.text(), /"serverInfo"/);

  await using mounted = await listening((request, response) => {
    void textOf(request).then((body) => server.node(request, response, request.url === "/mcp?parsed" ? JSON.parse(body) : undefined));
  });
  const lost = await fetch(mounted.url, { method: "POST", headers: HEADERS, body: INITIALIZE });
  assert.equal(lost.status, 400);
  assert.match(await lost.text(), /hand the request on as it came/);
  const given = await fetch(`${mounted.url}?parsed`, { method: "POST", headers: HEADERS, body: INITIALIZE });
  assert.match(await given.text(), /"serverInfo"/);
});
