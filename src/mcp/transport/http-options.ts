// Owns: the options, limits and defaults of HTTP, with and without a listener. Does not own: enforcing them (http-bytes.ts, http-checks.ts,
// budgets.ts).
import type { Clock, Entropy, Gateway, HttpMount, Log, SocketMount, Caller } from "../../core/contract/index.ts";
import type { Authenticator } from "./auth/index.ts";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Bounds of an HTTP listener. Sizes in bytes, times in milliseconds. */
export interface HttpLimits {
  /** The longest body, and the longest message of a WebSocket, in bytes. Default 4 MiB. */
  readonly bodyBytes: number;
  /** Limit for all incomplete bodies and messages together, in bytes; the first 16 KiB of each are not counted. Default 256 MiB. */
  readonly arrivingBytes: number;
  /** The longest head of a request, in bytes. Default 16 KiB. */
  readonly headerBytes: number;
  /** The most headers of a request. Default 100. */
  readonly headers: number;
  /** The head must arrive within this time. Default 10 s. */
  readonly headersMs: number;
  /** A request, or a message of a WebSocket, must arrive completely within this time. Default 30 s. */
  readonly requestMs: number;
  /** A connection without a request is closed after this time. Default 30 s. */
  readonly idleMs: number;
  /** Connections in total. Default 20,000. */
  readonly connections: number;
  /** Connections of one peer that is not loopback. Default 256. */
  readonly connectionsPerPeer: number;
  /** Open streams and WebSockets in total. Default 16,384. */
  readonly streams: number;
  /** Open streams and WebSockets of one principal, or of one peer without a principal that is not loopback. Default 256. */
  readonly streamsPerCaller: number;
  /** Interval of the comments on open event streams, so that intermediaries do not close them, and of the pings on WebSockets, each of which must be answered before the next. Default 15 s. */
  readonly keepAliveMs: number;
  /** A client that takes longer than this to read a MiB of a response, stream or WebSocket is dropped. Default 30 s. */
  readonly blockedMs: number;
  /** Limit for output that the client of a stream or WebSocket has not read, in bytes; more drops it. Default 16 MiB. */
  readonly queuedBytes: number;
  /** Limit for unread answers of all clients together, in bytes; beyond it the client with most of it is dropped. Default 256 MiB. */
  readonly unreadBytes: number;
}

/** The default bounds of an HTTP listener. */
export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: 4_194_304,
  arrivingBytes: 268_435_456,
  headerBytes: 16_384,
  headers: 100,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 30_000,
  connections: 20_000,
  connectionsPerPeer: 256,
  streams: 16_384,
  streamsPerCaller: 256,
  keepAliveMs: 15_000,
  blockedMs: 30_000,
  queuedBytes: 16_777_216,
  unreadBytes: 268_435_456,
};

/** What `serveHttp` takes. */
export interface HttpOptions {
  readonly gateway: Gateway;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Of the MCP endpoint; `/meta` is appended for the posture of that name. Default `/mcp`. */
  readonly path?: string;
  /** Authenticates callers. Without it they have no principal, and the server listens on loopback only. */
  readonly auth?: Authenticator;
  /** Further names that clients may use (`name` or `name:port`, `*` for any), in addition to loopback names and the bound address. */
  readonly allowedHosts?: readonly string[];
  /** Web origins whose pages may call and read answers (`*` for any). Without it there is no CORS. */
  readonly allowedOrigins?: readonly string[];
  /** Allows listening beyond loopback without authentication. */
  readonly insecure?: boolean;
  /** Also serves the deprecated HTTP+SSE transport of 2024-11-05, at `/sse` and below the endpoint's path. Default false. */
  readonly sse?: boolean;
  /** False, or a text that says why: `/readyz` answers 503. Default: true until closed. */
  readonly ready?: () => boolean | string;
  readonly limits?: Partial<HttpLimits>;
  readonly endpoints?: readonly HttpMount[];
  /** WebSockets, with the same checks and limits. */
  readonly upgrades?: readonly SocketMount[];
  readonly clock?: Clock;
  /** For the ids in addresses of `sse`. */
  readonly entropy?: Entropy;
  readonly log?: Log;
}

/** A running HTTP server. */
export interface HttpListener extends AsyncDisposable {
  /** `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests; running ones get `graceMs` (default 5 s), then streams and connections end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** The limits that do not concern connections, which belong to the application. */
export type WebLimits = Pick<
  HttpLimits,
  "bodyBytes" | "arrivingBytes" | "headers" | "requestMs" | "streams" | "streamsPerCaller" | "keepAliveMs" | "blockedMs" | "queuedBytes"
>;

type SharedOptions = "gateway" | "allowedHosts" | "allowedOrigins" | "sse" | "ready" | "endpoints" | "clock" | "entropy" | "log";

/** What `webHandler` takes. */
export interface WebOptions extends Pick<HttpOptions, SharedOptions> {
  /** The path of the MCP endpoint; `/` is served too, since routers may strip their prefix. Default `/mcp`. */
  readonly path?: string;
  /** Authenticates callers. Without it they have no principal. With an issuer it needs a `resource` or `audience`. */
  readonly auth?: Authenticator;
  readonly limits?: Partial<WebLimits>;
}

/** Streamable HTTP, `/healthz` and `/readyz` without a listener: inside an application that has one. Its methods need no `this`. */
export interface WebHandler extends AsyncDisposable {
  /** Never rejects. An event stream is the response's body, with back-pressure. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for a caller that the application has authenticated: tokens are not checked. */
  readonly fetchAs: (caller: Caller, request: Request) => Promise<Response>;
  /** Settles when the response has ended. `body`: as a framework has parsed it. Default: `request.body` if it exists, else the body is read. */
  readonly node: (request: IncomingMessage, response: ServerResponse, body?: unknown) => Promise<void>;
  /** The same for a caller that the application has authenticated: tokens are not checked. */
  readonly nodeAs: (caller: Caller, request: IncomingMessage, response: ServerResponse, body?: unknown) => Promise<void>;
  /** Answers 503 from now on; running requests get `graceMs` (default 5 s), then streams end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}
