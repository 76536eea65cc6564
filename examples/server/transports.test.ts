import assert from "node:assert/strict";
import { get } from "node:http";
import { test } from "node:test";
import { registry } from "troupe/source";
import { assertToolResult, remoteServer, testServer } from "troupe/testing";
import { hashApiKey } from "troupe/transport";
import { both, onAllAddresses, ping, withClaims, withIssuer, withKeys } from "./transports.ts";

const KEY = "a-key-of-ann";

test("a server with keys knows who calls, and refuses callers without a key", async () => {
  await using server = await withKeys(hashApiKey(KEY));
  const { http } = await server.listen({ http: true });
  const withKey = (key: string) => testServer(remoteServer(http.url, { headers: () => ({ authorization: `Bearer ${key}` }) }));
  await using ann = await withKey(KEY);
  assertToolResult(await ann.client().callTool("whoami"), "You are ann.");
  await using other = await withKey("another");
  await assert.rejects(other.client().initialize(), /401/);
});

test("one gateway serves HTTP and TCP", async () => {
  const auth = await withClaims(hashApiKey(KEY));
  const found = await auth.check(`Bearer ${KEY}`, "");
  assert.deepEqual("caller" in found && found.caller.claims, { roles: ["responder"] });
  await both(registry({ tools: { knock: { description: "Knocks.", work: () => "Who is there?" } } }), auth);
  assert.deepEqual((await withIssuer()).issuers, ["https://login.example"]);
});

test("beyond loopback, only callers that name an allowed host are served", async () => {
  const { server, http } = await onAllAddresses(await withClaims(hashApiKey(KEY)), 0);
  await using _closing = server;
  const status = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, authorization: `Bearer ${KEY}` };
      get({ port: new URL(http.url).port, path: "/healthz", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).once("error", reject);
    });
  assert.deepEqual([await status("mcp.example"), await status("evil.example")], [200, 403]);
});

test("a client in the same process", async () => {
  await using server = await withKeys(hashApiKey(KEY));
  assert.match((await ping(server)) ?? "", /"id":1,"result":\{/);
});
