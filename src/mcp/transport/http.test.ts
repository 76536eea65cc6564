import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeGateway, textOf, type FakeOptions } from "../../../test/transport/fake-gateway.ts";
import { head, post, rawSocket } from "../../../test/transport/raw-socket.ts";
import { eventually } from "../../../test/transport/settle.ts";
import { type Answer, type Channel, type Exchange, type Json } from "../../core/contract/index.ts";
import type { Authenticator } from "./auth/index.ts";
import { NodeExchange } from "./node-http-handler.ts";
import { serveHttp } from "./http.ts";
import type { HttpOptions } from "./http-options.ts";

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { text: "žlutý kůň 🐴" } });

async function serve(fake: FakeOptions = {}, options: Partial<HttpOptions> = {}) {
  const gateway = fakeGateway(fake);
  const logged: Json[] = [];
  const door = await serveHttp({ gateway, log: (_level, data) => void logged.push(data), ...options });
  return { gateway, door, logged, port: door.port, url: door.url, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

/** A server whose exchanges all open a stream and leave it open. */
async function serveStreams(options: Partial<HttpOptions> = {}) {
  const channels: Channel[] = [];
  const server = await serve(
    {
      exchange(exchange: Exchange) {
        channels.push(exchange.stream({ "mcp-session-id": "s" }));
        return { status: 200, open: true };
      },
    },
    options,
  );
  return { ...server, channels };
}

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const send = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { method: "POST", headers: JSON_HEADERS, body: PING, ...init });

async function errorOf(response: Response): Promise<string> {
  const body: unknown = await response.json();
  assert.ok(typeof body === "object" && body !== null && "error" in body);
  const { error } = body;
  assert.ok(typeof error === "object" && error !== null && "message" in error && typeof error.message === "string");
  return error.message;
}

describe("HTTP", () => {
  it("answers a POST with the gateway's answer #gateway.http.post", async () => {
    await using server = await serve();
    const response = await send(server.url);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const body: unknown = await response.json();
    assert.deepEqual(body, {
      jsonrpc: "2.0",
      id: 1,
      result: { method: "ping", params: { text: "žlutý kůň 🐴" }, principal: null, scopes: [] },
    });
    assert.equal(server.gateway.exchanges[0]?.caller.peer, "127.0.0.1");
  });

  it("passes verb, headers and posture to the gateway", async () => {
    await using server = await serve({ exchange: () => ({ status: 202 }) });
    await send(`${server.url}/meta?x=1`, { headers: { ...JSON_HEADERS, "Mcp-Session-Id": "abc", "X-Two": "1" } });
    await fetch(server.url, { method: "DELETE" });
    const [first, second] = server.gateway.exchanges;
    assert.equal(first?.posture, "meta");
    assert.equal(first?.header("mcp-session-id"), "abc");
    assert.equal(first?.header("x-two"), "1");
    assert.equal(first?.header("x-none"), undefined);
    assert.equal(second?.verb, "DELETE");
    assert.equal(second?.body, undefined);
    assert.equal(second?.posture, undefined);
  });

  it("writes an answer of several parts as one body", async () => {
    const cached = Buffer.from('"tools":["čaj"]');
    await using server = await serve({ exchange: () => ({ status: 200, body: ["{", cached, "}"] }) });
    const body: unknown = await (await send(server.url)).json();
    assert.deepEqual(body, { tools: ["čaj"] });
  });

  it("answers an unknown path with 404, and a wrong verb with 405 and the allowed ones", async () => {
    await using server = await serve();
    const nowhere = await fetch(`http://127.0.0.1:${server.port}/`);
    assert.equal(nowhere.status, 404);
    assert.match(await errorOf(nowhere), /nothing at this path: MCP is at \/mcp\./);
    const wrong = await fetch(server.url, { method: "PUT", body: "{}" });
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get("allow"), "POST, GET, DELETE, OPTIONS");
    assert.match(await errorOf(wrong), /POST, GET, DELETE/);
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("answers OPTIONS with the allowed verbs, and with CORS only if origins are allowed", async () => {
    await using server = await serve();
    const response = await fetch(server.url, {
      method: "OPTIONS",
      headers: { origin: "http://localhost:5173", "access-control-request-method": "POST" },
    });
    assert.equal(response.status, 204);
    assert.equal(response.headers.get("allow"), "POST, GET, DELETE, OPTIONS");
    assert.equal(response.headers.get("access-control-allow-origin"), null);
    assert.equal((await send(server.url)).headers.get("access-control-allow-origin"), null);
  });

  it("lets only pages of an allowed origin read answers, refusals included", async () => {
    await using server = await serve({}, { allowedOrigins: ["https://app.example"] });
    const origin = { origin: "https://app.example" };
    const before = await fetch(server.url, {
      method: "OPTIONS",
      headers: {
        ...origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": `mcp-param-Region, mcp-param-tenant.id, mcp-param-${"x".repeat(128)}, mcp-param-${"x".repeat(129)}, cookie`,
      },
    });
    assert.equal(before.status, 204);
    assert.equal(before.headers.get("access-control-allow-origin"), "https://app.example");
    assert.match(
      before.headers.get("access-control-allow-headers") ?? "",
      /authorization.*mcp-session-id.*mcp-param-region, mcp-param-tenant\.id, mcp-param-x{128}$/,
    );
    assert.equal(before.headers.get("access-control-allow-credentials"), null);
    const good = await send(server.url, { headers: { ...JSON_HEADERS, ...origin } });
    assert.equal(good.headers.get("access-control-allow-origin"), "https://app.example");
    assert.match(good.headers.get("access-control-expose-headers") ?? "", /mcp-session-id/);
    const bad = await send(server.url, { headers: { "content-type": "text/plain", accept: "*/*", ...origin } });
    assert.equal(bad.status, 415);
    assert.equal(bad.headers.get("access-control-allow-origin"), "https://app.example");
    const other = await send(server.url, { headers: { ...JSON_HEADERS, origin: "https://evil.example" } });
    assert.equal(other.status, 403);
    assert.equal(other.headers.get("access-control-allow-origin"), null);
  });

  it("refuses unknown hosts, against DNS rebinding #secure.host #spec.8.security", async () => {
    await using server = await serve();
    for (const host of [
      "evil.example",
      "evil.example:3000",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "10.0.0.1",
      "a b",
      "[::1",
      "",
    ]) {
      await using client = await rawSocket(server.port);
      client.write(post(PING, { host }));
      assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 (?:403|400) /, host);
    }
    for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:80", "localhost."]) {
      await using client = await rawSocket(server.port);
      client.write(post(PING, { host }));
      assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 200 /, host);
    }
    assert.equal(server.gateway.exchanges.length, 5);
  });

  it("accepts further configured hosts; one with a port only on that port", async () => {
    await using server = await serve({}, { allowedHosts: ["troupe.example", "other.example:8443"] });
    for (const [host, status] of [
      ["troupe.example", 200],
      ["Troupe.Example:1", 200],
      ["other.example:8443", 200],
      ["other.example", 403],
    ] as const) {
      await using client = await rawSocket(server.port);
      client.write(post(PING, { host }));
      assert.match(await client.until("\r\n\r\n"), new RegExp(`^HTTP/1\\.1 ${status} `), host);
    }
  });

  it("refuses foreign origins and accepts loopback ones #secure.origin", async () => {
    await using server = await serve();
    for (const [origin, status] of [
      ["http://evil.example", 403],
      ["null", 403],
      ["http://localhost.evil.example", 403],
      ["file://", 403],
      ["http://localhost:5173", 200],
      ["http://127.0.0.1", 200],
      ["http://[::1]:1", 200],
    ] as const) {
      assert.equal((await send(server.url, { headers: { ...JSON_HEADERS, origin } })).status, status, origin);
    }
  });

  it("accepts listed origins of any scheme", async () => {
    const origins = [
      "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
      "moz-extension://0b3f0a2e-1c2d-4e5f-8a9b-0c1d2e3f4a5b",
      "tauri://localhost",
      "vscode-webview://1a2b3c",
      "app://obsidian.md",
      "capacitor://localhost:8100",
      "https://tauri.localhost",
      "file://",
    ];
    await using server = await serve({}, { allowedOrigins: origins });
    for (const origin of origins) {
      const answer = await send(server.url, { headers: { ...JSON_HEADERS, origin } });
      assert.deepEqual([answer.status, answer.headers.get("access-control-allow-origin")], [200, origin]);
    }
    await using written = await serve({}, { allowedOrigins: ["HTTPS://App.example:443/", "http://[0:0::1]:80", "https://bücher.example"] });
    for (const origin of ["https://app.example", "http://[::1]", "https://xn--bcher-kva.example"])
      assert.equal((await send(written.url, { headers: { ...JSON_HEADERS, origin } })).status, 200, origin);
    for (const origin of ["chrome-extension://other", "tauri://localhost.evil", "tauri://localhost:1", "x://localhost", "null"])
      assert.equal((await send(server.url, { headers: { ...JSON_HEADERS, origin } })).status, 403, origin);
    for (const origin of ["null", "chrome-extension://*", "https://*.example", "https://", "tauri:", "a b://c", "1a://c", "tauri://a/b"])
      await assert.rejects(serveHttp({ gateway: fakeGateway(), allowedOrigins: [origin] }), { code: "BAD_OPTION" }, origin);
  });

  it("requires JSON bodies, and clients that accept JSON and events", async () => {
    await using server = await serve();
    const status = async (headers: Record<string, string>): Promise<number> => {
      await using client = await rawSocket(server.port);
      const all = { host: "localhost", connection: "close", "content-length": String(Buffer.byteLength(PING)), ...headers };
      client.write(head("POST /mcp HTTP/1.1", ...Object.entries(all).map(([name, value]) => `${name}: ${value}`)) + PING);
      return Number((await client.closed()).slice(9, 12));
    };
    const json = { "content-type": "application/json" };
    const both = { accept: "application/json, text/event-stream" };
    assert.equal(await status({ ...both }), 415);
    assert.equal(await status({ ...both, "content-type": "text/plain" }), 415);
    assert.equal(await status({ ...both, "content-type": "application/json; charset=latin1" }), 415);
    assert.equal(await status({ ...both, ...json, "content-encoding": "gzip" }), 415);
    assert.equal(await status({ ...both, ...json, "content-encoding": "identity" }), 200);
    assert.equal(await status({ ...both, "content-type": 'application/JSON;charset="UTF-8"' }), 200);
    assert.equal(await status({ ...json, accept: "application/json" }), 406);
    assert.equal(await status({ ...json, accept: "text/event-stream" }), 406);
    assert.equal(await status({ ...json, accept: "text/html" }), 406);
    assert.equal(await status({ ...json, accept: "application/json, text/event-stream;q=0" }), 406);
    assert.equal(await status({ ...json, accept: "application/*;q=0.1, text/*" }), 200);
    assert.equal(await status({ ...json, accept: "*/*" }), 200);
    assert.equal(await status({ ...json }), 200);
    assert.equal((await fetch(server.url, { headers: { accept: "text/html" } })).status, 406);
  });

  it("refuses repeated headers that must be unique #secure.headers", async () => {
    await using server = await serve();
    for (const [line, again] of [
      ["mcp-session-id: a", "Mcp-Session-Id: b"],
      ["Mcp-Method: a", "mcp-method: a"],
      ["MCP-Param-X: a", "mcp-param-x: b"],
      ["Authorization: Bearer a", "authorization: Bearer b"],
      ["Origin: http://localhost", "origin: http://evil.example"],
      ["Idempotency-Key: a", "Idempotency-Key: b"],
      ["x: 1", "Host: evil.example"],
    ] as const) {
      await using client = await rawSocket(server.port);
      client.write(
        head(
          "POST /mcp HTTP/1.1",
          "Host: localhost",
          "Content-Type: application/json",
          `Content-Length: ${Buffer.byteLength(PING)}`,
          line,
          again,
        ) + PING,
      );
      assert.match(await client.until(/\}\}$/), /^HTTP\/1\.1 400 [\s\S]*sent twice/, again);
    }
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("reports its health to any client with an allowed host", async () => {
    await using server = await serve();
    const response = await fetch(`http://127.0.0.1:${server.port}/healthz`);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: "ok" });
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`, { method: "HEAD" })).status, 200);
    await using client = await rawSocket(server.port);
    client.write(head("GET /healthz HTTP/1.1", "Host: evil.example"));
    assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 403 /);
  });

  it("answers 500 if an answer cannot be written, and a drain still ends after the last answer", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bad = { status: 200, headers: { "x-bad": "two\nlines" }, body: "{}" };
    let seen = 0;
    const exchange = (): Answer | Promise<Answer> => {
      seen += 1;
      if (seen === 1) return bad;
      return seen === 2 ? Promise.resolve(bad) : promise.then(() => ({ status: 200, body: "{}" }));
    };
    await using server = await serve({ exchange });
    for (let time = 0; time < 2; time += 1) assert.equal((await send(server.url)).status, 500);
    const last = send(server.url);
    await eventually(() => seen === 3);
    let closed = false;
    const closing = server.door.close().then(() => (closed = true));
    await new Promise((passed) => setTimeout(passed, 20));
    assert.equal(closed, false);
    resolve();
    assert.equal((await last).status, 200);
    await closing;
  });

  it("answers 500 without details of the failure #secure.logs #secure.stacks", async () => {
    await using server = await serve({
      exchange: () => {
        throw new Error("secret argument");
      },
    });
    const response = await send(server.url);
    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /secret/);
    assert.doesNotMatch(JSON.stringify(server.logged), /secret/);
    assert.match(JSON.stringify(server.logged), /exchange-failed/);
  });

  it("refuses to listen beyond loopback without authentication, with advice #secure.loopback", async () => {
    await assert.rejects(serveHttp({ gateway: fakeGateway(), host: "0.0.0.0" }), {
      code: "UNSAFE_LISTENER",
      message: /give it authentication .*`auth`, or --api-keys, .*listen on 127\.0\.0\.1, or say `insecure: true` \(--insecure /,
    });
    const door = await serveHttp({ gateway: fakeGateway(), host: "0.0.0.0", insecure: true });
    // An address cannot be rebound, a name can.
    await using client = await rawSocket(door.port);
    client.write(post(PING, { host: "192.0.2.7" }));
    assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 200 /);
    await using other = await rawSocket(door.port);
    other.write(post(PING, { host: "evil.example" }));
    assert.match(await other.until("\r\n\r\n"), /^HTTP\/1\.1 403 /);
    await door.close({ graceMs: 0 });
  });

  it("names the address it cannot listen at, and the invalid option", async () => {
    await using server = await serve();
    await assert.rejects(serveHttp({ gateway: fakeGateway(), port: server.port }), {
      code: "BAD_ADDRESS",
      message: /another process listens there/,
    });
    await assert.rejects(serveHttp({ gateway: fakeGateway(), path: "mcp/" }), { code: "BAD_OPTION", message: /a path such as \/mcp/ });
    await assert.rejects(serveHttp({ gateway: fakeGateway(), allowedOrigins: ["app.example"] }), { code: "BAD_OPTION" });
    for (const host of ["https://mcp.example", "*.example", "mcp.example/mcp", "mcp.example:port", "a b", ""])
      await assert.rejects(
        serveHttp({ gateway: fakeGateway(), allowedHosts: [host] }),
        { code: "BAD_OPTION", message: /has to be a list of hosts/ },
        host,
      );
    for (const host of ["mcp.example", "mcp.example:8443", "10.0.0.1", "::1", "[::1]:3000", "*"])
      await (await serveHttp({ gateway: fakeGateway(), port: 0, allowedHosts: [host] })).close();
    await assert.rejects(serveHttp({ gateway: fakeGateway(), port: 70_000 }), { code: "BAD_OPTION", message: /not a port/ });
    const door = { path: "/mcp", handle: () => ({ status: 200 }) };
    await assert.rejects(serveHttp({ gateway: fakeGateway(), endpoints: [door] }), {
      code: "BAD_OPTION",
      message: /Two endpoints want \/mcp/,
    });
  });
});

describe("mounted handlers", () => {
  it("have the same checks and get path, query and body", async () => {
    const seen: Json[] = [];
    await using server = await serve(
      {},
      {
        limits: { bodyBytes: 100 },
        endpoints: [
          {
            path: "/packets",
            verbs: ["POST", "GET"],
            handle(request) {
              seen.push({ verb: request.verb, path: request.path, query: request.query, body: textOf(request.body) });
              return { status: 200, body: "{}" };
            },
          },
        ],
      },
    );
    const base = `http://127.0.0.1:${server.port}/packets`;
    assert.equal((await fetch(`${base}/a/b?c=d`, { method: "POST", body: "hello" })).status, 200);
    assert.equal((await fetch(base)).status, 200);
    assert.equal((await fetch(`${base}x`)).status, 404);
    assert.equal((await fetch(base, { method: "DELETE" })).status, 405);
    assert.equal((await fetch(base, { method: "POST", body: "x".repeat(101) })).status, 413);
    assert.equal((await fetch(base, { headers: { origin: "http://evil.example" } })).status, 403);
    assert.deepEqual(seen, [
      { verb: "POST", path: "/packets/a/b", query: "c=d", body: "hello" },
      { verb: "GET", path: "/packets", query: "", body: "" },
    ]);
  });
});

describe("event streams", () => {
  const listen = head("GET /mcp HTTP/1.1", "Host: localhost", "Accept: text/event-stream");

  it("contain ids, retry, the priming event and data #gateway.http.event-ids", async () => {
    await using server = await serveStreams();
    await using client = await rawSocket(server.port);
    client.write(listen);
    await client.until("\r\n\r\n");
    const [channel] = server.channels;
    assert.ok(channel);
    assert.equal(channel.ready, true);
    channel.send("", "1", 3_000);
    channel.send('{"a":1}', "2");
    channel.send('{\n  "b": "é"\r\n}');
    channel.send("{}", "bad\nid");
    channel.close();
    const text = await client.until("\r\n0\r\n\r\n");
    const [top = "", ...rest] = text.split("\r\n\r\n");
    assert.match(top, /^HTTP\/1\.1 200 OK/);
    assert.match(top, /content-type: text\/event-stream/i);
    assert.match(top, /cache-control: no-cache, no-transform/i);
    assert.match(top, /mcp-session-id: s/i);
    const body = dechunk(rest.join("\r\n\r\n"));
    assert.equal(body, 'id: 1\nretry: 3000\ndata: \n\nid: 2\ndata: {"a":1}\n\ndata: {\ndata:   "b": "é"\ndata: }\n\ndata: {}\n\n');
  });

  it("end with the answer and leave the connection usable", async () => {
    await using server = await serve({
      exchange(exchange) {
        if (exchange.header("x-plain") !== undefined) return { status: 200, body: "{}" };
        exchange.stream().send('{"progress":1}');
        assert.equal(exchange.stream(), exchange.stream());
        return { status: 400, body: ['{"result"', ":2}"] };
      },
    });
    await using client = await rawSocket(server.port);
    client.write(post(PING));
    const text = await client.until("\r\n0\r\n\r\n");
    assert.match(text, /^HTTP\/1\.1 200/);
    assert.match(text, /data: \{"progress":1\}\n\n[\s\S]*data: \{"result":2\}\n\n/);
    client.write(post(PING, { "x-plain": "1" }));
    await client.until(/HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 200 OK[\s\S]*\{\}$/);
  });

  it("reach HTTP/1.0 clients without chunks", async () => {
    await using server = await serveStreams();
    await using client = await rawSocket(server.port);
    client.write(head("GET /mcp HTTP/1.0", "Host: localhost"));
    await client.until("\r\n\r\n");
    server.channels[0]?.send("{}");
    server.channels[0]?.close();
    assert.match(await client.closed(), /\r\n\r\ndata: \{\}\n\n$/);
  });

  it("retain neither head nor body of their request", async () => {
    await using server = await serveStreams();
    await using client = await rawSocket(server.port);
    const lines = ["Host: localhost", "Accept: text/event-stream", "X-Long: 1", "Transfer-Encoding: chunked"];
    client.write(head("GET /mcp HTTP/1.1", ...lines));
    await client.until("\r\n\r\n");
    client.write(`10000\r\n${"x".repeat(0x10000)}\r\n`.repeat(16));
    client.write("0\r\n\r\n");
    const [exchange] = server.gateway.exchanges;
    assert.ok(exchange instanceof NodeExchange);
    const { request } = exchange;
    await eventually(() => request.complete);
    assert.deepEqual([request.rawHeaders, { ...request.headers }], [[], {}]);
    let received: unknown;
    request.readBody((body) => (received = body.length));
    assert.equal(received, 0);
  });

  it("notify their owner when the client disconnects", async () => {
    await using server = await serveStreams();
    const client = await rawSocket(server.port);
    client.write(listen);
    await client.until("\r\n\r\n");
    const [channel] = server.channels;
    assert.ok(channel);
    assert.equal(channel.disconnected.aborted, false);
    client.socket.destroy();
    await eventually(() => channel.disconnected.aborted);
    assert.equal(server.gateway.exchanges[0]?.disconnected.aborted, true);
    assert.equal(channel.ready, false);
    channel.send("{}");
    channel.close();
  });

  it("of one caller are limited, and one may open again when another ends", async () => {
    await using server = await serveStreams({ limits: { streams: 2 } });
    const open = async (): Promise<string> => {
      const client = await rawSocket(server.port);
      clients.push(client);
      client.write(listen);
      return client.until("\r\n\r\n");
    };
    const clients: Awaited<ReturnType<typeof rawSocket>>[] = [];
    assert.match(await open(), /^HTTP\/1\.1 200/);
    assert.match(await open(), /^HTTP\/1\.1 200/);
    assert.match(await open(), /^HTTP\/1\.1 429/);
    assert.equal(server.channels[2]?.disconnected.aborted, true);
    clients[0]?.socket.destroy();
    await eventually(() => server.channels[0]?.disconnected.aborted === true);
    assert.match(await open(), /^HTTP\/1\.1 200/);
    for (const client of clients) client.socket.destroy();
  });

  it("get keep-alive comments", async () => {
    await using server = await serveStreams({ limits: { keepAliveMs: 32 } });
    await using client = await rawSocket(server.port);
    client.write(listen);
    await client.until(/: keep-alive\n\n[\s\S]*: keep-alive\n\n/);
    server.channels[0]?.send("{}");
    await client.until("data: {}");
  });

  it("C8 of a client that does not read are limited, and end #secure.slow", async () => {
    await using server = await serveStreams({ limits: { blockedMs: 300 } });
    const client = await rawSocket(server.port);
    client.socket.pause();
    client.write(listen);
    await eventually(() => server.channels.length === 1);
    const [channel] = server.channels;
    assert.ok(channel);
    let sent = 0;
    const text = JSON.stringify("x".repeat(10_000));
    while (channel.ready && sent < 10_000) {
      channel.send(text);
      sent += 1;
      if (sent % 100 === 0) {
        await new Promise<void>((done) => {
          setImmediate(done);
        });
      }
    }
    assert.ok(sent < 10_000, "the channel never reported that the client does not read");
    assert.equal(channel.ready, false);
    await eventually(() => channel.disconnected.aborted, "the blocked client's end");
    assert.match(JSON.stringify(server.logged), /client-dropped.*blocked/);
    client.socket.destroy();
  });

  it("C8 drop a client at once when its unread output exceeds the limit", async () => {
    await using server = await serveStreams({ limits: { queuedBytes: 1_000_000 } });
    const client = await rawSocket(server.port);
    client.socket.pause();
    client.write(listen);
    await eventually(() => server.channels.length === 1);
    const [channel] = server.channels;
    assert.ok(channel);
    for (let index = 0; index < 200; index += 1) channel.send(JSON.stringify("x".repeat(100_000)));
    await eventually(() => channel.disconnected.aborted);
    assert.match(JSON.stringify(server.logged), /client-dropped.*queue-full/);
    client.socket.destroy();
  });

  it("C8 that have ended do not wait forever for a slow client, nor do plain answers", async () => {
    const large = JSON.stringify("x".repeat(8_000_000));
    for (const request of [listen, post(PING)]) {
      // A server of its own for each: the log leaves out what repeats within seconds.
      await using server = await serve(
        {
          exchange(exchange) {
            if (exchange.verb === "GET") exchange.stream();
            return { status: 200, body: large };
          },
        },
        { limits: { blockedMs: 100 } },
      );
      const client = await rawSocket(server.port);
      client.socket.pause();
      const seen = server.logged.length;
      client.write(request);
      await eventually(() => server.logged.length > seen);
      assert.match(JSON.stringify(server.logged.at(-1)), /client-dropped.*blocked/);
      client.socket.destroy();
    }
  });

  it("C8 report when the client reads again", async () => {
    await using server = await serveStreams();
    await using client = await rawSocket(server.port);
    client.socket.pause();
    client.write(listen);
    await eventually(() => server.channels.length === 1);
    const [channel] = server.channels;
    assert.ok(channel);
    let ready = 0;
    const undo = channel.onReady(() => (ready += 1));
    while (channel.ready) channel.send(JSON.stringify("x".repeat(100_000)));
    assert.equal(ready, 0);
    client.socket.resume();
    await eventually(() => ready === 1);
    assert.equal(channel.ready, true);
    undo();
  });

  it("wait for earlier responses on a pipelined connection", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = await serve({
      async exchange(exchange) {
        if (exchange.header("x-slow") !== undefined) {
          await promise;
          return { status: 200, body: '"slow"' };
        }
        exchange.stream().send('{"early":1}');
        setImmediate(resolve);
        return { status: 200, body: "{}" };
      },
    });
    await using client = await rawSocket(server.port);
    client.write(post(PING, { "x-slow": "1" }) + post(PING));
    const text = await client.until("\r\n0\r\n\r\n");
    assert.ok(text.indexOf('"slow"') < text.indexOf('{"early":1}'));
    assert.match(text, /data: \{"early":1\}\n\n[\s\S]*data: \{\}\n\n/);
  });
});

describe("an unreadable request after another one", () => {
  const statuses = (text: string): readonly string[] => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status = ""]) => status);
  const NONSENSE = "NONSENSE\r\n\r\n";
  const sent = async (text: string, options: Partial<HttpOptions> = {}): Promise<readonly string[]> => {
    await using server = await serve({ exchange: () => ({ status: 200, body: "{}" }) }, options);
    await using client = await rawSocket(server.port);
    client.write(text);
    return statuses(await client.closed());
  };

  it("does not change its answer", async () => {
    assert.deepEqual(await sent(`${post(PING)}${NONSENSE}`), ["200", "400"]);
  });

  it("does not change several answers, which come in order", async () => {
    assert.deepEqual(await sent(`${post(PING).repeat(3)}${NONSENSE}`), ["200", "200", "200", "400"]);
  });

  it("does not change an answer with Connection: close", async () => {
    assert.equal((await sent(post(PING, { connection: "close" }) + post(PING)))[0], "200");
  });

  it("does not change an answer if it is a CONNECT", async () => {
    const quick = { path: "/quick", handle: () => ({ status: 200, body: "{}" }) };
    const text = head("GET /quick HTTP/1.1", "host: 127.0.0.1") + head("CONNECT elsewhere:1 HTTP/1.1", "host: elsewhere:1");
    assert.deepEqual(await sent(text, { endpoints: [quick] }), ["200"]);
  });

  it("waits for a pending answer, whatever was answered before and after it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = await serve({
      async exchange(exchange) {
        const slow = exchange.header("x-slow") !== undefined;
        if (slow) await promise;
        return { status: 200, body: slow ? '"slow"' : '"quick"' };
      },
    });
    await using client = await rawSocket(server.port);
    client.write(post(PING) + post(PING, { "x-slow": "1" }) + post(PING) + NONSENSE);
    await client.until('"quick"');
    client.write(NONSENSE);
    await eventually(() => server.gateway.exchanges.length === 3);
    await new Promise<void>((done) => {
      setImmediate(done);
    });
    assert.equal(client.socket.destroyed, false);
    resolve();
    const text = await client.closed();
    assert.deepEqual(statuses(text), ["200", "200", "200", "400"]);
    assert.deepEqual(text.match(/"slow"|"quick"/g), ['"quick"', '"slow"', '"quick"']);
    assert.equal(server.logged.filter((one) => JSON.stringify(one).includes("request-unreadable")).length, 1);
  });

  it("logs one line, however many unreadable requests follow", async () => {
    await using server = await serve({ exchange: () => ({ status: 200, body: "{}" }) });
    for (let n = 0; n < 20; n += 1) {
      await using client = await rawSocket(server.port);
      client.write(NONSENSE);
      assert.deepEqual(statuses(await client.closed()), ["400"]);
    }
    assert.equal(server.logged.filter((one) => JSON.stringify(one).includes("request-unreadable")).length, 1);
  });

  it("waits for an answer whose client is slow to read", async () => {
    const long = "x".repeat(20_000_000);
    await using server = await serve({ exchange: ({ body }) => ({ status: 200, body: textOf(body) === '"long"' ? long : "{}" }) });
    await using client = await rawSocket(server.port);
    client.socket.pause();
    client.write(post('"long"') + post(PING) + NONSENSE);
    await eventually(() => server.gateway.exchanges.length === 2);
    client.socket.resume();
    const text = await client.closed();
    assert.deepEqual(statuses(text), ["200", "200", "400"]);
    assert.ok(text.includes(long));
  });

  it("waits for an answer whose token is being checked", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const auth: Authenticator = {
      scopes: [],
      issuers: [],
      needsResource: false,
      check: () => promise.then(() => ({ caller: { scopes: [] } })),
      metadata: () => ({}),
    };
    const answered = sent(`${post(PING)}${NONSENSE}`, { auth });
    setImmediate(resolve);
    assert.deepEqual(await answered, ["200", "400"]);
  });
});

describe("an answer that fails in the middle", () => {
  it("ends its connection", async () => {
    // As long as another, and no bytes for node:http.
    const broken = new Proxy(new Uint8Array(3), { get: (bytes, key) => Reflect.get(bytes, key) });
    await using server = await serve({ exchange: () => ({ status: 200, body: ["{", broken, "}"] }) });
    await using client = await rawSocket(server.port);
    client.write(post(PING));
    assert.doesNotMatch(await client.closed(), /\}/);
    assert.match(JSON.stringify(server.logged), /exchange-failed/);
  });
});

describe("closing", () => {
  it("refuses new requests, lets running ones finish, and ends streams", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const channels: Channel[] = [];
    const server = await serve({
      async exchange(exchange) {
        if (exchange.verb === "GET") {
          channels.push(exchange.stream());
          return { status: 200, open: true };
        }
        await promise;
        return { status: 200, body: '"done"' };
      },
    });
    await using streaming = await rawSocket(server.port);
    streaming.write(head("GET /mcp HTTP/1.1", "Host: localhost"));
    await streaming.until("\r\n\r\n");
    await using running = await rawSocket(server.port);
    running.write(post(PING));
    await eventually(() => server.gateway.exchanges.length === 2);
    await using idle = await rawSocket(server.port);
    const closing = server.door.close({ graceMs: 60_000 });
    await idle.closed();
    await assert.rejects(fetch(server.url));
    assert.equal(channels[0]?.disconnected.aborted, false);
    resolve();
    assert.match(await running.closed(), /^HTTP\/1\.1 200[\s\S]*connection: close[\s\S]*"done"$/i);
    await streaming.until("\r\n0\r\n\r\n");
    assert.equal(channels[0]?.disconnected.aborted, true);
    await closing;
  });

  it("does not cut off answers that a client is still reading, even of streams", async () => {
    const long = "x".repeat(8_000_000);
    const server = await serve({
      exchange(exchange) {
        if (exchange.header("x-stream") !== undefined) exchange.stream();
        return { status: 200, body: long };
      },
    });
    await using plain = await rawSocket(server.port);
    await using streamed = await rawSocket(server.port);
    for (const client of [plain, streamed]) client.socket.pause();
    plain.write(post(PING));
    streamed.write(post(PING, { "x-stream": "1" }));
    await eventually(() => server.gateway.exchanges.length === 2);
    await new Promise<void>((done) => {
      setImmediate(done);
    });
    const closing = server.door.close();
    for (const client of [plain, streamed]) client.socket.resume();
    assert.ok((await plain.closed()).endsWith(long));
    assert.ok((await streamed.closed()).includes(long));
    await closing;
  });

  it("sends answers that are queued behind a slow one", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = await serve({
      async exchange(exchange) {
        const slow = exchange.header("x-slow") !== undefined;
        if (slow) await promise;
        return { status: 200, body: slow ? '"slow"' : '"quick"' };
      },
    });
    await using client = await rawSocket(server.port);
    client.write(post(PING, { "x-slow": "1" }) + post(PING));
    await eventually(() => server.gateway.exchanges.length === 2);
    await new Promise<void>((done) => {
      setImmediate(done);
    });
    const closing = server.door.close({ graceMs: 60_000 });
    resolve();
    assert.deepEqual((await client.closed()).match(/"slow"|"quick"/g), ['"slow"', '"quick"']);
    await closing;
  });

  it("does not wait for requests behind a stream whose client sent a CONNECT", async () => {
    const server = await serve(
      {
        exchange(exchange) {
          if (exchange.verb !== "GET") return { status: 200, body: "{}" };
          exchange.stream();
          return { status: 200, open: true };
        },
      },
      { limits: { blockedMs: 3_600_000 } },
    );
    await using client = await rawSocket(server.port);
    const refused = head("POST /nowhere HTTP/1.1", "Host: localhost", "transfer-encoding: chunked");
    client.write(head("GET /mcp HTTP/1.1", "Host: localhost") + post(PING) + refused + "0\r\n\r\n");
    client.write(head("CONNECT elsewhere:1 HTTP/1.1", "host: elsewhere:1"));
    await client.closed();
    await server.door.close({ graceMs: 3_600_000 });
  });

  it("does not wait longer than its grace period", async () => {
    const server = await serve({ exchange: () => new Promise(() => {}) });
    await using client = await rawSocket(server.port);
    client.write(post(PING));
    await eventually(() => server.gateway.exchanges.length === 1);
    await server.door.close({ graceMs: 10 });
    await client.closed();
  });
});

/** Undoes the chunked coding, by bytes. */
function dechunk(text: string): string {
  let bytes = Buffer.from(text);
  let out = Buffer.alloc(0);
  while (bytes.length > 0) {
    const line = bytes.indexOf("\r\n");
    const size = Number.parseInt(bytes.subarray(0, line).toString(), 16);
    if (size === 0) break;
    out = Buffer.concat([out, bytes.subarray(line + 2, line + 2 + size)]);
    bytes = bytes.subarray(line + 2 + size + 2);
  }
  return out.toString();
}
