// Owns: options and types of the handlers, and options of servers in Lambda and AgentCore.
import { type Caller, type Clock, FUNCTION, type JsonObject, type Log, type OptionTable, TEXTS } from "../../core/contract/index.ts";
import type { EventKind, LambdaContext } from "./event.ts";

/** A server of `createServer`, anything with its `fetch`, or a bare function. */
export type LambdaServer =
  | ((request: Request) => Promise<Response> | Response)
  | {
      readonly fetch: (request: Request) => Promise<Response> | Response;
      readonly fetchAs?: (caller: Caller, request: Request) => Promise<Response>;
    };

/** What `bufferedHandler` takes besides the server. */
export interface LambdaOptions {
  /**
   * The caller, from the result of the gateway's authorizer (`authorizedCaller` reads the usual ones). Undefined, or no authorizer:
   * 401. Without this option the server authenticates by its `auth`. Needs a server with `fetchAs`.
   */
  readonly caller?: (authorizer: JsonObject) => Caller | undefined;
  /** Names that clients may use behind a load balancer (`*` for any). API Gateway and function URLs provide the name themselves. */
  readonly hosts?: readonly string[];
  /** The prefix that a custom domain's mapping adds to the path: `/tools`. The stage is removed automatically. */
  readonly basePath?: string;
  /** Requests are aborted, and answered, this many milliseconds before the function's own time limit. Default 500. */
  readonly marginMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** What `streamingHandler` takes besides the server. */
export interface StreamingOptions extends LambdaOptions {
  /**
   * Serves the GET stream of a legacy client until the function's time is over, which costs money. Default false: it is answered 405,
   * which MCP allows; a GET that resumes (`Last-Event-ID`) is served.
   */
  readonly standaloneStreams?: boolean;
  /** Default: the global of that name in the Node.js runtimes of Lambda. */
  readonly awslambda?: AwsLambda;
}

export const LAMBDA_OPTIONS: OptionTable<LambdaOptions> = {
  caller: FUNCTION,
  hosts: TEXTS,
  basePath: true,
  marginMs: true,
  clock: true,
  log: FUNCTION,
};

/** The event and caller data of a request: `sourceOf(request)`. */
export interface LambdaSource {
  readonly kind: EventKind;
  readonly sourceIp?: string;
  readonly requestId?: string;
  readonly authorizer?: JsonObject;
  /** As the platform sent it. */
  readonly event: unknown;
}

/** The part of Lambda's response streams that is used here. */
export interface ResponseStream {
  write(chunk: string | Uint8Array): boolean;
  end(done: () => void): unknown;
  on(event: "drain" | "error" | "close", run: () => void): unknown;
  off(event: "drain" | "error" | "close", run: () => void): unknown;
}

/** Status and headers of a stream. */
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

/** A handler for Lambda's response streaming. */
export type StreamHandler = (event: unknown, stream: ResponseStream, context?: LambdaContext) => Promise<void>;

/**
 * Options of `createServer` for a server that runs only in Lambda. A new environment has no sessions, so it adopts the client's id. If
 * sessions are in a store, set `unknownSession: "reject"` after these options, or an ended session would start again under its id.
 * `allowedHosts`: the handlers accept only the host that the platform provides, or one of their `hosts`; so do not listen elsewhere
 * with these options. `tasks`: a function stands still after its reply, and another environment would not know the task.
 */
export const forLambda = { unknownSession: "adopt", allowedHosts: ["*"], tasks: false } as const;

/**
 * Options of `createServer` for a container of Bedrock AgentCore Runtime, which creates session ids itself and uses an unspecified host
 * name. Source: https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/runtime-mcp-protocol-contract.html
 */
export const forAgentCore = { unknownSession: "adopt", allowedHosts: ["*"] } as const;

/** The address where AgentCore Runtime expects MCP: for the option `http` of `listen`. `insecure`: callers are authenticated outside of the container. */
export const agentCoreHttp = { host: "0.0.0.0", port: 8000, path: "/mcp", insecure: true } as const;
