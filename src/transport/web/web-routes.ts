import type { Answer, Gateway } from "../../contract/index.ts";
import { type Authenticator, metadataUrlOf } from "../auth/index.ts";
import { healthAnswer, readyAnswer } from "../http-health.ts";
import { ssePaths } from "../http-routes.ts";
import type { HttpSse } from "../http-sse.ts";
import type { WebExchange } from "./web-exchange.ts";

/** What is at a path of an application. */
export type WebRoute = WebEndpoint | { readonly page: () => Answer };

export interface WebEndpoint {
  readonly verbs: readonly string[];
  readonly posture: "meta" | undefined;
  /** A POST need accept one media type only. */
  readonly acceptsEither: boolean;
  /** The answer to a POST has no body, whatever its client accepts. */
  readonly bodiless: boolean;
  answer(exchange: WebExchange): Answer | Promise<Answer>;
}

export interface WebRouteOptions {
  readonly gateway: Gateway;
  readonly sse: HttpSse | undefined;
  readonly path: string;
  readonly auth: Authenticator | undefined;
  /** Takes no work: closing, or the application says so. */
  readonly ready: () => boolean;
  readonly closing: () => boolean;
}

/** The endpoint, its variant, and the pages beside it. `resource` is what tokens are made for. */
export function webRoutes({
  gateway,
  sse,
  path,
  auth,
  ready,
  closing,
}: WebRouteOptions): (at: string, resource: string) => WebRoute | undefined {
  const mcp = (posture: "meta" | undefined): WebEndpoint => ({
    verbs: ["POST", "GET", "DELETE"],
    posture,
    acceptsEither: gateway.acceptsEither === true,
    bodiless: false,
    answer: (exchange) => gateway.exchange(exchange),
  });
  const fixed = new Map<string, WebRoute>([
    [path, mcp(undefined)],
    [`${path}/meta`, mcp("meta")],
    ["/", mcp(undefined)],
    ["/meta", mcp("meta")],
    ["/healthz", { page: () => healthAnswer(closing()) }],
    ["/readyz", { page: () => readyAnswer(closing(), ready) }],
  ]);
  if (sse !== undefined)
    for (const at of ssePaths(path))
      if (!fixed.has(at))
        fixed.set(at, {
          verbs: ["GET", "POST"],
          posture: undefined,
          acceptsEither: false,
          bodiless: true,
          answer: (exchange) => sse.answer(exchange, exchange.asked),
        });
  const root = "/.well-known/oauth-protected-resource";
  return (at, resource) => {
    const known = fixed.get(at);
    if (known !== undefined || auth === undefined || auth.issuers.length === 0) return known;
    const documents = [root, `${root}${path}`, `${root}${path}/meta`, new URL(metadataUrlOf(resource)).pathname];
    if (!documents.includes(at)) return undefined;
    const headers = { "cache-control": "public, max-age=300" };
    return { page: () => ({ status: 200, headers, body: JSON.stringify(auth.metadata(resource)) }) };
  };
}
