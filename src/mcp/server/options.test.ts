import assert from "node:assert/strict";
import { createServer as httpServer } from "node:http";
import { test } from "node:test";
import { createGateway } from "../gateway/index.ts";
import { registry } from "../source/index.ts";
import { authenticator, hashApiKey, serveHttp, serveStdio, serveTcp, webHandler } from "../transport/index.ts";
import { createServer } from "./index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

/** As plain JavaScript would: no compiler has looked at it. */
function made(options: object): ReturnType<typeof createServer> {
  return createServer(
    "checked",
    "1",
    JSON.parse("{}", () => options),
  );
}

const refusedFor = (name: string) => ({ code: "BAD_OPTION", message: new RegExp(`^${name} has to be .+\\.$`) });

test("an invalid option is refused with its name and the expected value", () => {
  const wrong: readonly (readonly [name: string, options: object])[] = [
    ["rateLimit", { rateLimit: { perSecond: 1 } }],
    ["rateLimit", { rateLimit: { perSecond: 0, burst: 1 } }],
    ["rateLimit", { rateLimit: 5 }],
    ["rateLimit", { rateLimit: true }],
    ["sessionTtlMs", { sessionTtlMs: -1 }],
    ["sessionTtlMs", { sessionTtlMs: NaN }],
    ["sessionTtlMs", { sessionTtlMs: "60" }],
    ["handlerMs", { handlerMs: -5 }],
    ["profile", { profile: "nope" }],
    ["profile", { profile: "toString" }],
    ["unknownSession", { unknownSession: "nope" }],
    ["listMode", { listMode: { modern: "open" } }],
    ["allowedHosts", { allowedHosts: "app.example" }],
    ["allowedOrigins", { allowedOrigins: ["*", 1] }],
    ["limits", { limits: { messagebytes: 1 } }],
    ["limits", { limits: { depth: "64" } }],
    ["webLimits", { webLimits: { bodyBytes: -1 } }],
    ["requestStateKey", { requestStateKey: new Uint8Array(31) }],
    ["middleware", { middleware: ["logged"] }],
    ["sources", { sources: [{}] }],
    ["onError", { onError: "console" }],
    ["log", { log: console }],
    ["pageSize", { pageSize: 0 }],
    ["title", { title: 5 }],
    ["description", { description: null }],
    ["websiteUrl", { websiteUrl: new URL("https://a.example") }],
    ["icons", { icons: [{ href: "x" }] }],
    ["instructions", { instructions: 5 }],
  ];
  for (const [name, options] of wrong) assert.throws(() => made(options), refusedFor(name), JSON.stringify(options));
  const unseen = Object(createServer);
  assert.throws(() => createServer("", "1"), refusedFor("name"));
  assert.throws(() => unseen(), refusedFor("name"));
  assert.throws(() => unseen("s"), refusedFor("version"));
  for (const info of [undefined, { name: "named" }])
    assert.throws(() => Reflect.apply(createGateway, undefined, [{ source: registry({}), info }]), refusedFor("info"));
});

test("an actor given as a source is refused with a hint at cast", () => {
  assert.throws(() => made({ sources: [{ kind: "door" }] }), {
    code: "BAD_OPTION",
    message: /^sources has to be .+cast\(\{ engine, kinds \}\)/,
  });
});

test("an unknown option is refused with a suggestion", async () => {
  const unknown = (of: string, option: string, meant: string) => ({
    code: "BAD_OPTION",
    message: new RegExp(`^${of} has no option "${option}", do you mean "${meant}"\\? There are .*\\b${meant}\\b`),
  });
  assert.throws(() => made({ Auth: "x" }), unknown("createServer", "Auth", "auth"));
  assert.throws(() => made({ allowedHost: [] }), unknown("createServer", "allowedHost", "allowedHosts"));
  await using server = createServer("known", "1");
  const { gateway } = server;
  const guessed = (options: object) => Object(options);
  await assert.rejects(server.listen(guessed({ https: true })), unknown("listen", "https", "http"));
  await assert.rejects(server.listen({ http: guessed({ allowedHost: [] }) }), unknown("serveHttp", "allowedHost", "allowedHosts"));
  await assert.rejects(serveHttp(guessed({ gateway, Auth: "x" })), unknown("serveHttp", "Auth", "auth"));
  await assert.rejects(serveTcp(guessed({ gateway, aut: "x" })), unknown("serveTcp", "aut", "auth"));
  assert.throws(() => serveStdio(guessed({ gateway, As: "x" })), unknown("serveStdio", "As", "as"));
  assert.throws(() => serveStdio(guessed({ gateway, log: console })), refusedFor("log"));
  assert.throws(() => webHandler(guessed({ gateway, autth: "x" })), unknown("webHandler", "autth", "auth"));
  const info = { name: "known", version: "1" };
  assert.throws(
    () => createGateway(guessed({ source: server.source, info, rateLimits: false })),
    unknown("createGateway", "rateLimits", "rateLimit"),
  );
  assert.throws(() => createGateway(guessed({ source: server.source, info, nonsense: 1 })), {
    code: "BAD_OPTION",
    message: /^createGateway has no option "nonsense"\. There are source, /,
  });
});

test("rateLimit is { perSecond, burst } or false, as its error says", async () => {
  assert.throws(() => made({ rateLimit: { perSecond: 1 } }), /\{ perSecond, burst \}.*false/);
  await using server = createServer("limited", "1", { rateLimit: { perSecond: 0.001, burst: 2 } });
  const ask = async (): Promise<number> => (await server.fetch(initialize())).status;
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 429]);
});

test("an authenticator that was not awaited is refused", async () => {
  const options = { auth: authenticator({ keys: [{ name: "a", sha256: hashApiKey("key") }] }) };
  const forgotten = { code: "BAD_OPTION", message: /await authenticator/ };
  assert.throws(() => made(options), forgotten);
  assert.throws(() => made({ auth: null }), forgotten);
  await using server = createServer("open", "1");
  const unchecked = JSON.parse("{}", () => ({ ...options, gateway: server.gateway }));
  await assert.rejects(serveHttp(unchecked), forgotten);
  await assert.rejects(serveTcp(unchecked), forgotten);
  await assert.rejects(serveHttp({ gateway: server.gateway, limits: JSON.parse('{"bodybytes":1}') }), refusedFor("limits"));
});

test("a failure in a mounted server is answered 500, and the application continues", async () => {
  const logged: unknown[] = [];
  await using server = createServer("broken", "1", {
    ready: () => {
      throw new RangeError("of the application's own");
    },
    log: (_level, data) => void logged.push(data),
  });
  const ready = await server.fetch(new Request("http://localhost/readyz"));
  assert.equal(ready.status, 500);
  assert.doesNotMatch(await ready.text(), /application's own/);
  assert.deepEqual(logged, [{ event: "exchange-failed", transport: "web", name: "RangeError" }]);

  // A request that throws as soon as it is looked at.
  const torn = httpServer((request, response) => {
    Object.defineProperty(request, "rawHeaders", {
      get() {
        throw new TypeError("torn");
      },
    });
    void server.node(request, response);
  });
  await using loopback = await onLoopback(torn);
  assert.equal((await fetch(`${loopback.url}/mcp`)).status, 500);
  assert.equal(logged.length, 2);
});

function initialize(): Request {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
}
