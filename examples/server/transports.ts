import type { Source } from "troupe/contract";
import { createGateway } from "troupe/gateway";
import { createServer, type Server } from "troupe/server";
import { type Authenticator, authenticator, connectInMemory, serveHttp, serveTcp } from "troupe/transport";

/** Requires an API key. `whoami` answers with the key's name. */
export async function withKeys(KEY_SHA256: string): Promise<Server> {
  const auth = await authenticator({ keys: [{ name: "ann", sha256: KEY_SHA256, scopes: ["edit"] }] });
  const server = createServer("hello", "1.0.0", { auth });
  server.tools.register({ name: "whoami", description: "Who you are." }, ({ viewer }) => `You are ${viewer.principal}.`);
  return server;
}

export async function onAllAddresses(auth: Authenticator, port: number) {
  const server = createServer("hello", "1.0.0", { auth, allowedHosts: ["mcp.example"] });
  const { http } = await server.listen({ http: { host: "0.0.0.0", port } });
  return { server, http };
}

/** Requires a token of an OAuth issuer. */
export async function withIssuer(): Promise<Authenticator> {
  const auth = await authenticator({
    issuers: [{ issuer: "https://login.example", keys: "https://login.example/jwks" }],
    resource: "https://troupe.example/mcp",
  });
  return auth;
}

/** Handlers find `viewer.claims.roles`. */
export async function withClaims(sha256: string): Promise<Authenticator> {
  const auth = await authenticator({
    issuers: [{ issuer: "https://login.example", keys: "https://login.example/jwks" }],
    resource: "https://troupe.example/mcp",
    claims: ["roles", "tenant"],
    keys: [{ name: "ci", sha256, claims: { roles: ["responder"] } }],
  });
  return auth;
}

/** One gateway, two transports. */
export async function both(source: Source, auth: Authenticator): Promise<void> {
  const gateway = createGateway({ source, info: { name: "mine", version: "1.0.0" } }); // or createServer(…).gateway
  const http = await serveHttp({ gateway, auth }); // 127.0.0.1, a free port
  const tcp = await serveTcp({ gateway, auth });
  console.log(http.url, tcp.url);
  await Promise.all([http.close(), tcp.close()]);
}

/** A client in this process. */
export async function ping(server: Server): Promise<string | undefined> {
  await using client = connectInMemory(server.gateway, { principal: "ada", scopes: [] });
  client.send({ jsonrpc: "2.0", id: 1, method: "ping" });
  for await (const text of client.messages) return text;
  return undefined;
}
