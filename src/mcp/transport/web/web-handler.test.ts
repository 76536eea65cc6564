import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { Answer, Channel, Exchange, Gateway } from "../../../core/contract/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { authenticator, hashApiKey } from "../auth/index.ts";
import { webHandler } from "./web-handler.ts";
import type { WebHandler, WebOptions } from "../http-options.ts";

type Answering = (exchange: Exchange) => Answer | Promise<Answer>;

const ACCEPT = "application/json, text/event-stream";
const JSON_HEADERS = { "content-type": "application/json", accept: ACCEPT };
const OK: Answer = { status: 200, body: ['{"a":', new TextEncoder().encode("1}")] };

const gatewayOf = (exchange: Answering): Gateway => ({
  exchange,
  connect: () => assert.fail("no connection"),
  drain: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
});

const doorOf = (answer: Answering = () => OK, options: Omit<WebOptions, "gateway"> = {}): WebHandler =>
  webHandler({ gateway: gatewayOf(answer), ...options });

const post = (init: RequestInit & { readonly duplex?: "half" } = {}, url = "http://localhost/mcp"): Request =>
  new Request(url, { method: "POST", body: "{}", ...init, headers: { ...JSON_HEADERS, ...Object.fromEntries(new Headers(init.headers)) } });

const opening =
  (open: (channel: Channel, exchange: Exchange) => void): Answering =>
  (exchange) => {
    open(exchange.stream({ "mcp-session-id": "s" }), exchange);
    return { status: 200, open: true };
  };

const readerOf = (response: Response): ReadableStreamDefaultReader<Uint8Array> => {
  assert.ok(response.body !== null);
  return response.body.getReader();
};

describe("a server mounted in an application", () => {
  it("answers completely, and passes verb, headers, body and posture on", async () => {
    const seen: unknown[] = [];
    const door = doorOf((exchange) => {
      seen.push([exchange.verb, exchange.posture, exchange.header("mcp-session-id"), new TextDecoder().decode(exchange.body)]);
      return OK;
    });
    const answer = await door.fetch(post({ headers: { "mcp-session-id": "x" } }));
    assert.deepEqual(
      [answer.status, answer.headers.get("content-type"), answer.headers.get("content-length")],
      [200, "application/json", "7"],
    );
    assert.deepEqual(await answer.json(), { a: 1 });
    await door.fetch(post({}, "http://localhost/mcp/meta"));
    await door.fetch(new Request("http://localhost/mcp", { method: "DELETE" }));
    assert.deepEqual(seen, [
      ["POST", undefined, "x", "{}"],
      ["POST", "meta", undefined, "{}"],
      ["DELETE", undefined, undefined, ""],
    ]);
  });

  it("waits for no timer or event-loop turn if its gateway does not", async () => {
    const clock = new SimulatedClock();
    for (const answer of [(): Answer => OK, async (): Promise<Answer> => OK]) {
      const door = doorOf(answer, { clock });
      const round = new Promise<"a round">((done) => {
        setImmediate(done, "a round");
      });
      assert.notEqual(await Promise.race([door.fetch(post()), round]), "a round");
    }
  });

  it("refuses unknown hosts and foreign origins, unless they are allowed #apptheory.later.origin", async () => {
    const foreign = "https://app.example/mcp";
    assert.equal((await doorOf().fetch(post({}, foreign))).status, 403);
    assert.equal((await doorOf(undefined, { allowedHosts: ["app.example"] }).fetch(post({}, foreign))).status, 200);
    assert.equal((await doorOf().fetch(post({ headers: { origin: "https://evil.example" } }))).status, 403);
    // A name that was bound to this machine anew is still the page's own.
    assert.equal((await doorOf().fetch(post({ headers: { origin: "http://evil.example" } }, "http://evil.example/mcp"))).status, 403);
  });

  it("lets pages of allowed origins preflight, call and read the session's id", async () => {
    const door = doorOf(undefined, { allowedOrigins: ["https://app.example"] });
    const headers = {
      origin: "https://app.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "x, mcp-param-a",
    };
    const preflight = await door.fetch(new Request("http://localhost/mcp", { method: "OPTIONS", headers }));
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), "https://app.example");
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /mcp-session-id.*mcp-param-a/);
    const called = await door.fetch(post({ headers: { origin: "https://app.example" } }));
    assert.match(called.headers.get("access-control-expose-headers") ?? "", /mcp-session-id/);
    assert.equal(called.headers.get("vary"), "Origin");
    assert.throws(() => doorOf(undefined, { allowedOrigins: ["app.example"] }), { code: "BAD_OPTION" });
  });

  it("refuses invalid requests, each with its status", async () => {
    const door = doorOf(undefined, { limits: { bodyBytes: 8, headers: 6 } });
    const status = async (request: Request): Promise<number> => (await door.fetch(request)).status;
    assert.equal(await status(post({}, "http://localhost/other")), 404);
    assert.equal(await status(new Request("http://localhost/mcp", { method: "PUT" })), 405);
    assert.equal(await status(post({ headers: { accept: "text/html" } })), 406);
    assert.equal(await status(new Request("http://localhost/mcp", { headers: { accept: "application/json" } })), 406);
    assert.equal(await status(post({ headers: { "content-type": "text/plain" } })), 415);
    const packed = await door.fetch(post({ headers: { "content-encoding": "gzip" } }));
    assert.equal(packed.status, 415);
    assert.match(await packed.text(), /without Content-Encoding: gzip/);
    assert.equal(await status(post({ body: '{"long":1}' })), 413);
    assert.equal(await status(post({ headers: { "content-length": "9" } })), 413);
    assert.equal(await status(post({ headers: Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`x-${n}`, "1"])) })), 431);
    const used = post();
    await used.text();
    assert.equal(await status(used), 400);
  });

  it("limits the time for a body", async () => {
    const clock = new SimulatedClock();
    const door = doorOf(undefined, { clock });
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream({ cancel: () => cancelled.resolve() });
    const answer = door.fetch(post({ body, duplex: "half" }));
    await clock.advance(30_000);
    assert.equal((await answer).status, 408);
    await cancelled.promise;
  });

  it("requires a token if there is an authenticator, and does not pass it on", async () => {
    const auth = await authenticator({ keys: [{ name: "ana", sha256: hashApiKey("secret"), scopes: ["a"] }] });
    const callers: unknown[] = [];
    const door = doorOf(
      (exchange) => {
        callers.push([exchange.caller, exchange.header("authorization")]);
        return OK;
      },
      { auth },
    );
    const refused = await door.fetch(post());
    assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, "Bearer"]);
    assert.equal((await door.fetch(post({ headers: { authorization: "Bearer wrong" } }))).status, 401);
    await door.fetch(post({ headers: { authorization: "Bearer secret" } }));
    await door.fetchAs({ principal: "bo", scopes: [] }, post());
    assert.deepEqual(callers, [
      [{ principal: "ana", scopes: ["a"] }, undefined],
      [{ principal: "bo", scopes: [] }, undefined],
    ]);
  });

  it("streams events as they are sent, and the answer last", async () => {
    const go = Promise.withResolvers<void>();
    const door = doorOf(async (exchange) => {
      exchange.stream({ "mcp-session-id": "s" }).send('{"n":1}', "e1");
      await go.promise;
      return { status: 200, body: '{"n":2}' };
    });
    const answer = await door.fetch(post());
    assert.deepEqual([answer.headers.get("content-type"), answer.headers.get("mcp-session-id")], ["text/event-stream", "s"]);
    const reader = readerOf(answer);
    assert.equal(new TextDecoder().decode((await reader.read()).value), 'id: e1\ndata: {"n":1}\n\n');
    go.resolve();
    assert.equal(new TextDecoder().decode((await reader.read()).value), 'data: {"n":2}\n\n');
    assert.equal((await reader.read()).done, true);
  });

  it("C8 reports a client that does not read, resumes when it does, and drops it beyond a limit", async () => {
    const { promise, resolve } = Promise.withResolvers<Channel>();
    const door = doorOf(opening(resolve), { limits: { queuedBytes: 200_000 } });
    const reader = readerOf(await door.fetch(post()));
    const channel = await promise;
    const part = "x".repeat(40_000);
    channel.send(part);
    assert.equal(channel.ready, true);
    channel.send(part);
    assert.equal(channel.ready, false);
    const ready = new Promise<void>((done) => {
      channel.onReady(done);
    });
    await reader.read();
    await ready;
    for (let n = 0; n < 7; n += 1) channel.send(part);
    assert.equal(channel.disconnected.aborted, true);
    await assert.rejects(async () => {
      for (;;) if ((await reader.read()).done) break;
    }, /does not read/);
  });

  it("drops a client that reads nothing for too long", async () => {
    const clock = new SimulatedClock();
    const { promise, resolve } = Promise.withResolvers<Channel>();
    const dropped: unknown[] = [];
    const door = doorOf(opening(resolve), { clock, log: (_level, data) => dropped.push(data) });
    await door.fetch(post());
    const channel = await promise;
    channel.send("x".repeat(70_000));
    await clock.advance(30_000);
    assert.equal(channel.disconnected.aborted, true);
    assert.deepEqual(dropped, [{ event: "client-dropped", transport: "web", reason: "blocked" }]);
  });

  it("notifies of a client that aborts its request or its stream", async () => {
    const left: string[] = [];
    const door = doorOf((exchange) => {
      exchange.disconnected.addEventListener("abort", () => left.push("request"));
      return new Promise(() => undefined);
    });
    const disconnected = new AbortController();
    void door.fetch(post({ signal: disconnected.signal }));
    await new Promise((done) => {
      setImmediate(done);
    });
    disconnected.abort();
    await until("the request is given up", () => left.length === 1);
    const streaming = doorOf(
      opening((channel, exchange) => {
        channel.disconnected.addEventListener("abort", () => left.push("stream"));
        exchange.disconnected.addEventListener("abort", () => left.push("its request"));
      }),
    );
    await readerOf(await streaming.fetch(post())).cancel();
    assert.deepEqual(left.toSorted(), ["its request", "request", "stream"]);
  });

  it("does not take the end of a request that was answered for its client's leaving", async () => {
    const exchanges: Exchange[] = [];
    for (const [status, answer] of [
      [200, () => OK],
      [
        500,
        () => {
          throw new Error("It failed.");
        },
      ],
    ] as const) {
      const door = doorOf((exchange) => {
        exchanges.push(exchange);
        return answer();
      });
      const ended = new AbortController();
      assert.equal((await door.fetch(post({ signal: ended.signal }))).status, status);
      // As Deno does once the response is sent.
      ended.abort();
      assert.equal(exchanges.at(-1)?.disconnected.aborted, false);
    }
  });

  it("limits streams, and one may open again when another ends", async () => {
    const door = doorOf(
      opening(() => undefined),
      { limits: { streams: 1 } },
    );
    const first = readerOf(await door.fetch(post()));
    assert.equal((await door.fetch(post())).status, 429);
    await first.cancel();
    assert.equal((await door.fetch(post())).status, 200);
  });

  it("keeps a silent stream alive, and ends it when its token expires", async () => {
    const clock = new SimulatedClock();
    const auth = await authenticator({ keys: [{ name: "ana", sha256: hashApiKey("k"), expiresAt: clock.now() + 60_000 }], clock });
    const door = doorOf(
      opening(() => undefined),
      { clock, auth },
    );
    const reader = readerOf(await door.fetch(post({ headers: { authorization: "Bearer k" } })));
    const first = reader.read();
    await clock.advance(30_000);
    assert.equal(new TextDecoder().decode((await first).value), ": keep-alive\n\n");
    await clock.advance(30_000);
    for (let done = false; !done;) ({ done } = await reader.read());
  });

  it("is healthy and ready until closed; then running requests are answered and streams end", async () => {
    let ready: boolean | string = false;
    const go = Promise.withResolvers<void>();
    const door = doorOf(
      async (exchange) => {
        if (exchange.verb === "GET") return opening(() => undefined)(exchange);
        await go.promise;
        return OK;
      },
      { ready: () => ready },
    );
    const at = async (path: string): Promise<number> => (await door.fetch(new Request(`http://localhost${path}`))).status;
    assert.deepEqual([await at("/healthz"), await at("/readyz")], [200, 503]);
    ready = "The disk failed.";
    const response = await door.fetch(new Request("http://localhost/readyz"));
    assert.deepEqual([response.status, await response.json()], [503, { status: "not ready", why: "The disk failed." }]);
    ready = true;
    assert.equal(await at("/readyz"), 200);
    const stream = readerOf(await door.fetch(new Request("http://localhost/mcp", { headers: { accept: ACCEPT } })));
    const running = door.fetch(post());
    await new Promise((done) => {
      setImmediate(done);
    });
    const closed = door.close();
    assert.deepEqual([await at("/healthz"), await at("/readyz"), (await door.fetch(post())).status], [503, 503, 503]);
    go.resolve();
    assert.equal((await running).status, 200);
    await closed;
    assert.equal((await stream.read()).done, true);
  });

  it("waits for running requests no longer than its grace period", async () => {
    const clock = new SimulatedClock();
    const door = doorOf(() => new Promise(() => undefined), { clock });
    void door.fetch(post());
    const closed = door.close({ graceMs: 1_000 });
    await clock.advance(1_000);
    await closed;
  });

  it("answers 500 without details of the failure", async () => {
    const logged: unknown[] = [];
    const door = doorOf(
      () => {
        throw new Error("secret");
      },
      { log: (_level, data) => logged.push(data) },
    );
    const answer = await door.fetch(post());
    assert.equal(answer.status, 500);
    assert.ok(!(await answer.text()).includes("secret"));
    assert.deepEqual(logged, [{ event: "exchange-failed", transport: "web", name: "Error" }]);
  });
});

describe("a mounted server on node:http requests", () => {
  const served = async (door: WebHandler, body?: unknown) => {
    const http = createServer((request, response) => void door.node(request, response, body));
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    const address = http.address();
    assert.ok(typeof address === "object" && address !== null);
    return {
      url: `http://127.0.0.1:${address.port}/mcp`,
      async [Symbol.asyncDispose]() {
        http.closeAllConnections();
        await new Promise((done) => {
          http.close(done);
        });
      },
    };
  };
  it("refuses repeated headers, whatever the application has added to them", async () => {
    const door = doorOf(() => OK);
    const http = createServer((incoming, response) => {
      incoming.headers["x-user"] = "ana";
      void door.node(incoming, response, {});
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
    const address = http.address();
    assert.ok(typeof address === "object" && address !== null);
    const { port } = address;
    const twice = ["host", `127.0.0.1:${port}`, "content-type", "application/json", "mcp-session-id", "a", "Mcp-Session-Id", "b"];
    const sent = httpRequest({ port, host: "127.0.0.1", path: "/mcp", method: "POST", headers: twice });
    const answered = once(sent, "response");
    sent.end("{}");
    const [response] = await answered;
    assert.equal(response.statusCode, 400);
    assert.match(await text(response), /sent twice/);
    http.close();
    http.closeAllConnections();
  });

  it("serves HTTP/2, where :authority takes the place of Host", async () => {
    const door = doorOf((exchange) => ({ status: 200, body: [exchange.header("host") ?? "none"] }), { allowedHosts: ["door.example"] });
    // As Fastify hands its requests on: in the shape of node:http, whose types the compatibility API of HTTP/2 has not.
    const http = createHttp2Server((incoming, response) => {
      Reflect.apply(door.node, door, [incoming, response]);
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
    const address = http.address();
    assert.ok(typeof address === "object" && address !== null);
    const client = connectHttp2(`http://127.0.0.1:${address.port}`);
    const answerTo = async (names: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
      const sent = client.request({ ":method": "POST", ":path": "/mcp", ...JSON_HEADERS, ...names });
      sent.end("{}");
      const [head]: { ":status"?: unknown }[] = await once(sent, "response");
      return [head?.[":status"], await text(sent)];
    };
    try {
      assert.deepEqual(await answerTo({ ":authority": "door.example" }), [200, "door.example"]);
      assert.deepEqual(await answerTo({ ":authority": "door.example", host: "door.example" }), [200, "door.example"]);
      assert.equal((await answerTo({ ":authority": "evil.example" }))[0], 403);
      assert.equal((await answerTo({ ":authority": "evil.example", host: "door.example" }))[0], 400);
    } finally {
      client.close();
      http.close();
    }
  });

  it("serves other endpoints next to MCP, with streams of events and of lines", async () => {
    await using door = doorOf(() => OK, {
      endpoints: [
        {
          path: "/more",
          handle(request) {
            if (request.path === "/more") return { status: 200, body: request.verb };
            const channel = request.path === "/more/lines" ? request.lines() : request.stream();
            channel.send("{\n}", undefined, undefined, "done");
            channel.close();
            return { status: 200, open: true };
          },
        },
      ],
    });
    const get = async (path: string): Promise<readonly unknown[]> => {
      const answer = await door.fetch(new Request(`http://localhost${path}`));
      return [answer.status, answer.headers.get("content-type"), await answer.text()];
    };
    assert.deepEqual((await get("/more"))[2], "GET");
    assert.deepEqual(await get("/more/events"), [200, "text/event-stream", "event: done\ndata: {\ndata: }\n\n"]);
    assert.deepEqual(await get("/more/lines"), [200, "application/x-ndjson", "{ }\n"]);
    assert.equal((await get("/moreover"))[0], 404);
    assert.equal((await door.fetch(post())).status, 200);
    assert.throws(() => doorOf(() => OK, { endpoints: [{ path: "/mcp", handle: () => OK }] }), { code: "BAD_OPTION" });
  });

  const bodies: string[] = [];
  const echoing = (): WebHandler =>
    doorOf(
      (exchange) => {
        bodies.push(new TextDecoder().decode(exchange.body));
        return OK;
      },
      { limits: { bodyBytes: 1_000 } },
    );

  it("reads the body or uses the parsed one, and limits both", async () => {
    let deep: unknown = null;
    for (let n = 0; n < 20_000; n += 1) deep = [deep];
    const statuses: number[] = [];
    for (const parsed of [undefined, { b: 1 }, '{"c":1}', Buffer.from('{"d":1}'), () => undefined, "x".repeat(1_001), deep]) {
      await using http = await served(echoing(), parsed);
      statuses.push((await fetch(http.url, { method: "POST", headers: JSON_HEADERS, body: '{"a":1}' })).status);
    }
    assert.deepEqual(bodies, ['{"a":1}', '{"b":1}', '{"c":1}', '{"d":1}', '{"a":1}']);
    assert.deepEqual(statuses.slice(0, 6), [200, 200, 200, 200, 200, 413]);
    assert.ok([400, 413].includes(statuses[6] ?? 0));
    await using http = await served(echoing());
    assert.equal((await fetch(http.url, { method: "POST", headers: JSON_HEADERS, body: "x".repeat(100_000) })).status, 413);
  });

  it("knows the peer, notices a client that aborts its stream, and has back-pressure", async () => {
    const { promise, resolve } = Promise.withResolvers<readonly [Channel, Exchange]>();
    await using http = await served(doorOf(opening((...both) => resolve(both))));
    const asking = httpRequest(http.url, { method: "POST", headers: JSON_HEADERS });
    asking.on("error", () => undefined);
    asking.end("{}");
    const [channel, exchange] = await promise;
    assert.equal(exchange.caller.peer, "127.0.0.1");
    const [response] = await once(asking, "response");
    response.pause();
    // What the client's and the server's buffers take in is bounded; then the channel says so.
    await until("the client is slow", () => {
      channel.send("x".repeat(65_536));
      return !channel.ready;
    });
    asking.destroy();
    await until("the client has disconnected", () => channel.disconnected.aborted && exchange.disconnected.aborted);
  });
});
