import { createServer } from "node:http";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import type { Server } from "troupe/server";

export function withHono(server: Server): Hono {
  const app = new Hono();
  app.all("/mcp", (context) => server.fetch(context.req.raw));
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
  app.use(express.json());
  app.use("/mcp", server.node);
  return app;
}

export function withFastify(server: Server) {
  const app = fastify();
  app.all("/mcp", (request, reply) => {
    reply.hijack();
    void server.node(request.raw, reply.raw, request.body);
  });
  return app;
}

/** An application that knows its user. */
export function withUsers(server: Server, userOf: (request: Request) => string | undefined) {
  return async (request: Request): Promise<Response> => {
    const user = userOf(request);
    if (user === undefined) return new Response("Sign in first.", { status: 401 });
    return server.fetchAs({ principal: user, scopes: ["read"] }, request);
  };
}
