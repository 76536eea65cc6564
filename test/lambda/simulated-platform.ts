// API Gateway, a function URL and a load balancer as far as a client sees them: requests become events, on a function that may be
// another environment each time. The shapes are those of the samples.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import type { JsonObject } from "troupe/contract";
import type { EventKind, LambdaAnswer, LambdaContext, StreamHandler } from "troupe/lambda";
import { FakeResponseStream } from "./fake-awslambda.ts";
import { onLoopback } from "../on-loopback.ts";

/** A function's environments: the next request goes to the next of them. */
export type Environments =
  | { readonly buffered: readonly ((event: unknown, context?: LambdaContext) => Promise<LambdaAnswer>)[] }
  | { readonly streaming: readonly StreamHandler[] };

export interface SimulatedPlatform extends AsyncDisposable {
  readonly url: string;
  /** Answers so far, by status. */
  readonly statuses: readonly number[];
}

export async function simulatePlatform(
  kind: EventKind,
  environments: Environments,
  authorizer: JsonObject | null = null,
): Promise<SimulatedPlatform> {
  const statuses: number[] = [];
  let next = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const event = eventOf(kind, request, await buffer(request), authorizer);
    const context = { awsRequestId: `r${next}`, getRemainingTimeInMillis: () => 60_000 };
    response.once("finish", () => statuses.push(response.statusCode));
    if ("buffered" in environments) {
      const handler = environments.buffered[next++ % environments.buffered.length];
      if (handler !== undefined) give(await handler(event, context), response);
      return;
    }
    const handler = environments.streaming[next++ % environments.streaming.length];
    const stream = new FakeResponseStream({
      head({ statusCode, headers, cookies, multiValueHeaders }) {
        response.writeHead(statusCode, {
          ...headers,
          ...multiValueHeaders,
          ...(cookies === undefined ? {} : { "set-cookie": [...cookies] }),
        });
        response.flushHeaders();
      },
      bytes: (chunk) => void response.write(chunk),
      end: () => void response.end(),
    });
    response.once("close", () => stream.destroy());
    await handler?.(event, stream, context);
  };
  const loopback = await onLoopback(createServer((request, response) => void answer(request, response)));
  return { url: `${loopback.url}/mcp`, statuses, [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose]() };
}

function give(
  { statusCode, headers = {}, multiValueHeaders = {}, cookies, body, isBase64Encoded }: LambdaAnswer,
  to: ServerResponse,
): void {
  for (const [name, value] of Object.entries({ ...headers, ...multiValueHeaders })) to.setHeader(name, value);
  if (cookies !== undefined) to.setHeader("set-cookie", [...cookies]);
  to.writeHead(statusCode);
  to.end(Buffer.from(body, isBase64Encoded ? "base64" : "utf8"));
}

function eventOf(kind: EventKind, request: IncomingMessage, bytes: Buffer, authorizer: JsonObject | null): JsonObject {
  const url = new URL(request.url ?? "/", "http://stand-in");
  const method = request.method ?? "GET";
  const lists = Object.fromEntries(Object.entries(request.headersDistinct).map(([name, values]) => [name, values ?? []]));
  const headers = Object.fromEntries(Object.entries(lists).map(([name, values]) => [name, values.join(",")]));
  const common = { body: bytes.length === 0 ? null : bytes.toString("base64"), isBase64Encoded: true };
  switch (kind) {
    case "http": {
      const http = { method, path: url.pathname, sourceIp: "192.0.2.2" };
      const about = {
        http,
        stage: "prod",
        requestId: "r",
        domainName: "f.execute-api.example",
        ...(authorizer === null ? {} : { authorizer }),
      };
      return {
        version: "2.0",
        rawPath: `/prod${url.pathname}`,
        rawQueryString: url.search.slice(1),
        headers,
        requestContext: about,
        ...common,
      };
    }
    case "rest": {
      const identity = { sourceIp: "192.0.2.1" };
      const about = {
        identity,
        stage: "prod",
        requestId: "r",
        domainName: "a.execute-api.example",
        ...(authorizer === null ? {} : { authorizer }),
      };
      return { httpMethod: method, path: url.pathname, headers, multiValueHeaders: lists, requestContext: about, ...common };
    }
    default:
      return {
        httpMethod: method,
        path: url.pathname,
        multiValueHeaders: lists,
        requestContext: { elb: { targetGroupArn: "arn" } },
        ...common,
      };
  }
}
