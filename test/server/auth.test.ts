// Handlers receive the caller, and missing scopes are challenged, in both eras and for the official clients.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  Client as ClientV2,
  type OAuthClientProvider as ProviderV2,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { bufferedHandler } from "troupe/lambda";
import { createServer, type Server } from "troupe/server";
import { authenticator, connectInMemory, hashApiKey } from "troupe/transport";
import { CLIENTS, INFO, MODERN } from "../clients.ts";
import { authorizationServer, type AuthorizationServer } from "./authorization-server.ts";

const DOOR = "door";

async function guarded(authority: AuthorizationServer): Promise<Server> {
  const auth = await authenticator({ issuers: [{ issuer: authority.issuer, keys: authority.keys }], scopes: [DOOR], name: "Tried" });
  const server = createServer("s", "1", { auth });
  server.tools.register({ name: "who" }, ({ viewer }) => JSON.stringify(viewer));
  server.tools.register({ name: "wipe", scopes: ["admin", "wipe"] }, ({ viewer }) => `Wiped by ${viewer.principal ?? "anonymous"}.`);
  return server;
}

/** An application's token storage for a user whose browser follows redirects. */
function signedIn() {
  const saved: { tokens?: { access_token: string; token_type: string }; verifier: string; code: string; discovered?: OAuthDiscoveryState } =
    { verifier: "", code: "" };
  const provider = {
    redirectUrl: "http://127.0.0.1/back",
    clientMetadata: { redirect_uris: ["http://127.0.0.1/back"] },
    clientInformation: () => ({ client_id: "tried" }),
    tokens: () => saved.tokens,
    saveTokens(tokens: { access_token: string; token_type: string }) {
      saved.tokens = tokens;
    },
    async redirectToAuthorization(url: URL) {
      const answer = await fetch(url, { redirect: "manual" });
      saved.code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
    },
    saveCodeVerifier(verifier: string) {
      saved.verifier = verifier;
    },
    codeVerifier: () => saved.verifier,
    saveDiscoveryState(state: OAuthDiscoveryState) {
      saved.discovered = state;
    },
    discoveryState: () => saved.discovered,
  } satisfies ProviderV2;
  return { provider, code: () => saved.code };
}

interface SignedIn {
  call(tool: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Connects, and signs in if the server requires it; `call` steps up at most once. */
async function connected({ sdk, era }: (typeof CLIENTS)[number], url: string): Promise<SignedIn> {
  const { provider, code } = signedIn();
  if (sdk === "v1") {
    const transport = new HttpV1(new URL(url), { authProvider: provider });
    await assert.rejects(new ClientV1(INFO).connect(transport), { name: "Error" });
    await transport.finishAuth(code());
    const client = new ClientV1(INFO);
    const again = new HttpV1(new URL(url), { authProvider: provider });
    await client.connect(again);
    const call = async (name: string) => (await client.callTool({ name })).content;
    return { call: stepping(call, () => again.finishAuth(code())), close: () => client.close() };
  }
  const options = { versionNegotiation: { mode: era === "legacy" ? ("legacy" as const) : { pin: MODERN } } };
  const transport = new HttpV2(new URL(url), { authProvider: provider });
  await assert.rejects(new ClientV2(INFO, options).connect(transport));
  await transport.finishAuth(code());
  const client = new ClientV2(INFO, options);
  const again = new HttpV2(new URL(url), { authProvider: provider });
  await client.connect(again);
  const call = async (name: string) => (await client.callTool({ name })).content;
  return { call: stepping(call, () => again.finishAuth(code())), close: () => client.close() };
}

const stepping = (call: (name: string) => Promise<unknown>, signIn: () => Promise<void>) => async (name: string) => {
  try {
    return await call(name);
  } catch (error) {
    assert.match(String(error), /Unauthorized/);
    await signIn();
    return call(name);
  }
};

for (const which of CLIENTS)
  test(
    `the official client ${which.sdk}, ${which.era}, signs in, and steps up for a tool with more scopes #server.callers`,
    { timeout: 20_000 },
    async () => {
      await using authority = await authorizationServer();
      await using server = await guarded(authority);
      const { http } = await server.listen({ http: true });
      const client = await connected(which, http.url);
      const who = { principal: `${authority.issuer}|ana`, scopes: [DOOR] };
      assert.deepEqual(await client.call("who"), [{ type: "text", text: JSON.stringify(who) }]);
      assert.deepEqual(await client.call("wipe"), [{ type: "text", text: `Wiped by ${who.principal}.` }]);
      // The new token has the earlier scopes too, so the first call still succeeds.
      assert.deepEqual(await client.call("who"), [{ type: "text", text: JSON.stringify({ ...who, scopes: [DOOR, "admin", "wipe"] }) }]);
      assert.deepEqual(authority.requests, [DOOR, `${DOOR} admin wipe`]);
      await client.close();
    },
  );

const META = 'resource_metadata="https://app.example/.well-known/oauth-protected-resource/mcp"';

const legacyHeaders = { accept: "application/json, text/event-stream", "content-type": "application/json" };

/** The same call in either era, sent with `send`. */
async function calling(era: string, send: (init: RequestInit) => Promise<Response>, name: string): Promise<Response> {
  const ask = (headers: Readonly<Record<string, string>>, body: object): Promise<Response> =>
    send({ method: "POST", headers: { ...legacyHeaders, ...headers }, body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
  if (era === "modern") {
    const headers = { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name };
    const meta = { "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {} };
    return ask(headers, { id: 1, method: "tools/call", params: { name, _meta: meta } });
  }
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO };
  const begun = await ask({}, { id: 1, method: "initialize", params });
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  await ask(session, { method: "notifications/initialized" });
  return ask(session, { id: 2, method: "tools/call", params: { name } });
}

for (const era of ["legacy", "modern"])
  describe(`in the ${era} era`, () => {
    test("missing scopes get 403 and a challenge that names them, the granted ones and the issuer #server.callers", async () => {
      await using authority = await authorizationServer();
      const auth = await authenticator({
        issuers: [{ issuer: authority.issuer, keys: authority.keys }],
        resource: "https://app.example/mcp",
      });
      await using server = createServer("s", "1", { auth, allowedHosts: ["app.example"] });
      server.tools.register({ name: "wipe", scopes: ["admin", "wipe"] }, () => "Wiped.");
      const by = (scopes: readonly string[]) => (init: RequestInit) =>
        server.fetchAs({ principal: "ana", scopes }, new Request("https://app.example/mcp", init));
      const refused = await calling(era, by(["read", "admin", 'odd"\\']), "wipe");
      assert.equal(refused.status, 403);
      assert.equal(refused.headers.get("www-authenticate"), `Bearer error="insufficient_scope", scope="read admin wipe", ${META}`);
      assert.match(
        await refused.text(),
        /"code":-31403,"message":"This needs the scope wipe; sign in again with it\.","data":\{"scope":"wipe"\}/,
      );
      const many = await calling(era, by(Array.from({ length: 200 }, (_, at) => `scope-${at}`)), "wipe");
      assert.equal(many.headers.get("www-authenticate"), `Bearer error="insufficient_scope", scope="admin wipe", ${META}`);
      assert.match(await (await calling(era, by(["admin", "wipe"]), "wipe")).text(), /Wiped\./);

      const anonymous = await server.fetch(new Request("https://app.example/mcp", { method: "POST", headers: legacyHeaders, body: "{}" }));
      assert.deepEqual([anonymous.status, anonymous.headers.get("www-authenticate")], [401, `Bearer ${META}`]);
      const document = await server.fetch(new Request("https://app.example/.well-known/oauth-protected-resource/mcp"));
      assert.deepEqual(await document.json(), {
        resource: "https://app.example/mcp",
        authorization_servers: [authority.issuer],
        bearer_methods_supported: ["header"],
      });
    });

    test("with API keys only, the challenge names the missing scopes and no issuer #server.callers", async () => {
      const auth = await authenticator({ keys: [{ name: "ana", sha256: hashApiKey("fB7cKq0yRz5n1XwTt3LhQ9"), scopes: ["read"] }] });
      await using server = createServer("s", "1", { auth });
      server.tools.register({ name: "who" }, ({ viewer }) => `${viewer.principal} ${viewer.scopes.join()}`);
      server.tools.register({ name: "wipe", scopes: ["admin"] }, () => "Wiped.");
      const send = (init: RequestInit): Promise<Response> => {
        const request = new Request("http://localhost/mcp", init);
        request.headers.set("authorization", "Bearer fB7cKq0yRz5n1XwTt3LhQ9");
        return server.fetch(request);
      };
      assert.match(await (await calling(era, send, "who")).text(), /ana read/);
      const refused = await calling(era, send, "wipe");
      assert.deepEqual(
        [refused.status, refused.headers.get("www-authenticate")],
        [403, 'Bearer error="insufficient_scope", scope="read admin"'],
      );
    });
  });

test("a server with an issuer but no public address can listen, but not be mounted", async () => {
  await using authority = await authorizationServer();
  await using server = await guarded(authority);
  const refused = { code: "BAD_OPTION", message: /a mounted server need the resource or audience/ };
  for (const take of [() => server.fetch, () => server.fetchAs, () => server.node, () => server.nodeAs]) assert.throws(take, refused);
  assert.throws(() => bufferedHandler(server), refused);
  const { http } = await server.listen({ http: true });
  assert.equal((await fetch(http.url, { method: "POST" })).status, 401);
});

test("without HTTP, a missing scope is an error that names it #server.callers", async () => {
  await using server = createServer("s", "1");
  server.tools.register({ name: "wipe", scopes: ["admin"] }, () => "Wiped.");
  const refusalFor = async (scopes: readonly string[]): Promise<string> => {
    await using client = connectInMemory(server.gateway, { principal: "ana", scopes });
    client.send({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO },
    });
    client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "wipe" } });
    for await (const text of client.messages) if (text.includes('"id":2')) return text;
    return "";
  };
  assert.match(await refusalFor(["read"]), /"code":-31403,"message":"This needs the scope admin; sign in again with it\."/);
  assert.match(await refusalFor(["admin"]), /Wiped\./);
});
