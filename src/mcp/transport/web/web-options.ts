import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Clock, Entropy, Gateway, Log } from "../../../core/contract/index.ts";
import type { Authenticator } from "../auth/index.ts";
import type { HttpLimits } from "../http-options.ts";

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
