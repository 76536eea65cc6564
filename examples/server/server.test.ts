import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer } from "node:http";
import { once } from "node:events";
import { createServer as createMcpServer } from "troupe/server";
import { testServer } from "troupe/testing";
import { withHono, withUsers, withUsersOfExpress } from "./mounts.ts";
import { authenticator } from "troupe/transport";
import { demo } from "./index.ts";
import { observed, withOwnObserver } from "./telemetry.ts";

const body = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});
const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };

test("the first server of the guide answers over HTTP", async () => {
  process.env["PORT"] = "0";
  const { http, server } = await import("./first.ts");
  try {
    const answer = await fetch(http.url, { method: "POST", headers, body });
    assert.match(await answer.text(), /"serverInfo":\{"name":"hello","version":"1\.0\.0"/);
  } finally {
    await server.close();
  }
});

test("withUsers serves known users only", async () => {
  await using server = demo(async () => undefined);
  const app = withUsers(server, (request) => request.headers.get("x-user") ?? undefined);
  const post = (more: Readonly<Record<string, string>>) =>
    app(new Request("http://localhost/mcp", { method: "POST", headers: { ...headers, ...more }, body }));
  assert.equal((await post({})).status, 401);
  assert.equal((await post({ "x-user": "ana" })).status, 200);
});

test("withUsersOfExpress serves known users only, each in their own sessions", async () => {
  await using server = demo(async () => undefined);
  const app = createServer(withUsersOfExpress(server, (request) => request.headers["x-user"]?.toString()));
  app.listen(0, "127.0.0.1");
  await once(app, "listening");
  const address = app.address();
  assert.ok(typeof address === "object" && address !== null);
  const url = `http://127.0.0.1:${address.port}/mcp`;
  const post = (more: Readonly<Record<string, string>>) =>
    fetch(url, { method: "POST", headers: { ...headers, ...more }, body: more["mcp-session-id"] === undefined ? body : ping });
  assert.equal((await post({})).status, 401);
  const opened = await post({ "x-user": "ana", authorization: "Bearer of-the-application" });
  assert.equal(opened.status, 200);
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  assert.equal((await post({ "x-user": "ana", ...session })).status, 200);
  assert.equal((await post({ "x-user": "bob", ...session })).status, 404);
  app.closeAllConnections();
  app.close();
});

test("an application passes every path on to its server", async () => {
  const issuers = [{ issuer: "https://login.example", keys: "https://login.example/jwks" }];
  const auth = await authenticator({ issuers, resource: "https://town.example/mcp" });
  await using server = createMcpServer("town", "1.0.0", { auth, sse: true });
  const app = withHono(server);
  const status = async (path: string): Promise<number> => (await app.request(`http://127.0.0.1${path}`)).status;
  const metadata = "/.well-known/oauth-protected-resource";
  for (const path of ["/mcp", "/mcp/meta", "/mcp/sse", "/sse"]) assert.equal(await status(path), 401, path);
  for (const path of ["/healthz", "/readyz", metadata, `${metadata}/mcp`, `${metadata}/mcp/meta`])
    assert.equal(await status(path), 200, path);
});

test("demo has the tools, resources and prompts of the guide", async () => {
  await using server = demo(async () => undefined);
  assert.deepEqual(
    [server.tools, server.resources, server.prompts].map((one) => one.list().map(({ name }) => name)),
    [["echo", "long_task", "area", "divide", "draw"], ["hello", "note", "pixel"], ["greet"]],
  );
});

test("servers with an observer answer", async () => {
  for (const make of [observed, withOwnObserver]) {
    await using own = make();
    await using server = await testServer(own);
    assert.deepEqual(await server.client().listTools(), []);
  }
});
