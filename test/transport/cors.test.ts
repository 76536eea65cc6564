// Pages of allowed origins may send requests and read answers and the session id; other pages may not.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createServer } from "troupe/server";
import { authenticator, hashApiKey } from "troupe/transport";
import { legacyCaller } from "../server/callers.ts";
import { HTTP_SERVERS, type Send } from "./http-servers.ts";

const ORIGIN = "https://app.example";
const JSON_HEADERS = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const KEY = { authorization: "Bearer key" };
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});

const auth = () => authenticator({ keys: [{ name: "ana", sha256: hashApiKey("key") }] });

/** Sends a request like a page of that origin. */
const from =
  (origin: string, send: Send): Send =>
  (path, init = {}) =>
    send(path, { ...init, headers: { origin, ...KEY, ...Object.fromEntries(new Headers(init.headers)) } });

const readable = (response: Response): readonly [number, boolean, boolean] => [
  response.status,
  response.headers.get("access-control-allow-origin") === ORIGIN && (response.headers.get("vary") ?? "").includes("Origin"),
  /\bmcp-session-id\b/.test(response.headers.get("access-control-expose-headers") ?? ""),
];

for (const [name, place] of Object.entries(HTTP_SERVERS))
  describe(`CORS by ${name}`, () => {
    test("lets a page send preflight requests to every path", async () => {
      await using server = createServer("s", "1", { sse: true, auth: await auth(), allowedOrigins: [ORIGIN] });
      await using at = await place(server);
      for (const [path, verbs] of [
        ["/mcp", "POST, GET, DELETE"],
        ["/mcp/meta", "POST, GET, DELETE"],
        ["/sse", "GET, POST"],
        ["/healthz", "GET, HEAD"],
        ["/readyz", "GET, HEAD"],
      ] as const) {
        // A browser sends no token with a preflight.
        const headers = {
          origin: ORIGIN,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization, last-event-id, mcp-session-id, mcp-param-region, cookie",
        };
        const answer = await at.send(path, { method: "OPTIONS", headers });
        assert.deepEqual([...readable(answer), answer.headers.get("access-control-allow-methods")], [204, true, true, verbs], path);
        const allowed = answer.headers.get("access-control-allow-headers")?.split(", ") ?? [];
        for (const one of ["authorization", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id", "mcp-param-region"])
          assert.ok(allowed.includes(one), one);
        assert.ok(!allowed.includes("cookie"));
        assert.equal(answer.headers.get("access-control-allow-credentials"), null);
      }
    });

    test("lets it read answers, streams and refusals", async () => {
      await using server = createServer("s", "1", { sse: true, auth: await auth(), allowedOrigins: [`${ORIGIN}/`] });
      server.tools.register({ name: "two" }, ({ emit }) => {
        emit("one");
        return "two";
      });
      await using at = await place(server);
      const send = from(ORIGIN, at.send);
      const post = (init: RequestInit = {}): Promise<Response> =>
        send("/mcp", { method: "POST", headers: JSON_HEADERS, body: INITIALIZE, ...init });
      const begun = await post();
      assert.ok(begun.headers.has("mcp-session-id"));
      const caller = await legacyCaller(send);
      const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, "1"]));
      for (const [what, answer, status] of [
        ["initialize", begun, 200],
        ["a stream that ends with its reply", await caller.call(1, "two", { token: "p" }), 200],
        ["the standalone stream", await caller.get(), 200],
        ["another one", await caller.get(), 200],
        ["HTTP+SSE", await send("/sse", { headers: { accept: "text/event-stream" } }), 200],
        [
          "a session that is not there",
          await post({ headers: { ...JSON_HEADERS, "mcp-session-id": "0" }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' }),
          404,
        ],
        ["no path", await send("/nothing"), 404],
        ["no verb", await send("/mcp", { method: "PUT", body: "{}" }), 405],
        ["no token", await post({ headers: { ...JSON_HEADERS, authorization: "" } }), 401],
        ["what it does not accept", await post({ headers: { ...JSON_HEADERS, accept: "text/html" } }), 406],
        ["no JSON", await post({ headers: { ...JSON_HEADERS, "content-type": "text/plain" } }), 415],
        ["too much", await post({ body: " ".repeat(4_194_305) }), 413],
        ["too many headers", await post({ headers: { ...JSON_HEADERS, ...many } }), 431],
        ["nonsense", await post({ body: "{" }), 400],
        ["health", await send("/healthz"), 200],
      ] as const) {
        assert.deepEqual(readable(answer), [status, true, true], what);
        await answer.body?.cancel();
      }
    });

    test("lets it read the answer of a closing server", async () => {
      await using server = createServer("s", "1", { auth: await auth(), allowedOrigins: [ORIGIN] });
      await using at = await place(server);
      const closed = server.close();
      if (name === "a listener") await assert.rejects(from(ORIGIN, at.send)("/healthz"), TypeError);
      else {
        const answer = await from(ORIGIN, at.send)("/mcp", { method: "POST", headers: JSON_HEADERS, body: INITIALIZE });
        assert.deepEqual(readable(answer), [503, true, true]);
      }
      await closed;
    });

    test("refuses pages of other origins without CORS headers", async () => {
      await using server = createServer("s", "1", { auth: await auth(), allowedOrigins: [ORIGIN] });
      await using at = await place(server);
      const init = { method: "POST", headers: JSON_HEADERS, body: INITIALIZE };
      for (const origin of ["https://evil.example", `${ORIGIN}.evil.example`, "http://app.example", "null"]) {
        const answer = await from(origin, at.send)("/mcp", init);
        assert.deepEqual([answer.status, answer.headers.get("access-control-allow-origin")], [403, null], origin);
      }
      const own = await at.send("/mcp", { ...init, headers: { ...JSON_HEADERS, ...KEY } });
      assert.deepEqual([own.status, own.headers.get("access-control-allow-origin")], [200, null]);
    });
  });
