import type { Clock, Entropy, Gateway, HttpMount, Log, SocketMount, Caller } from "../../core/contract/index.ts";
import type { Authenticator } from "./auth/index.ts";
import type { IncomingMessage, ServerResponse } from "node:http";

export interface HttpLimits {
  /** The longest body, and the longest message of a WebSocket, in bytes. Default 4 MiB. */
  readonly bodyBytes: number;
  /** All bodies and messages that have begun and are not whole yet, together; of each what is beyond 16 KiB. Default 256 MiB. */
  readonly arrivingBytes: number;
  /** A request's head. Default 16 KiB. */
  readonly headerBytes: number;
  /** How many headers. Default 100. */
  readonly headers: number;
  /** The head must have come within this time. Default 10 s. */
  readonly headersMs: number;
  /** The whole request must have come within this time, and each message of a WebSocket. Default 30 s. */
  readonly requestMs: number;
  /** A connection without a request is closed. Default 30 s. */
  readonly idleMs: number;
  /** Connections altogether. Default 20,000. */
  readonly connections: number;
  /** Connections of one peer beyond loopback. Default 256. */
  readonly connectionsPerPeer: number;
  /** Open streams and WebSockets altogether. Default 16,384. */
  readonly streams: number;
  /** Open streams and WebSockets of one principal, or of one peer beyond loopback without any. Default 256. */
  readonly streamsPerCaller: number;
  /** A comment on each open event stream, so that nothing between takes silence for an end; a ping on each WebSocket, which must be answered before the next. Default 15 s. */
  readonly keepAliveMs: number;
  /** A client that reads nothing of its stream or WebSocket for this long is dropped. Default 30 s. */
  readonly blockedMs: number;
  /** What the client of a stream or WebSocket has not read; more drops it. Default 16 MiB. */
  readonly queuedBytes: number;
  /** Answers that were written and not read yet, of all clients together; more drops who has left most of it unread. Default 256 MiB. */
  readonly unreadBytes: number;
}

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

export interface HttpOptions {
  readonly gateway: Gateway;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Of the MCP endpoint; `/meta` is appended for the posture of that name. Default `/mcp`. */
  readonly path?: string;
  /** Who may come in. Without it callers have no principal, and the server keeps to this machine. */
  readonly auth?: Authenticator;
  /** Further names clients may use (`name` or `name:port`, `*` for any), beside loopback names and the bound address. */
  readonly allowedHosts?: readonly string[];
  /** Web origins whose pages may call and read answers (`*` for any). Without it there is no CORS. */
  readonly allowedOrigins?: readonly string[];
  /** Beyond loopback without authentication, knowingly. */
  readonly insecure?: boolean;
  /** The deprecated HTTP+SSE transport of 2024-11-05 too, at `/sse` and below the endpoint's path. Default false. */
  readonly sse?: boolean;
  /** False, or a text that says why: `/readyz` answers 503. Default: true until closed. */
  readonly ready?: () => boolean | string;
  readonly limits?: Partial<HttpLimits>;
  readonly doors?: readonly HttpMount[];
  /** WebSockets, by the same rules and within the same limits. */
  readonly upgrades?: readonly SocketMount[];
  readonly clock?: Clock;
  /** Of the ids in addresses that `sse` gives. */
  readonly entropy?: Entropy;
  readonly log?: Log;
}

export interface HttpDoor extends AsyncDisposable {
  /** `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Takes no request any more; those running get `graceMs` (default 5 s), then streams and connections end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Those of `HttpLimits` that are not about connections, which the application has. */
export type WebLimits = Pick<
  HttpLimits,
  "bodyBytes" | "arrivingBytes" | "headers" | "requestMs" | "streams" | "streamsPerCaller" | "keepAliveMs" | "blockedMs" | "queuedBytes"
>;

export interface WebOptions {
  readonly gateway: Gateway;
  /** Of the MCP endpoint, as requests carry it; `/` is taken too, since routers take their prefix away. Default `/mcp`. */
  readonly path?: string;
  /** Who may come in. Without it callers have no principal. Of an issuer it needs a `resource` or `audience`. */
  readonly auth?: Authenticator;
  /** Names clients may use (`name` or `name:port`, `*` for any), beside loopback names. */
  readonly allowedHosts?: readonly string[];
  /** Web origins whose pages may call and read answers (`*` for any). Without it there is no CORS. */
  readonly allowedOrigins?: readonly string[];
  /** The deprecated HTTP+SSE transport of 2024-11-05 too, at `/sse` and below the endpoint's path. Default false. */
  readonly sse?: boolean;
  /** False, or a text that says why: `/readyz` answers 503. Default: true until closed. */
  readonly ready?: () => boolean | string;
  readonly limits?: Partial<WebLimits>;
  readonly clock?: Clock;
  /** Of the ids in addresses that `sse` gives. */
  readonly entropy?: Entropy;
  readonly log?: Log;
}

/** Streamable HTTP, `/healthz` and `/readyz` without a listener: inside an application that has one. Its methods need no `this`. */
export interface WebDoor extends AsyncDisposable {
  /** Never rejects. Event streams are the response's body, which is not filled faster than it is read. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for a caller the application knows already: no token is looked at. */
  readonly fetchAs: (caller: Caller, request: Request) => Promise<Response>;
  /** Settles when the response has ended. `body`: as a framework has parsed it. Default: `request.body` where there is one, else it is read. */
  readonly node: (request: IncomingMessage, response: ServerResponse, body?: unknown) => Promise<void>;
  /** The same for a caller the application knows already: no token is looked at. */
  readonly nodeAs: (caller: Caller, request: IncomingMessage, response: ServerResponse, body?: unknown) => Promise<void>;
  /** Answers 503 from now on; what runs gets `graceMs` (default 5 s), then streams end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}
