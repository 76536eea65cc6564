// Streams of a function: what is sent first, how they end, clients that disconnect, and timeouts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { elicit } from "troupe";
import { bufferedHandler, forLambda, type LambdaServer, type StreamingOptions, streamingHandler, type StreamMetadata } from "troupe/lambda";
import { createServer } from "troupe/server";
import { SimulatedClock, until } from "troupe/testing";
import * as z from "zod";
import { FakeResponseStream, fakeAwsLambda } from "./fake-awslambda.ts";
import { changed, sample } from "./samples.ts";

interface Invoked {
  readonly stream: FakeResponseStream;
  readonly ended: Promise<void>;
  readonly text: () => string;
  readonly head: () => StreamMetadata | undefined;
  readonly closed: () => boolean;
}

const invoke = (server: LambdaServer, event: unknown, options: StreamingOptions = {}, leftMs?: number): Invoked => {
  let text = "";
  let head: StreamMetadata | undefined;
  let closed = false;
  const receiver = {
    head: (metadata: StreamMetadata) => {
      head = metadata;
    },
    bytes: (chunk: Buffer) => {
      text += chunk.toString();
    },
    end: () => {
      closed = true;
    },
  };
  // Each write waits, as with a slow reader of a fast body.
  const stream = new FakeResponseStream(receiver, 1);
  const handler = streamingHandler(server, { awslambda: fakeAwsLambda, ...options });
  const context = leftMs === undefined ? {} : { getRemainingTimeInMillis: () => leftMs };
  return { stream, ended: handler(event, stream, context), text: () => text, head: () => head, closed: () => closed };
};

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

test("status and headers are sent at once, then bytes as they come, then the end", async () => {
  const body = new TransformStream<Uint8Array, Uint8Array>();
  const writer = body.writable.getWriter();
  const invoked = invoke(async () => new Response(body.readable, { status: 202, headers: { "x-a": "1" } }), sample("rest.json"));
  await until("the head", () => invoked.head() !== undefined);
  assert.deepEqual([invoked.head(), invoked.text()], [{ statusCode: 202, headers: { "x-a": "1" } }, ""]);
  for (const piece of ["one ", "two ", "three"]) {
    await writer.write(encode(piece));
    await until(piece, () => invoked.text().endsWith(piece));
    assert.equal(invoked.closed(), false);
  }
  await writer.close();
  await invoked.ended;
  assert.deepEqual([invoked.text(), invoked.closed()], ["one two three", true]);
});

test("cookies are where each kind expects them", async () => {
  const cookied = async () => new Response(null, { headers: { "set-cookie": "a=1" } });
  const headOf = async (name: "rest.json" | "function-url.json") => {
    const invoked = invoke(cookied, sample(name));
    await invoked.ended;
    return invoked.head();
  };
  assert.deepEqual(await headOf("rest.json"), { statusCode: 200, headers: {}, multiValueHeaders: { "set-cookie": ["a=1"] } });
  assert.deepEqual(await headOf("function-url.json"), { statusCode: 200, headers: {}, cookies: ["a=1"] });
});

test("a response without a body has its status, and HEAD gets no body", async () => {
  const none = invoke(async () => new Response(null, { status: 204 }), sample("rest.json"));
  await none.ended;
  assert.deepEqual([none.head()?.statusCode, none.text(), none.closed()], [204, "", true]);
  const head = invoke(async () => new Response("body"), changed("rest.json", { httpMethod: "HEAD" }));
  await head.ended;
  assert.deepEqual([head.head()?.statusCode, head.text()], [200, ""]);
});

test("a hostile event is answered 400, and why", async () => {
  const invoked = invoke(async () => new Response("never"), { requestContext: {} });
  await invoked.ended;
  assert.equal(invoked.head()?.statusCode, 400);
  assert.match(invoked.text(), /BAD_EVENT/);
});

test("a client that disconnects ends the request and the handler", async () => {
  let received: Request | undefined;
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({ start: (to) => to.enqueue(encode("hello")), cancel: () => cancelled.resolve() });
  const invoked = invoke(async (request) => {
    received = request;
    return new Response(body);
  }, sample("rest.json"));
  await until("hello", () => invoked.text() === "hello");
  invoked.stream.destroy(new Error("reset"));
  await invoked.ended;
  await cancelled.promise;
  assert.equal(received?.signal.aborted, true);
});

test("a body that fails ends the stream", async () => {
  const body = new ReadableStream({
    start: (to) => to.enqueue(encode("half")),
    pull: (to) => to.error(new Error("broken")),
  });
  const invoked = invoke(async () => new Response(body), sample("rest.json"));
  await invoked.ended;
  assert.ok(invoked.closed());
});

describe("a function whose time is nearly over", () => {
  test("aborts the request and answers in time: streaming", async () => {
    const clock = new SimulatedClock();
    let received: Request | undefined;
    const never = (request: Request): Promise<Response> => {
      received = request;
      return new Promise(() => undefined);
    };
    const invoked = invoke(never, sample("rest.json"), { clock }, 3_000);
    await until("the request", () => received !== undefined);
    await clock.advance(2_499);
    assert.equal(received?.signal.aborted, false);
    await clock.advance(1);
    await invoked.ended;
    assert.equal(received?.signal.aborted, true);
    assert.equal(invoked.head()?.statusCode, 504);
    assert.match(invoked.text(), /FUNCTION_DEADLINE.*more time/);
  });

  test("ends a stream that has started, after what was sent", async () => {
    const clock = new SimulatedClock();
    const body = new ReadableStream({ start: (to) => to.enqueue(encode("begun")) });
    const invoked = invoke(async () => new Response(body), sample("rest.json"), { clock, marginMs: 1_000 }, 3_000);
    await until("begun", () => invoked.text() === "begun");
    await clock.advance(2_000);
    await invoked.ended;
    assert.deepEqual([invoked.text(), invoked.closed()], ["begun", true]);
  });

  test("sends an error as the last event of a stream, unless an event is incomplete", async () => {
    const last = async (begun: string, event: unknown): Promise<string> => {
      const clock = new SimulatedClock();
      const body = new ReadableStream({ start: (to) => to.enqueue(encode(begun)) });
      const headers = { "content-type": "text/event-stream" };
      const invoked = invoke(async () => new Response(body, { headers }), event, { clock, marginMs: 1_000 }, 3_000);
      await until("begun", () => invoked.text() === begun);
      await clock.advance(2_000);
      await invoked.ended;
      assert.ok(invoked.closed());
      return invoked.text().slice(begun.length);
    };
    const call = JSON.stringify({ jsonrpc: "2.0", id: "seven", method: "tools/call", params: {} });
    const ended = await last("data: 1\n\n", changed("rest.json", { body: call, isBase64Encoded: false }));
    const { message, ...rest } = JSON.parse(ended.slice("data: ".length)).error;
    assert.match(ended, /"id":"seven".*\n\n$/);
    assert.match(message, /not known/);
    assert.deepEqual(rest, { code: -31504, data: { error: "FUNCTION_DEADLINE" } });
    const encoded = changed("rest.json", { body: Buffer.from(call).toString("base64"), isBase64Encoded: true });
    assert.equal(await last("data: 1\n\n", encoded), ended);
    assert.equal(await last("data: 1", changed("rest.json", { body: call, isBase64Encoded: false })), "");
    for (const body of ["{", "[]", '{"jsonrpc":"2.0","method":"notifications/x"}', `{"id":1}`])
      assert.equal(await last("data: 1\n\n", changed("rest.json", { body, isBase64Encoded: false })), "");
  });

  test("answers even if nothing else keeps the process alive", async () => {
    const code = `
      import { bufferedHandler } from "troupe/lambda";
      const answer = await bufferedHandler(() => new Promise(() => undefined), { marginMs: 0 })(
        JSON.parse(process.argv[1]), { getRemainingTimeInMillis: () => 20 });
      console.log(answer.statusCode);`;
    const args = ["--conditions=troupe-source", "--input-type=module", "-e", code, JSON.stringify(sample("http.json"))];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
    assert.equal(stdout, "504\n");
  });

  test("answers 504 to buffered requests, also during a body, and drops what comes later", async () => {
    const clock = new SimulatedClock();
    const cancelled = Promise.withResolvers<void>();
    const body = () => new ReadableStream({ start: (to) => to.enqueue(encode("half")), cancel: () => cancelled.resolve() });
    const delayed = Promise.withResolvers<Response>();
    for (const fetch of [async () => new Response(body()), () => delayed.promise]) {
      const context = { getRemainingTimeInMillis: () => 3_000 };
      const answer = bufferedHandler(fetch, { clock })(sample("http.json"), context);
      await clock.advance(2_500);
      assert.equal((await answer).statusCode, 504);
    }
    await cancelled.promise;
    const dropped = Promise.withResolvers<void>();
    delayed.resolve(new Response(new ReadableStream({ cancel: () => dropped.resolve() })));
    await dropped.promise;
  });
});

describe("a question within a buffered answer", () => {
  const through = async (message: object, path = "/mcp") => {
    let body = "";
    const handler = bufferedHandler(async (request) => {
      body = await request.text();
      return new Response("ok");
    });
    const given = JSON.stringify(message);
    const answer = await handler(changed("function-url.json", { rawPath: path, body: given, isBase64Encoded: false }));
    assert.equal(answer.statusCode, 200);
    return { given, body };
  };
  const initialize = (capabilities: object) => ({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities },
  });

  test("is not sent, since the client would read it with the answer: elicitation is reported as unsupported", async () => {
    const { body } = await through(initialize({ elicitation: {}, sampling: {}, roots: { listChanged: true }, experimental: { a: 1 } }));
    assert.deepEqual(JSON.parse(body), initialize({ experimental: { a: 1 } }));
    for (const other of [{ ...initialize({ elicitation: {} }), method: "tools/call" }, { method: "initialize" }, [1]]) {
      const { given, body: same } = await through(other);
      assert.equal(same, given);
    }
  });

  test("is refused at once, and can be avoided", async () => {
    await using server = createServer("asking", "1.0.0", forLambda);
    server.tools.register({ name: "ask" }, ({ ask, can }) =>
      can("elicitation") ? JSON.stringify(ask({ name: elicit("Your name?", z.object({ name: z.string() })) })) : "No question was asked.",
    );
    const handler = bufferedHandler(server);
    const call = async (message: object, more: object = {}) => {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more };
      return handler(changed("function-url.json", { headers, body: JSON.stringify(message), isBase64Encoded: false }));
    };
    const clientInfo = { name: "a", version: "1" };
    const { params, ...begin } = initialize({ elicitation: {} });
    const begun = await call({ ...begin, params: { ...params, clientInfo } });
    const session = { "mcp-session-id": begun.headers?.["mcp-session-id"] ?? "", "mcp-protocol-version": "2025-11-25" };
    const answer = await call({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "ask", arguments: {} } }, session);
    assert.match(answer.body, /No question was asked/);
  });
});

test("a slow call does not become a task, which would stand still once the function has answered", async () => {
  const clock = new SimulatedClock();
  await using server = createServer("slow", "1.0.0", { ...forLambda, clock });
  const done = Promise.withResolvers<string>();
  server.tools.register({ name: "slow", task: "optional" }, () => done.promise);
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "a", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "slow",
  };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow", arguments: {}, _meta: meta } };
  const answer = bufferedHandler(server)(changed("function-url.json", { headers, body: JSON.stringify(call), isBase64Encoded: false }));
  await clock.advance(1_000);
  done.resolve("dug");
  assert.match((await answer).body, /"resultType":"complete".*"dug"/);
});

describe("a stream that only listens", () => {
  const listen = { httpMethod: "GET", body: null, multiValueHeaders: null };
  const opened = async () => new Response("opened");
  const listening = changed("rest.json", { ...listen, headers: { Accept: "text/event-stream" } });
  const resuming = changed("rest.json", { ...listen, headers: { Accept: "text/event-stream", "Last-Event-ID": "7" } });
  const vague = ["*/*", undefined].map((accept) =>
    changed("rest.json", { ...listen, headers: { "Mcp-Session-Id": "s", ...(accept === undefined ? {} : { Accept: accept }) } }),
  );

  test("is refused by the server, too, if nothing is left of the reply that a client resumes", async () => {
    await using server = createServer("steps", "1.0.0", forLambda);
    server.tools.register({ name: "steps" }, ({ emit }) => {
      emit("one");
      return "ok";
    });
    const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const through = async (httpMethod: string, more: Readonly<Record<string, string>>, message?: object): Promise<Invoked> => {
      const headers = { ...json, ...more };
      const event = {
        httpMethod,
        path: "/mcp",
        headers,
        multiValueHeaders: null,
        body: message === undefined ? null : JSON.stringify(message),
        isBase64Encoded: false,
      };
      const invoked = invoke(server, changed("rest.json", event));
      await invoked.ended;
      return invoked;
    };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } };
    const begun = await through("POST", {}, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    const session = { "mcp-session-id": begun.head()?.headers["mcp-session-id"] ?? "", "mcp-protocol-version": "2025-11-25" };
    const call = { name: "steps", arguments: {}, _meta: { progressToken: 1 } };
    const streamed = (await through("POST", session, { jsonrpc: "2.0", id: 2, method: "tools/call", params: call })).text();
    const first = /^id: (.+)$/m.exec(streamed)?.[1] ?? "";
    const resumed = await through("GET", { ...session, "last-event-id": first });
    assert.deepEqual([resumed.head()?.statusCode, resumed.text().includes('"ok"')], [200, true]);
    for (const id of ["1.get", "9.nothing", "none"])
      assert.equal((await through("GET", { ...session, "last-event-id": id })).head()?.statusCode, 405, id);
  });

  test("is refused, since the function's time costs money, unless it resumes or is enabled", async () => {
    const answerTo = async (event: unknown, options: StreamingOptions = {}) => {
      const invoked = invoke(opened, event, options);
      await invoked.ended;
      return [invoked.head()?.statusCode, invoked.head()?.headers["allow"]];
    };
    assert.deepEqual(await answerTo(listening), [405, "POST, DELETE, OPTIONS"]);
    assert.deepEqual(await answerTo(resuming), [200, undefined]);
    assert.deepEqual(await answerTo(listening, { standaloneStreams: true }), [200, undefined]);
    for (const event of vague) assert.deepEqual(await answerTo(event), [405, "POST, DELETE, OPTIONS"]);
  });

  test("is always refused with buffered answers; other pages are not", async () => {
    const handler = bufferedHandler(opened);
    const page = changed("rest.json", { ...listen, headers: { Accept: "*/*" } });
    const statuses = await Promise.all([listening, resuming, ...vague, page].map(async (event) => (await handler(event)).statusCode));
    assert.deepEqual(statuses, [405, 405, 405, 405, 200]);
    // A listen of 2026-07-28 would only end with the function's time, which is billed.
    const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen" };
    const subscribing = changed("rest.json", { multiValueHeaders: null, headers });
    assert.equal((await handler(subscribing)).statusCode, 405);
    const streamed = invoke(opened, subscribing);
    await streamed.ended;
    assert.equal(streamed.head()?.statusCode, 200);
  });
});

test("without the runtime's global, streaming fails with advice", () => {
  assert.throws(() => streamingHandler(async () => new Response()), { code: "BAD_OPTION", message: /bufferedHandler/ });
});
