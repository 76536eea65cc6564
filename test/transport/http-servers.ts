// A server with its own listener, and inside an application.
import { createServer as createHttp } from "node:http";
import type { Server } from "troupe/server";
import type { HttpLimits } from "troupe/transport";
import { onLoopback } from "../on-loopback.ts";

export type Send = (path: string, init?: RequestInit) => Promise<Response>;

export interface HttpEndpoint extends AsyncDisposable {
  readonly send: Send;
  /** Absent if the server is called in this process. */
  readonly port?: number;
}

/** The ways in which a server receives HTTP requests. */
export const HTTP_SERVERS: Readonly<Record<string, (server: Server, limits?: Partial<HttpLimits>) => Promise<HttpEndpoint>>> = {
  async "a listener"(server, limits = {}) {
    const { http } = await server.listen({ http: { limits } });
    return { port: http.port, send: (path, init) => fetch(new URL(path, http.url), init), [Symbol.asyncDispose]: async () => undefined };
  },
  async fetch(server) {
    return {
      send: (path, init) => server.fetch(new Request(new URL(path, "http://localhost"), init)),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
  async "node:http"(server) {
    const http = createHttp((request, response) => void server.node(request, response));
    const { port, url, ...loopback } = await onLoopback(http);
    return { port, send: (path, init) => fetch(`${url}${path}`, init), ...loopback };
  },
};
