// Owns: `webHandler`: HTTP inside an application that listens itself. Does not own: requests (fetch-handler.ts, requests.ts).
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  boundsOf,
  type Caller,
  checkOptions,
  FUNCTION,
  type OptionTable,
  systemClock,
  systemEntropy,
} from "../../../core/contract/index.ts";
import { HOSTS, httpGuard, ORIGINS } from "../http-checks.ts";
import { HTTP_LIMITS, type WebHandler, type WebOptions } from "../http-options.ts";
import { HttpSse } from "../deprecated-sse.ts";
import { checkPath, routes } from "../http-routes.ts";
import { HttpCore } from "../http-core.ts";
import { AUTH, refuseUnaddressed } from "../auth/index.ts";
import { UploadBudget } from "../budgets.ts";
import { OpenStreams } from "../open-streams.ts";
import { rateLimitedLog, withTimeout } from "../../../core/contract/internal.ts";
import { fromRequest, fromNode, giveUpOn, writeOut, PendingWrites } from "./requests.ts";
import { FetchHandler } from "./fetch-handler.ts";

const OPTIONS: OptionTable<WebOptions> = {
  gateway: true,
  path: true,
  auth: AUTH,
  allowedHosts: HOSTS,
  allowedOrigins: ORIGINS,
  sse: true,
  ready: FUNCTION,
  endpoints: true,
  limits: boundsOf(HTTP_LIMITS),
  clock: true,
  entropy: true,
  log: FUNCTION,
};

const FLUSH_MS = 1_000;

/**
 * Streamable HTTP as functions of a request, for applications with a server of their own. As strict as `serveHttp`: Host and Origin
 * are checked, everything is limited. Throws `BAD_OPTION`.
 */
export function webHandler(options: WebOptions): WebHandler {
  const {
    gateway,
    path = "/mcp",
    auth,
    allowedHosts = [],
    allowedOrigins = [],
    ready = () => true,
    endpoints = [],
    clock = systemClock,
  } = options;
  checkOptions("webHandler", options, OPTIONS);
  refuseUnaddressed("a mounted server", auth);
  const log = rateLimitedLog(options.log, clock);
  checkPath(path, "the endpoint's path");
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const streams = new OpenStreams(limits, clock);
  const uploads = new UploadBudget({
    bytes: limits.arrivingBytes,
    longest: limits.bodyBytes,
    clock,
    onFull: () => log?.("warning", { event: "inflow-full", transport: "web" }),
  });
  const sse = options.sse === true ? new HttpSse(gateway, options.entropy ?? systemEntropy) : undefined;
  let closing = false;
  // Without a configured address there is no metadata document, and no token is made for this server.
  const resource = auth?.resource ?? "";
  const core = new HttpCore({
    transport: "web",
    routes: routes({ gateway, path, mounted: true, endpoints, auth, resource, closing: () => closing, ready, sse }),
    path,
    guard: httpGuard({ host: "127.0.0.1", allowedHosts, allowedOrigins, resource: auth?.resource }),
    streams,
    auth,
    resource,
    closing: () => closing,
    limits,
    clock,
    log,
  });
  const handler = new FetchHandler({ core, uploads, limits, clock, log });
  const unsent = new PendingWrites();
  const shut = async (graceMs: number): Promise<void> => {
    closing = true;
    await withTimeout(clock, graceMs, Promise.all([handler.idle(), sse?.drain()]), () => undefined);
    handler.cut();
    streams.endAll();
    // So that no connection is busy when the application closes its server.
    await unsent.flush(clock, FLUSH_MS);
  };
  let closed: Promise<void> | undefined;
  const close = ({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> => (closed ??= shut(graceMs));
  // An error here would end the application, since the promise of an event listener is not awaited.
  const answerNode = async (request: IncomingMessage, response: ServerResponse, body: unknown, caller?: Caller): Promise<void> => {
    try {
      const answer = handler.handle(fromNode(request, response, body), caller);
      await unsent.during(
        response,
        answer.then((whole) => writeOut(whole, response)),
      );
    } catch (error) {
      log?.("error", { event: "exchange-failed", transport: "web", name: error instanceof Error ? error.name : typeof error });
      giveUpOn(response);
    }
  };
  return {
    fetch: (request) => handler.handle(fromRequest(request)),
    fetchAs: (caller, request) => handler.handle(fromRequest(request), caller),
    node: (request, response, body) => answerNode(request, response, body),
    nodeAs: (caller, request, response, body) => answerNode(request, response, body, caller),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
