import type { Bag, Caller, Clock, Log } from "../../core/contract/index.ts";
import type { EventKind, LambdaContext } from "./arrived.ts";

/** What answers: a server of `createServer`, or anything with its `fetch`; a bare function too. */
export type LambdaServer =
  | ((request: Request) => Promise<Response> | Response)
  | {
      readonly fetch: (request: Request) => Promise<Response> | Response;
      readonly fetchAs?: (caller: Caller, request: Request) => Promise<Response>;
    };

export interface LambdaOptions {
  /**
   * Who calls, by what the gateway's authorizer left (`authorizedCaller` reads the usual ones). Undefined, or no authorizer: 401.
   * Without this option the server finds out itself, by its `auth`. Needs a server with `fetchAs`.
   */
  readonly caller?: (authorizer: Bag) => Caller | undefined;
  /** Names clients may use behind a load balancer (`*` for any). API Gateway and function URLs say the name themselves. */
  readonly hosts?: readonly string[];
  /** What a custom domain's mapping puts before the path: `/tools`. The stage goes by itself. */
  readonly basePath?: string;
  /** Requests are aborted, and answered, so many milliseconds before the function would be. Default 500. */
  readonly marginMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

export interface StreamingOptions extends LambdaOptions {
  /**
   * A legacy client's GET stream is held open until the function's time is over, and paid for. Default false: it is answered 405,
   * which MCP allows; a GET that resumes (`Last-Event-ID`) is served.
   */
  readonly standaloneStreams?: boolean;
  /** Default: the global of that name, which the Node.js runtimes of Lambda have. */
  readonly awslambda?: AwsLambda;
}

/** What came with a request, beside it: `sourceOf(request)`. */
export interface LambdaSource {
  readonly kind: EventKind;
  readonly sourceIp?: string;
  readonly requestId?: string;
  readonly authorizer?: Bag;
  /** As it came. */
  readonly event: unknown;
}

/** Of Lambda's own response streams, what is used here. */
export interface ResponseStream {
  write(chunk: string | Uint8Array): boolean;
  end(done: () => void): unknown;
  on(event: "drain" | "error" | "close", run: () => void): unknown;
  off(event: "drain" | "error" | "close", run: () => void): unknown;
}

/** Status and headers, before the bytes. */
export interface StreamMetadata {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  /** HTTP APIs and function URLs. */
  readonly cookies?: readonly string[];
  /** REST APIs. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
}

/** The runtime's global. Source: https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html */
export interface AwsLambda {
  streamifyResponse(handler: StreamHandler): StreamHandler;
  readonly HttpResponseStream: { from(stream: ResponseStream, metadata: StreamMetadata): ResponseStream };
}

export type StreamHandler = (event: unknown, stream: ResponseStream, context?: LambdaContext) => Promise<void>;
