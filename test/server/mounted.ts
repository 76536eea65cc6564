// A server inside applications of each framework; each has an address and a `fetch`.
import { createServer as createHttp, type RequestListener } from "node:http";
import express, { type App } from "express";
import fastify, { type FastifyInstance } from "fastify";
import { Hono } from "hono";
import { cors } from "hono/cors";
import type { Server } from "troupe/server";
import { underHono, withExpress, withFastify, withHono, withNode } from "../../examples/server/mounts.ts";
import { onLoopback } from "../on-loopback.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface Mounted extends AsyncDisposable {
  readonly url: string;
  /** Present if the application has no socket. */
  readonly fetch?: Fetch;
}

export async function listening(handler: RequestListener, path = "/mcp"): Promise<Mounted> {
  const loopback = await onLoopback(createHttp(handler));
  return { url: `${loopback.url}${path}`, [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose]() };
}

export const inProcess = (fetch: (request: Request) => Response | Promise<Response>, path = "/mcp"): Mounted => ({
  url: `http://localhost${path}`,
  fetch: async (url, init) => fetch(new Request(url, init)),
  async [Symbol.asyncDispose]() {},
});

function fastifyParsed(server: Server): FastifyInstance {
  const app = fastify();
  app.all("/mcp", (request, reply) => {
    reply.hijack();
    void server.node(request.raw, reply.raw, request.body);
  });
  return app;
}

async function fastifyListening(app: FastifyInstance): Promise<Mounted> {
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  return {
    url: `${address}/mcp`,
    async [Symbol.asyncDispose]() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

const expressParsed = (server: Server): App => express().use(express.json()).use("/mcp", server.node);

// With this environment Express does not log errors.
const quiet = (app: App): App => app.set("env", "test");

const expressUnderPrefix = (server: Server): App =>
  quiet(express()).use("/api/v1", express.Router().use("/mcp", express.json(), server.node));

function honoWithCors(server: Server): Hono {
  const app = new Hono();
  app.use("*", cors({ origin: "https://app.example", exposeHeaders: ["Mcp-Session-Id"] }));
  app.mount("/api", server.fetch);
  return app;
}

/** The framework's request handler on a Node server. */
export const ON_NODE: Readonly<Record<string, (server: Server) => Promise<Mounted>>> = {
  "node:http": (server) => listening((request, response) => void server.node(request, response)),
  "the guide's node:http": async (server) => {
    const http = withNode(server);
    return listening((request, response) => void http.emit("request", request, response));
  },
  Express: (server) => listening(quiet(withExpress(server))),
  "Express after express.json(), under a prefix it takes away": (server) => listening(quiet(expressParsed(server))),
  "Express, in a router of its own": (server) => listening(expressUnderPrefix(server), "/api/v1/mcp"),
  Fastify: (server) => fastifyListening(withFastify(server)),
  "Fastify, which parses": (server) => fastifyListening(fastifyParsed(server)),
};

export const MOUNTS: Readonly<Record<string, (server: Server) => Mounted | Promise<Mounted>>> = {
  "bare fetch": (server) => inProcess(server.fetch),
  Hono: (server) => inProcess((request) => withHono(server).fetch(request)),
  "Hono, under a prefix it takes away": (server) => inProcess((request) => underHono(server).fetch(request), "/tools/mcp"),
  "Hono, behind its own CORS": (server) => inProcess((request) => honoWithCors(server).fetch(request), "/api/mcp"),
  ...ON_NODE,
};
