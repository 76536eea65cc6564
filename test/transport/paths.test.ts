// Paths with a slash at the end, or two in a row, as some clients and proxies write them.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { createServer } from "troupe/server";
import { authenticator, hashApiKey } from "troupe/transport";
import { CLIENTS, connect } from "../clients.ts";
import { HTTP_SERVERS } from "./http-servers.ts";

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};

for (const [name, place] of Object.entries(HTTP_SERVERS))
  test(`a slash at the end of a path changes nothing, ${name}`, async () => {
    const issuer = {
      issuer: "https://login.example",
      keys: { keys: [generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" })] },
    };
    const auth = await authenticator({
      keys: [{ name: "ana", sha256: hashApiKey("key") }],
      issuers: [issuer],
      resource: "https://a.example/mcp",
    });
    await using server = createServer("s", "1", { path: "/api/mcp", auth });
    await using at = await place(server);
    const post = async (path: string, headers: object = {}): Promise<number> => {
      const answer = await at.send(path, { method: "POST", headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(INITIALIZE) });
      await answer.text();
      return answer.status;
    };
    for (const path of ["/api/mcp", "/api/mcp/", "/api//mcp", "/api/mcp/meta/"]) {
      assert.equal(await post(path, { authorization: "Bearer key" }), 200, path);
      assert.equal(await post(path), 401, path);
    }
    assert.equal(await post("/api/mcpx/", { authorization: "Bearer key" }), 404);
    const metadata = "/.well-known/oauth-protected-resource";
    for (const path of ["/healthz", "/healthz/", "/readyz/", metadata, `${metadata}/`, `${metadata}/api/mcp/`]) {
      const answer = await at.send(path);
      await answer.text();
      assert.equal(answer.status, 200, path);
    }
  });

for (const which of CLIENTS)
  test(`the official client ${which.sdk}, ${which.era}, connects to an address that ends in a slash`, async () => {
    await using server = createServer("s", "1");
    server.tools.register({ name: "one" }, () => "ok");
    const { http } = await server.listen({ http: true });
    await using client = await connect({ http: `${http.url}/` }, which);
    assert.equal((await client.call("one")).text, "ok");
  });
