// Invalid input over the wire gets the right error code, the server stays up, and nothing is written.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import * as fc from "fast-check";
import { type Served, serveChild } from "../serve-child.ts";
import { head, post, rawSocket } from "../transport/raw-socket.ts";
import {
  at,
  type JsonObject,
  envelope,
  type HttpSession,
  isJsonObject,
  type LineClient,
  lineClient,
  modern,
  modernHeaders,
  opened,
  send,
} from "../wire.ts";

let served: Served;
let url = "";
let tcp = "";
before(async () => {
  served = await serveChild(["examples/counter-disk", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--receipts"]);
  url = String(served.ready.http);
  tcp = String(served.ready.tcp);
});
after(() => served[Symbol.asyncDispose]());

const receipt = async (): Promise<number> => {
  const { reply } = await modern(url, "tools/call", { name: "add", arguments: { by: 1 } });
  return Number(at(reply, "result", "_meta", "troupe/receipt", "seq"));
};

// No event was written between these two.
let seq = 0;
beforeEach(async () => {
  seq = await receipt();
});
afterEach(async () => {
  assert.equal(await receipt(), seq + 1, "the chain's head is where it was");
  assert.equal(served.child.exitCode, null);
});

const request = (method: unknown, params: unknown = {}, more: object = {}): JsonObject => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
  ...more,
});
const add = (args: unknown, more: object = {}): JsonObject => request("tools/call", { name: "add", arguments: args, ...more });
const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

/** Non-messages, in any era and over any transport. */
const MALFORMED: readonly (readonly [what: string, message: string | Uint8Array, code: number])[] = [
  ["an unfinished object", '{"jsonrpc":"2.0","id":1', -32_700],
  ["words", "add one, please", -32_700],
  ["two messages in one", `${JSON.stringify(add({}))}${JSON.stringify(add({}))}`, -32_700],
  ["a trailing comma", '{"jsonrpc":"2.0","id":1,"method":"ping",}', -32_700],
  ["NaN", '{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32_700],
  [
    "bytes that are no UTF-8",
    Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","x":"'),
      bytes(0xc3, 0x28, 0xff),
      Buffer.from('"}}'),
    ]),
    -32_700,
  ],
  [
    "an overlong encoding",
    Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), bytes(0xc0, 0xaf), Buffer.from('"}')]),
    -32_700,
  ],
  ["UTF-16", Buffer.from(JSON.stringify(add({})), "utf16le"), -32_700],
  ["a zero byte", Buffer.concat([Buffer.from(JSON.stringify(add({}))), bytes(0)]), -32_700],
  ["a number", "7", -32_600],
  ["a text", '"tools/call"', -32_600],
  ["null", "null", -32_600],
  ["an empty list", "[]", -32_600],
  ["an empty object", "{}", -32_600],
  ["no version", JSON.stringify({ ...add({}), jsonrpc: undefined }), -32_600],
  ["another version", JSON.stringify({ ...add({}), jsonrpc: "1.0" }), -32_600],
  ["an id that is an object", JSON.stringify({ ...add({}), id: {} }), -32_600],
  ["an id that is a list", JSON.stringify({ ...add({}), id: [1] }), -32_600],
  ["an id that is a boolean", JSON.stringify({ ...add({}), id: true }), -32_600],
  ["an id that is null", JSON.stringify({ ...add({}), id: null }), -32_600],
  ["a method that is a number", JSON.stringify({ ...add({}), method: 7 }), -32_600],
  ["a method that is null", JSON.stringify({ ...add({}), method: null }), -32_600],
  ["params that are a text", JSON.stringify({ ...add({}), params: "add" }), -32_602],
  ["params that are a list", JSON.stringify({ ...add({}), params: ["add"] }), -32_602],
  ["lists in lists", deep(50_000), -32_600],
  ["objects in objects", `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`, -32_600],
  ["arguments a thousand deep", JSON.stringify(add({ by: 1 })).replace('{"by":1}', `{"by":${deep(1_000)}}`), -32_600],
];

/** Invalid requests, the same in both eras. */
const WRONG: readonly (readonly [what: string, method: string, params: JsonObject, code: number])[] = [
  ["an unknown method", "tools/destroy", {}, -32_601],
  ["a method of Object's", "toString", {}, -32_601],
  ["__proto__ as a method", "__proto__", {}, -32_601],
  ["an empty method", "", {}, -32_600],
  ["a tool without a name", "tools/call", { arguments: {} }, -32_602],
  ["a tool whose name is a number", "tools/call", { name: 7 }, -32_602],
  ["a tool whose name is a list", "tools/call", { name: ["add"] }, -32_602],
  ["an unknown tool", "tools/call", { name: "nothing", arguments: {} }, -32_602],
  ["__proto__ as a tool", "tools/call", { name: "__proto__", arguments: {} }, -32_602],
  ["constructor as a tool", "tools/call", { name: "constructor", arguments: {} }, -32_602],
  ["a name of 100,000 letters", "tools/call", { name: "a".repeat(100_000), arguments: {} }, -32_602],
  ["arguments that are a list", "tools/call", { name: "add", arguments: [1] }, -32_602],
  ["arguments that are a text", "tools/call", { name: "add", arguments: "by" }, -32_602],
  ["arguments that are a number", "tools/call", { name: "add", arguments: 1 }, -32_602],
  ["a call's name that is a number", "tools/call", { name: "add", arguments: {}, _meta: { "troupe/callId": 7 } }, -32_602],
  ["a call's name that is too long", "tools/call", { name: "add", arguments: {}, _meta: { "troupe/callId": "x".repeat(257) } }, -32_602],
  ["an unknown prompt", "prompts/get", { name: "nothing" }, -32_602],
  ["a resource without a URI", "resources/read", {}, -32_602],
  ["a resource whose URI is a number", "resources/read", { uri: 7 }, -32_602],
  ["a cursor that never was", "tools/list", { cursor: "AAAA" }, -32_602],
  ["a cursor that is a number", "tools/list", { cursor: 7 }, -32_602],
  ["a completion of nothing", "completion/complete", {}, -32_602],
];

/** Invalid tool arguments: a tool error, which the model can read. */
const UNFIT: readonly unknown[] = [
  { by: "1" },
  { by: 1.5 },
  { by: null },
  { by: [1] },
  { by: { n: 1 } },
  { by: true },
  { by: 1e300 },
  { by: 2 ** 53 },
];

const codeOf = (reply: unknown): unknown => at(reply, "error", "code");
const assertError = (reply: unknown, code: number, what: string): void => {
  assert.equal(codeOf(reply), code, `${what}: ${JSON.stringify(reply)?.slice(0, 500)}`);
  assert.equal(at(reply, "jsonrpc"), "2.0");
  const message = at(reply, "error", "message");
  assert.ok(typeof message === "string" && message.length > 0 && message.length < 500, `${what}: a sentence`);
  assert.doesNotMatch(message, /\bat .*\.(ts|js):\d+/, "no stack");
};

describe("over a socket", () => {
  let line: LineClient;
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "nonsense", version: "1" } };
  beforeEach(async () => {
    line = await lineClient(tcp);
    await line.request("initialize", initialize);
    line.say({ jsonrpc: "2.0", method: "notifications/initialized" });
  });
  afterEach(() => line[Symbol.asyncDispose]());

  const next = async (message: unknown): Promise<unknown> => {
    const mark = line.frames.length;
    line.say(message);
    return line.until((frame) => line.frames.indexOf(frame) >= mark);
  };

  test("a non-message is an error and leaves the connection open #spec.7.json-rpc", async () => {
    for (const [what, message, code] of MALFORMED) {
      // A line end inside would split it into two lines.
      assertError(await next(message), code, what);
      assert.ok(isJsonObject(await line.request("ping")), what);
    }
  });

  test("an invalid request gets an error with its id", async () => {
    for (const [what, method, params, code] of WRONG) {
      const reply = await next(request(method, params, { id: what }));
      assertError(reply, code, what);
      assert.equal(at(reply, "id"), what);
    }
    for (const args of UNFIT) assert.equal(at(await next(add(args)), "result", "isError"), true, JSON.stringify(args));
  });

  test("only initialize or a request with an envelope may come first", async () => {
    await using fresh = await lineClient(tcp);
    for (const method of ["tools/call", "tools/list", "resources/read", "logging/setLevel"])
      assert.ok(typeof codeOf(await fresh.request(method, { name: "add", arguments: {} })) === "number", method);
    for (const params of [
      {},
      { ...initialize, protocolVersion: 7 },
      { ...initialize, capabilities: "all" },
      { ...initialize, clientInfo: 7 },
    ]) {
      await using other = await lineClient(tcp);
      const reply = await other.request("initialize", params);
      assert.ok(codeOf(reply) === -32_602 || at(reply, "result", "protocolVersion") !== undefined, JSON.stringify(reply));
    }
  });

  test("an endless line is cut off, and other connections go on", async () => {
    await using endless = await lineClient(tcp);
    const chunk = "a".repeat(1_048_576);
    const closed = new Promise<void>((done) => void endless.socket.once("close", () => done()));
    for (let count = 0; count < 8 && !endless.socket.destroyed; count += 1) endless.socket.write(chunk);
    await closed;
    assert.ok(isJsonObject(await line.request("ping")));
  });

  test("any JSON value or truncated request is answered or ignored, and the next request is served", async () => {
    const valid = JSON.stringify(request("tools/call", { name: "get", arguments: {} }, { id: "mutated" }));
    const message = fc.oneof(
      fc.jsonValue({ depthSize: "small" }).map((value) => JSON.stringify(value)),
      fc
        .record({
          jsonrpc: fc.constant("2.0"),
          id: fc.jsonValue(),
          method: fc.constantFrom("tools/call", "resources/read", "prompts/get", "completion/complete"),
          params: fc.jsonValue(),
        })
        .map((value) => JSON.stringify(value)),
      fc
        .tuple(fc.nat(valid.length), fc.nat(20), fc.string())
        .map(([from, cut, put]) => valid.slice(0, from) + put + valid.slice(from + cut)),
    );
    await fc.assert(
      fc.asyncProperty(message, async (text) => {
        line.say(text.replaceAll(/[\r\n]/g, " "));
        const reply = await line.request("ping");
        assert.deepEqual(at(reply, "result"), {});
      }),
      { numRuns: 1_000 },
    );
    for (const frame of line.frames) assert.equal(at(frame, "jsonrpc"), "2.0");
  });

  test("any bytes are answered or ignored", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (noise) => {
        line.say(noise.map((byte) => (byte === 10 || byte === 13 ? 32 : byte)));
        assert.deepEqual(at(await line.request("ping"), "result"), {});
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("in a POST", () => {
  let session: HttpSession;
  beforeEach(async () => {
    session = await opened(url);
  });

  test("a non-message is an error with status 400", async () => {
    for (const headers of [session.headers, modernHeaders("tools/call", "add")])
      for (const [what, message, code] of MALFORMED) {
        const { status, reply } = await send(url, message, headers);
        assertError(reply, code, what);
        // Invalid arguments of a method are a JSON-RPC error with status 200; in 2026-07-28 invalid params lack the envelope.
        assert.equal(status, code === -32_602 && headers === session.headers ? 200 : 400, what);
      }
  });

  test("an invalid request gets an error with its id, in both eras", async () => {
    for (const [what, method, params, code] of WRONG) {
      const legacy = await session.request(method, params);
      assertError(legacy.reply, code, `legacy, ${what}`);
      const named = params["name"] ?? params["uri"];
      const headers = modernHeaders(method, typeof named === "string" && named.length < 1_000 ? named : undefined);
      // A name that cannot be a header cannot be sent by a client of that era.
      if (method === "" || (typeof named === "string" && named.length >= 1_000)) continue;
      const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
      const { reply, status } = await send(url, request(method, { ...params, _meta: { ...envelope(), ...meta } }), headers);
      assert.ok(codeOf(reply) === code || codeOf(reply) === -32_020, `modern, ${what}: ${JSON.stringify(reply)}`);
      assert.ok(status === 200 || (status >= 400 && status < 500), `${what}: ${status}`);
    }
    for (const args of UNFIT) {
      assert.equal(at((await session.request("tools/call", { name: "add", arguments: args })).reply, "result", "isError"), true);
      assert.equal(at((await modern(url, "tools/call", { name: "add", arguments: args })).reply, "result", "isError"), true);
    }
  });

  test("an envelope that is missing, incomplete or in conflict with the headers is refused", async () => {
    const call = { name: "add", arguments: {} };
    const full = envelope();
    const headers = modernHeaders("tools/call", "add");
    const cases: readonly (readonly [what: string, body: JsonObject, headers: Record<string, string>, code: number])[] = [
      ["no envelope", request("tools/call", call), headers, -32_602],
      ["an envelope that is a text", request("tools/call", { ...call, _meta: "2026-07-28" }), headers, -32_602],
      [
        "capabilities that are a list",
        request("tools/call", { ...call, _meta: { ...full, "io.modelcontextprotocol/clientCapabilities": [] } }),
        headers,
        -32_602,
      ],
      [
        "a version of tomorrow",
        request("tools/call", { ...call, _meta: { ...full, "io.modelcontextprotocol/protocolVersion": "2099-01-01" } }),
        { ...headers, "mcp-protocol-version": "2099-01-01" },
        -32_022,
      ],
      [
        "another version in the header",
        request("tools/call", { ...call, _meta: full }),
        { ...headers, "mcp-protocol-version": "2025-11-25" },
        -32_020,
      ],
      [
        "another method in the header",
        request("tools/call", { ...call, _meta: full }),
        { ...headers, "mcp-method": "tools/list" },
        -32_020,
      ],
      ["another name in the header", request("tools/call", { ...call, _meta: full }), { ...headers, "mcp-name": "get" }, -32_020],
      [
        "no method in the header",
        request("tools/call", { ...call, _meta: full }),
        { "mcp-protocol-version": "2026-07-28", "mcp-name": "add" },
        -32_020,
      ],
    ];
    for (const [what, body, given, code] of cases) {
      const { reply, status } = await send(url, body, given);
      assertError(reply, code, what);
      assert.equal(status, 400, what);
    }
  });

  test("an unknown session id is 404, an invalid one 400", async () => {
    for (const id of ["unknown", "../../etc/passwd", "%00", "a".repeat(4_000), "__proto__"]) {
      const { status } = await send(url, request("tools/call", { name: "add", arguments: {} }), {
        ...session.headers,
        "mcp-session-id": id,
      });
      assert.equal(status, 404, id);
    }
    const none = await send(url, request("tools/call", { name: "add", arguments: {} }), { "mcp-protocol-version": "2025-11-25" });
    assert.equal(none.status, 400);
  });

  test("no JSON value makes the server fail #secure.stacks #spec.7.errors", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ depthSize: "small" }), fc.constantFrom("legacy", "modern"), async (value, era) => {
        const { status } = await send(url, JSON.stringify(value), era === "legacy" ? session.headers : modernHeaders("tools/call", "get"));
        assert.ok(status < 500, `${status} for ${JSON.stringify(value)}`);
      }),
      { numRuns: 400 },
    );
  });
});

const port = (): number => Number(new URL(url).port);
const withHead = (...lines: readonly string[]): string =>
  head("POST /mcp HTTP/1.1", "host: 127.0.0.1", "content-type: application/json", "accept: application/json, text/event-stream", ...lines);

const statusOf = async (body: string | Uint8Array): Promise<number> => {
  await using socket = await rawSocket(port());
  socket.write(body);
  const text = await socket.until(/\r\n\r\n/);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
};

describe("HTTP framing", () => {
  const message = JSON.stringify(request("tools/call", { name: "add", arguments: {}, _meta: envelope() }));
  const good = { ...modernHeaders("tools/call", "add") };
  const modernLines = Object.entries(good).map(([name, value]) => `${name}: ${value}`);

  test("that is malformed, duplicated or foreign is refused with its status", async () => {
    const length = `content-length: ${Buffer.byteLength(message)}`;
    const cases: readonly (readonly [what: string, payload: string | Uint8Array, ...status: readonly number[]])[] = [
      ["no HTTP at all", "add one, please\r\n\r\n", 400],
      ["no host", head("POST /mcp HTTP/1.1", "content-type: application/json", length, ...modernLines) + message, 400],
      ["two hosts", withHead("host: 127.0.0.1", length, ...modernLines) + message, 400],
      ["somebody else's host", post(message, { ...good, host: "evil.example" }), 403, 421],
      ["somebody else's origin", post(message, { ...good, origin: "https://evil.example" }), 403],
      ["two lengths", withHead(length, "content-length: 5", ...modernLines) + message, 400],
      ["a length and chunks", withHead(length, "transfer-encoding: chunked", ...modernLines) + message, 400],
      ["a length that is a word", withHead("content-length: much", ...modernLines) + message, 400],
      ["a negative length", withHead("content-length: -1", ...modernLines) + message, 400],
      ["a body too large", withHead("content-length: 99999999", ...modernLines), 413],
      ["a head too large", withHead(`x-big: ${"a".repeat(100_000)}`, length) + message, 431],
      ["too many headers", withHead(...Array.from({ length: 300 }, (_, index) => `x-${index}: 1`), length) + message, 431, 400],
      ["a chunk that is no chunk", withHead("transfer-encoding: chunked", ...modernLines) + "zz\r\nadd\r\n0\r\n\r\n", 400],
      ["another verb", head("PUT /mcp HTTP/1.1", "host: 127.0.0.1", "content-length: 0"), 405],
      ["an unknown verb", head("DESTROY /mcp HTTP/1.1", "host: 127.0.0.1", "content-length: 0"), 400, 405, 501],
      ["another path", post(message, good, "/admin"), 404],
      ["a path out of the root", post(message, good, "/../../etc/passwd"), 404],
      ["another media type", post(message, { ...good, "content-type": "text/plain" }), 415],
      ["a client that takes no JSON", post(message, { ...good, accept: "text/html" }), 406],
      ["two session ids", withHead("mcp-session-id: a", "mcp-session-id: b", length) + message, 400],
      ["a header with a line in it", `${withHead(length, ...modernLines).slice(0, -2)}x: a\u0000b\r\n\r\n${message}`, 400],
    ];
    for (const [what, payload, ...statuses] of cases) {
      const status = await statusOf(payload);
      assert.ok(statuses.includes(status), `${what}: ${status}, not ${statuses.join(" or ")}`);
    }
  });

  test("that ends early is no request", async () => {
    const whole = post(message, good);
    for (const cut of [10, 60, whole.length - message.length - 2, whole.length - 20, whole.length - 1]) {
      await using socket = await rawSocket(port());
      socket.write(whole.slice(0, cut));
      socket.end();
      const text = await socket.closed();
      assert.doesNotMatch(text, /200 OK/, `cut at ${cut}`);
    }
  });

  test("of random bytes gets an error or no answer #spec.7.errors", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (noise) => {
        await using socket = await rawSocket(port());
        socket.write(noise);
        socket.end();
        const text = await socket.closed();
        assert.ok(text === "" || /^HTTP\/1\.1 4\d\d /.test(text), text.slice(0, 200));
      }),
      { numRuns: 300 },
    );
  });
});
