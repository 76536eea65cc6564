import type { Answer, Gateway } from "../../../core/contract/index.ts";
import type { Authenticator } from "../auth/index.ts";
import { type Endpoint, endpoints, metadataPage, plainPath, healthAnswer, type Readiness, readyAnswer } from "../http-routes.ts";
import type { HttpSse } from "../http-sse.ts";
import type { WebExchange } from "./web-exchange.ts";

/** What is at a path of an application. */
export type WebRoute = WebEndpoint | { readonly page: () => Answer };
export type WebEndpoint = Endpoint<WebExchange>;

export interface WebRouteOptions {
  readonly gateway: Gateway;
  readonly sse: HttpSse | undefined;
  readonly path: string;
  readonly auth: Authenticator | undefined;
  /** Takes no work: closing, or the application says so. */
  readonly ready: () => Readiness;
  readonly closing: () => boolean;
}

/** The endpoint, its variant, and the pages beside it. */
export function webRoutes(options: WebRouteOptions): (at: string) => WebRoute | undefined {
  const { path, auth, ready, closing } = options;
  const fixed = new Map<string, WebRoute>();
  for (const [at, endpoint] of endpoints({ ...options, routed: true, asked: ({ asked }: WebExchange) => asked }))
    if (!fixed.has(at)) fixed.set(at, endpoint);
  fixed.set("/healthz", { page: () => healthAnswer(closing()) });
  fixed.set("/readyz", { page: () => readyAnswer(closing(), ready) });
  const metadata = metadataPage(auth, path, auth?.resource ?? "");
  for (const at of metadata?.paths ?? []) if (metadata !== undefined && !fixed.has(at)) fixed.set(at, { page: metadata.answer });
  return (at) => fixed.get(at) ?? fixed.get(plainPath(at));
}
