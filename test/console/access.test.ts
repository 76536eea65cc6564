// Access to the console's API: every route, and attacks from a page of another site.
import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { describe, test } from "node:test";
import * as z from "zod";
import { ALL_ROUTES } from "../../src/bridges/console/all-routes.ts";
import { type ConsoleAssets, consoleFor, engineOperations, engineReader } from "../../src/bridges/console/index.ts";
import { actor } from "../../src/core/actor/index.ts";
import { sha256Hex } from "../../src/core/platform/index.ts";
import { serveActors } from "../../src/mcp/server/index.ts";
import { authenticator } from "../../src/mcp/transport/index.ts";
import { Console, TOKEN } from "./requests.ts";

const HTML = "<script>alert(1)</script>";
const ROUTES = [...ALL_ROUTES.map(({ verb, path }) => ({ verb, path })), { verb: "GET" as const, path: "/openapi.json" }];
/** A path of a route: `/actors/a/b`. */
const pathOf = (path: string): string => path.replaceAll(/:\w+/g, "a");

const codeOf = (json: object): unknown => Object(json)["error"]?.code;

const note = actor("note", {
  description: HTML,
  per: "shared",
  state: z.object({ text: z.string().default(HTML) }),
  tools: {
    write: { description: HTML, input: z.object({ text: z.string() }), run: ({ state, args }) => void (state.text = args.text) },
  },
});

const page: ConsoleAssets = {
  find: (path) =>
    path.startsWith("/assets/") ? undefined : { type: "text/html; charset=utf-8", body: Buffer.from("<main>"), immutable: false },
};

const KEYS = { operator: "operators-key-0123456789", other: "others-key-0123456789abc" };

/** A server with MCP and the console. `signIn`: its callers have keys, and the console no token. */
async function serve(signIn = false) {
  const auth = await authenticator({
    keys: [
      { name: "operator", sha256: sha256Hex(KEYS.operator), scopes: ["troupe:operate"] },
      { name: "other", sha256: sha256Hex(KEYS.other), scopes: ["play"] },
    ],
  });
  const served = await serveActors({ kinds: [note], ...(signIn && { auth }) });
  const { engine, server } = served;
  const mounts = consoleFor({
    about: { name: HTML, version: "1", engine: "memory", development: true, docs: "docs", mcp: "/mcp" },
    reader: engineReader(() => engine),
    running: () => ({ engine, kinds: [note], indexes: [], source: server.source }),
    operate: engineOperations({ engine, kinds: [note] }),
    now: () => 0,
    assets: page,
    ...(!signIn && { token: TOKEN }),
  });
  const { http } = await server.listen({ http: { endpoints: mounts } });
  await engine.call({ to: note.id(HTML), action: "tools/write", args: { text: HTML } });
  return { served, port: http.port };
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends the path unchanged: `fetch` would normalise it, and set the host. */
const send = (port: number, path: string, { method = "GET", headers = {}, body }: Sent = {}): Promise<Reply> =>
  new Promise((done, failed) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path, method, headers: { connection: "close", ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => done({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on("error", failed);
    sent.end(body);
  });

const TOKEN_HEADER = { authorization: `Bearer ${TOKEN}` };
const JSON_HEADER = { "content-type": "application/json" };

describe("the console's API authenticates its callers", () => {
  for (const { verb, path } of ROUTES)
    test(`${verb} ${path} needs the token of this start, or the scope`, async () => {
      const console = new Console();
      const body = verb === "POST" ? { body: "{}" } : {};
      for (const headers of [
        {},
        { authorization: "Bearer " },
        { authorization: `Bearer ${TOKEN}x` },
        { authorization: `Basic ${TOKEN}` },
      ]) {
        const { status, json } = await console.request(verb, pathOf(path), { headers, ...body });
        assert.deepEqual([status, codeOf(json)], [401, "UNAUTHENTICATED"], JSON.stringify(headers));
      }
      // A server without authentication and without a token refuses everyone.
      const guarded = new Console({ token: null });
      for (const scopes of [[], ["operate"], ["troupe:operate2", "play"]]) {
        const { status, json } = await guarded.request(verb, pathOf(path), { headers: TOKEN_HEADER, caller: { scopes }, ...body });
        assert.deepEqual([status, codeOf(json)], [403, "SCOPE"], scopes.join());
      }
    });

  test("a key with the scope signs in; one without it, or a token of another mode, does not", async () => {
    const { served, port } = await serve(true);
    await using _ = served;
    const statusFor = async (key: string): Promise<number> =>
      (await send(port, "/console/api", { headers: { authorization: `Bearer ${key}` } })).status;
    assert.deepEqual([await statusFor(KEYS.operator), await statusFor(KEYS.other), await statusFor(TOKEN)], [200, 403, 401]);
    assert.equal((await send(port, "/console/api")).status, 401);
    // The page contains no data, so it is served without a key and prompts for one.
    assert.equal((await send(port, "/console")).status, 200);
  });
});

describe("the console in a browser", () => {
  test("other hosts and other sites are refused before any route, whatever token they send", async () => {
    const { served, port } = await serve();
    await using _ = served;
    const status = async (headers: Readonly<Record<string, string>>, path = "/console/api"): Promise<number> =>
      (await send(port, path, { headers: { ...TOKEN_HEADER, ...headers } })).status;
    assert.equal(await status({}), 200);
    for (const path of ["/console/api", "/console", "/console/actors"]) {
      assert.equal(await status({ host: "rebound.example" }, path), 403, path);
      assert.equal(await status({ origin: "https://evil.example" }, path), 403, path);
      assert.equal(await status({ origin: "null" }, path), 403, path);
    }
  });

  test("a form of another site cannot post: wrong origin and content type, and no token", async () => {
    const { served, port } = await serve();
    await using _ = served;
    const path = `/console/api/actors/note/${encodeURIComponent(HTML)}/stop`;
    const body = '{"reason":"a form"}';
    const post = (headers: Readonly<Record<string, string>>): Promise<Reply> => send(port, path, { method: "POST", headers, body });
    assert.equal((await post(JSON_HEADER)).status, 401);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"])
      assert.equal((await post({ ...TOKEN_HEADER, "content-type": type })).status, 400, type);
    assert.equal((await post({ ...TOKEN_HEADER, ...JSON_HEADER, origin: "https://evil.example" })).status, 403);
    assert.equal((await served.engine.read(note.id(HTML)))?.status, "live");
    assert.equal((await post({ ...TOKEN_HEADER, ...JSON_HEADER })).status, 200);
  });

  test("every answer forbids framing, sniffing and foreign scripts", async () => {
    const { served, port } = await serve();
    await using _ = served;
    for (const [path, headers] of [
      ["/console", {}],
      ["/console/assets/none.js", {}],
      ["/console/api", TOKEN_HEADER],
      ["/console/api", {}],
      ["/console/api/nothing", TOKEN_HEADER],
    ] as const) {
      const { headers: sent } = await send(port, path, { headers });
      assert.match(String(sent["content-security-policy"]), /default-src 'none'.*frame-ancestors 'none'/, path);
      assert.doesNotMatch(String(sent["content-security-policy"]), /unsafe|\*|https?:/, path);
      assert.deepEqual(
        [sent["x-frame-options"], sent["x-content-type-options"], sent["referrer-policy"], sent["cross-origin-opener-policy"]],
        ["DENY", "nosniff", "no-referrer", "same-origin"],
        path,
      );
      assert.equal(sent["access-control-allow-origin"], undefined);
    }
  });

  test("scripts in names, states, ids and errors are sent as JSON, never as HTML", async () => {
    const { served, port } = await serve();
    await using _ = served;
    const key = encodeURIComponent(HTML);
    for (const path of [
      "",
      "/actors",
      `/actors/note/${key}`,
      `/actors/note/${key}/surface`,
      `/actors/note/${key}/events`,
      `/actors/${key}/${key}`,
      `/${key}`,
      `/actors?kind=${key}`,
    ]) {
      const { headers, text } = await send(port, `/console/api${path}`, { headers: TOKEN_HEADER });
      assert.equal(headers["content-type"], "application/json", path);
      assert.ok(typeof JSON.parse(text) === "object", path);
    }
  });

  test("HEAD, OPTIONS and other methods disclose nothing", async () => {
    const { served, port } = await serve();
    await using _ = served;
    for (const path of ["/console", "/console/api", "/console/api/actors"])
      for (const method of ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE"]) {
        const { status, text } = await send(port, path, { method });
        assert.ok(status === 204 || status === 401 || status === 405, `${method} ${path}: ${status}`);
        assert.doesNotMatch(text, /note|live/);
      }
  });

  test("paths cannot escape the console's files", async () => {
    const { served, port } = await serve();
    await using _ = served;
    for (const path of [
      "/console/../../etc/passwd",
      "/console/%2e%2e/%2e%2e/package.json",
      "/console/assets/..%2f..%2fpackage.json",
      "/console/assets/%00",
      "/console\\..\\package.json",
      "//console/../mcp",
    ])
      assert.doesNotMatch((await send(port, path)).text, /root:|"troupe"|"jsonrpc":"2.0","result"/, path);
    for (const path of ["/console/api/%", "/console/api/actors/%zz/x", "/console/api/actors//", "/console/api/actors/a/b/c/d/e"])
      assert.equal((await send(port, path, { headers: TOKEN_HEADER })).status, 404, path);
    // However the path is written, it belongs to the API, which needs the token.
    for (const path of ["/console/api/", "/console/api//actors", "/console//api/actors", "/console/api/./actors"])
      assert.doesNotMatch((await send(port, path)).text, /"items"|"kinds"/, path);
  });

  test("large, deep and malformed bodies are refused", async () => {
    const { served, port } = await serve();
    await using _ = served;
    const post = (body: string): Promise<Reply> =>
      send(port, "/console/api/receipts/check", { method: "POST", headers: { ...TOKEN_HEADER, ...JSON_HEADER }, body });
    const nested = (depth: number): string => `{"receipt":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    for (const body of ["", "[]", "null", "{", '"x"', nested(100), nested(100_000), `{"x":[${"0,".repeat(500_000)}0]}`])
      assert.equal((await post(body)).status, 400, body.slice(0, 40));
    const large = await post(`{"x":"${"x".repeat(5_000_000)}"}`).catch((error: unknown) => error);
    assert.ok(large instanceof Error || Object(large)["status"] === 413);
  });

  test("the MCP endpoint neither requires nor accepts the console's token", async () => {
    const { served, port } = await serve();
    await using _ = served;
    const headers = { ...JSON_HEADER, accept: "application/json, text/event-stream" };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } },
    });
    assert.equal((await send(port, "/mcp", { method: "POST", headers, body })).status, 200);
    const { served: guarded, port: closed } = await serve(true);
    await using _guarded = guarded;
    assert.equal((await send(closed, "/mcp", { method: "POST", headers: { ...headers, ...TOKEN_HEADER }, body })).status, 401);
  });
});
