import { createServer, type IncomingMessage } from "node:http";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { Server } from "troupe/server";

/** All paths that a server may use. Leave out those that your application serves itself. */
const PATHS = [
  "/mcp",
  "/mcp/meta",
  "/mcp/sse",
  "/sse",
  "/healthz",
  "/readyz",
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-protected-resource/mcp/meta",
];

export function withHono(server: Server): Hono {
  const app = new Hono();
  for (const path of PATHS) app.all(path, (context) => server.fetch(context.req.raw));
  return app;
}

export function underHono(server: Server): Hono {
  const app = new Hono();
  app.mount("/tools", server.fetch);
  return app;
}

export function withNode(server: Server) {
  return createServer((request, response) => void server.node(request, response));
}

export function withExpress(server: Server) {
  const app = express();
  app.all(PATHS, server.node);
  return app;
}

export function withFastify(server: Server) {
  const app = fastify();
  app.register(async (mcp) => {
    mcp.removeAllContentTypeParsers();
    mcp.addContentTypeParser("*", (_request, _payload, done) => done(null));
    for (const path of PATHS)
      mcp.all(path, (request, reply) => {
        reply.hijack();
        void server.node(request.raw, reply.raw);
      });
  });
  return app;
}

/** For an application that authenticates its users itself. */
export function withUsers(server: Server, userOf: (request: Request) => string | undefined) {
  return async (request: Request): Promise<Response> => {
    const user = userOf(request);
    if (user === undefined) return new Response("Sign in first.", { status: 401 });
    return server.fetchAs({ principal: user, scopes: ["read"] }, request);
  };
}

/** The same in Express, behind the middleware that authenticates. */
export function withUsersOfExpress(server: Server, userOf: (request: IncomingMessage) => string | undefined) {
  const app = express();
  app.all("/mcp", (request, response) => {
    const user = userOf(request);
    if (user === undefined) return response.writeHead(401).end("Sign in first.");
    return server.nodeAs({ principal: user, scopes: ["read"] }, request, response);
  });
  return app;
}

/** Closes the MCP server first, since its open streams would keep the application's server from closing. */
export function closeWith(server: Server, app: { close(): unknown }): void {
  const stop = async (): Promise<void> => {
    await server.close({ graceMs: 10_000 });
    await app.close();
  };
  process.once("SIGTERM", () => void stop());
}
