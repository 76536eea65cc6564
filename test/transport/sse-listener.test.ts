// HTTP+SSE on the wire: what it accepts, limits and ends, with its own listener and inside an application.
import assert from "node:assert/strict";
import { createServer as createHttp } from "node:http";
import { describe, test } from "node:test";
import { createServer, type Server } from "troupe/server";
import type { ServerOptions } from "troupe/server";
import { authenticator, hashApiKey, HTTP_LIMITS } from "troupe/transport";
import { SimulatedClock, until } from "../../src/testing/index.ts";
import { type EventReader, eventReader } from "./event-reader.ts";
import { HTTP_SERVERS, type Send } from "./http-servers.ts";
import { onLoopback } from "../on-loopback.ts";

const INITIALIZE = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } };

interface Pair {
  readonly events: EventReader;
  readonly endpoint: string;
  post(message: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

/** A stream, and where to POST. */
async function pairOf(send: Send, headers: Readonly<Record<string, string>> = {}, path = "/sse"): Promise<Pair> {
  const response = await send(path, { headers: { accept: "text/event-stream", ...headers } });
  assert.equal(response.status, 200);
  const events = eventReader(response);
  const first = await events.next();
  assert.equal(first?.event, "endpoint");
  const url = new URL(first?.data ?? "", new URL(path, "http://localhost"));
  const endpoint = url.pathname + url.search;
  return {
    events,
    endpoint,
    post: (message, more = headers) =>
      send(endpoint, { method: "POST", headers: { "content-type": "application/json", ...more }, body: JSON.stringify(message) }),
  };
}

async function begun(send: Send, headers: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const pair = await pairOf(send, headers);
  const answer = await pair.post({ jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE });
  assert.deepEqual([answer.status, await answer.text()], [202, ""]);
  const event = await pair.events.next();
  assert.equal(event?.event, "message");
  assert.match(event?.data ?? "", /"protocolVersion":"2024-11-05"/);
  await pair.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  return pair;
}

const call = (id: number, name: string, meta: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {}, _meta: meta },
});
const text = (id: number, content: string) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: content }] } });

const auth = () =>
  authenticator({
    keys: [
      { name: "ana", sha256: hashApiKey("ana-key") },
      { name: "ana", sha256: hashApiKey("ana-admin"), scopes: ["admin"] },
      { name: "bob", sha256: hashApiKey("bob-key") },
    ],
  });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

for (const [name, place] of Object.entries(HTTP_SERVERS))
  describe(`HTTP+SSE by ${name}`, () => {
    const served = (options: ServerOptions = {}): Server => createServer("s", "1", { sse: true, ...options });

    test("is not served by default", async () => {
      await using server = createServer("s", "1");
      await using at = await place(server);
      for (const path of ["/sse", "/mcp/sse"]) assert.equal((await at.send(path)).status, 404);
    });

    test("sends the address first, answers each POST with 202, and replies on the stream", async () => {
      await using server = served();
      server.tools.register({ name: "two" }, () => "2\n2");
      await using at = await place(server);
      const pair = await begun(at.send);
      assert.equal((await pair.post(call(1, "two"))).status, 202);
      assert.deepEqual(await pair.events.json(), text(1, "2\n2"));
      // Clients of that time do not send today's Accept headers.
      const answer = await at.send(pair.endpoint, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/plain" },
        body: JSON.stringify(call(2, "two")),
      });
      assert.equal(answer.status, 202);
      assert.deepEqual(await pair.events.json(), text(2, "2\n2"));
      await pair.post({ jsonrpc: "2.0", id: 3, method: "nothing" });
      assert.match((await pair.events.next())?.data ?? "", /"id":3,"error":\{"code":-32601/);
      await pair.events.cancel();
    });

    test("retains other query parameters of the stream's address for POSTs", async () => {
      await using server = served();
      await using at = await place(server);
      const pair = await pairOf(at.send, {}, "/mcp/sse?tenant=a%20b&sessionId=mine");
      const url = new URL(pair.endpoint, "http://localhost");
      assert.deepEqual([url.pathname, url.searchParams.get("tenant")], ["/mcp/sse", "a b"]);
      assert.deepEqual([url.searchParams.getAll("sessionId").length, url.searchParams.get("sessionId") === "mine"], [1, false]);
      await pair.events.cancel();
    });

    test("refuses POSTs without a stream or without a message", async () => {
      await using server = served();
      await using at = await place(server);
      const pair = await begun(at.send);
      const post = async (path: string, init: RequestInit = {}): Promise<number> =>
        (await at.send(path, { method: "POST", headers: { "content-type": "application/json" }, body: "{}", ...init })).status;
      assert.deepEqual(
        [
          await post("/sse"),
          await post(`/sse?sessionId=${"0".repeat(32)}`),
          await post(pair.endpoint, { body: "" }),
          await post(pair.endpoint, { headers: { "content-type": "text/plain" } }),
          await post(pair.endpoint, { body: " ".repeat(HTTP_LIMITS.bodyBytes + 1) }),
          (await at.send("/sse", { headers: { accept: "application/json" } })).status,
          (await at.send(pair.endpoint, { method: "DELETE" })).status,
        ],
        [405, 404, 400, 415, 413, 406, 405],
      );
      // A body that is not JSON-RPC is answered on the stream.
      assert.equal(await post(pair.endpoint, { body: "nonsense" }), 202);
      assert.match((await pair.events.next())?.data ?? "", /"id":null,"error":\{"code":-32700/);
      await pair.events.cancel();
    });

    test("answers clients that try Streamable HTTP first so that they fall back to SSE", async () => {
      await using server = served();
      await using at = await place(server);
      for (const path of ["/sse", "/mcp/sse"]) {
        const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
        const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE });
        const answer = await at.send(path, { method: "POST", headers, body });
        assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET"]);
        assert.match(await answer.text(), /"message":"[^"]+ open one with GET\."/);
      }
    });

    test("binds the session to its principal, and each POST to the scopes of its own token", async () => {
      await using server = served({ auth: await auth() });
      server.tools.register({ name: "who" }, ({ viewer }) => viewer.principal ?? "anonymous");
      server.tools.register({ name: "wipe", scopes: ["admin"] }, () => "wiped");
      await using at = await place(server);
      assert.equal((await at.send("/sse", { headers: { accept: "text/event-stream" } })).status, 401);
      const pair = await begun(at.send, bearer("ana-key"));
      assert.deepEqual(
        [(await pair.post(call(1, "who"), {})).status, (await pair.post(call(1, "who"), bearer("bob-key"))).status],
        [401, 404],
      );
      await pair.post(call(2, "wipe"));
      assert.match((await pair.events.next())?.data ?? "", /"id":2,"error":\{"code":-31403/);
      await pair.post(call(3, "wipe"), bearer("ana-admin"));
      assert.deepEqual(await pair.events.json(), text(3, "wiped"));
      await pair.post(call(4, "wipe"));
      assert.match((await pair.events.next())?.data ?? "", /"id":4,"error":\{"code":-31403/);
      await pair.post(call(5, "who"));
      assert.deepEqual(await pair.events.json(), text(5, "ana"));
      await pair.events.cancel();
    });

    test("ends with its stream", async () => {
      await using server = served();
      await using at = await place(server);
      const pair = await begun(at.send);
      await pair.events.cancel();
      await until("its session is over", async () => (await pair.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status === 404);
    });

    test("lets pages of allowed origins preflight, listen and post, and refuses others", async () => {
      await using server = served({ allowedOrigins: ["https://app.example"] });
      await using at = await place(server);
      const origin = { origin: "https://app.example" };
      const preflight = await at.send("/sse", { method: "OPTIONS", headers: { ...origin, "access-control-request-method": "POST" } });
      assert.deepEqual(
        [preflight.status, preflight.headers.get("access-control-allow-origin"), preflight.headers.get("access-control-allow-methods")],
        [204, "https://app.example", "GET, POST"],
      );
      const stream = await at.send("/sse", { headers: { accept: "text/event-stream", ...origin } });
      const unknown = await at.send("/sse?sessionId=0", {
        method: "POST",
        headers: { "content-type": "application/json", ...origin },
        body: "{}",
      });
      for (const [response, status] of [
        [stream, 200],
        [unknown, 404],
      ] as const)
        assert.deepEqual([response.status, response.headers.get("access-control-allow-origin")], [status, "https://app.example"]);
      await stream.body?.cancel();
      const foreign = await at.send("/sse", { headers: { accept: "text/event-stream", origin: "https://evil.example" } });
      assert.deepEqual([foreign.status, foreign.headers.get("access-control-allow-origin")], [403, null]);
    });

    test("limits streams, and one may open again when another ends", async () => {
      await using server = served({ webLimits: { streams: 1 } });
      await using at = await place(server, { streams: 1 });
      const pair = await begun(at.send);
      const more = async (): Promise<number> => {
        const response = await at.send("/sse", { headers: { accept: "text/event-stream" } });
        await response.body?.cancel();
        return response.status;
      };
      assert.equal(await more(), 429);
      assert.equal((await pair.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status, 202);
      await pair.events.cancel();
      await until("the seat is free", async () => (await more()) === 200);
    });

    test("is kept alive by comments", async () => {
      const clock = new SimulatedClock();
      await using server = served({ clock });
      await using at = await place(server);
      const { events } = await pairOf(at.send);
      const next = events.next();
      for (let slice = 0; slice < 40; slice += 1) await clock.advance(HTTP_LIMITS.keepAliveMs / 32);
      await server.close({ graceMs: 0 });
      assert.equal(await next, undefined);
      assert.match(events.text, /\n\n: keep-alive\n\n/);
    });

    test("closing ends an idle stream at once, and one with a running call after its reply", async () => {
      const go = Promise.withResolvers<void>();
      const began = Promise.withResolvers<void>();
      await using server = served();
      server.tools.register({ name: "slow" }, async () => {
        began.resolve();
        await go.promise;
        return "done";
      });
      await using at = await place(server);
      const [idle, busy] = [await begun(at.send), await begun(at.send)];
      await busy.post(call(1, "slow"));
      await began.promise;
      const closed = server.close();
      assert.deepEqual(await idle.events.rest(), []);
      go.resolve();
      assert.deepEqual(
        (await busy.events.rest()).map(({ data }): unknown => JSON.parse(data)),
        [text(1, "done")],
      );
      await closed;
    });

    test("closing waits no longer than its grace period, and answers the call with an error", async () => {
      const began = Promise.withResolvers<void>();
      const server = served();
      server.tools.register({ name: "stuck" }, () => {
        began.resolve();
        return new Promise(() => undefined);
      });
      await using at = await place(server);
      const pair = await begun(at.send);
      await pair.post(call(1, "stuck"));
      await began.promise;
      await server.close({ graceMs: 1 });
      const last = (await pair.events.rest()).map(({ data }): unknown => JSON.parse(data));
      assert.partialDeepStrictEqual(last, [{ id: 1, error: { code: -31503 } }]);
      assert.equal(last.length, 1);
    });
  });

test("the address of a stream is on this host, whatever a router has stripped from its path", async () => {
  await using server = createServer("s", "1", { sse: true });
  for (const original of ["//evil.example/sse", "/\\evil.example/sse", "\\\\evil.example/sse"]) {
    const http = createHttp((request, response) => void server.node(Object.assign(request, { originalUrl: original }), response));
    await using loopback = await onLoopback(http);
    const at = loopback.url;
    const response = await fetch(`${at}/sse`, { headers: { accept: "text/event-stream" } });
    const first = await eventReader(response).next();
    assert.equal(new URL(first?.data ?? "", `${at}/sse`).origin, at, original);
  }
});
