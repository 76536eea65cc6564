import type { Answer, Exchange, Gateway } from "../../core/contract/index.ts";
import { type Authenticator, metadataUrlOf } from "./auth/index.ts";
import type { Asked, HttpSse } from "./http-sse.ts";

/** A way in to MCP. */
export interface Endpoint<E extends Exchange> {
  readonly verbs: readonly string[];
  readonly posture: "meta" | undefined;
  /** A POST need accept one media type only. */
  readonly acceptsEither: boolean;
  /** The answer to a POST has no body, whatever its client accepts. */
  readonly bodiless: boolean;
  answer(exchange: E): Answer | Promise<Answer>;
}

export interface EndpointOptions<E extends Exchange> {
  readonly gateway: Gateway;
  readonly path: string;
  /** Also without its path: a router may have taken it away. */
  readonly routed: boolean;
  /** The deprecated transport, where it is served. */
  readonly sse: HttpSse | undefined;
  readonly asked: (exchange: E) => Asked;
}

/** The endpoint, its variant, and those of the deprecated transport, each at its path. */
export function endpoints<E extends Exchange>({
  gateway,
  path,
  routed,
  sse,
  asked,
}: EndpointOptions<E>): readonly (readonly [at: string, endpoint: Endpoint<E>])[] {
  const streamable = (posture: "meta" | undefined): Endpoint<E> => ({
    verbs: ["POST", "GET", "DELETE"],
    posture,
    acceptsEither: gateway.acceptsEither === true,
    bodiless: false,
    answer: (exchange) => gateway.exchange(exchange),
  });
  const [plain, meta] = [streamable(undefined), streamable("meta")];
  const all: [string, Endpoint<E>][] = [
    [path, plain],
    [`${path}/meta`, meta],
  ];
  if (routed) all.push(["/", plain], ["/meta", meta]);
  if (sse === undefined) return all;
  const deprecated: Endpoint<E> = {
    verbs: ["GET", "POST"],
    posture: undefined,
    acceptsEither: false,
    bodiless: true,
    answer: (exchange) => sse.answer(exchange, asked(exchange)),
  };
  return [...all, [`${path}/sse`, deprecated], ["/sse", deprecated]];
}

/** The path without what clients and proxies add to it: a slash at its end, or a second one. */
export function plainPath(path: string): string {
  const single = path.replaceAll(/\/{2,}/g, "/");
  return single.length > 1 && single.endsWith("/") ? single.slice(0, -1) : single;
}

const ROOT = "/.well-known/oauth-protected-resource";
const HEADERS = { "cache-control": "public, max-age=300" };

/** What tells clients whose tokens are taken, and where it is (RFC 9728). Undefined: no issuer's are, or the address is not configured (`resource` is empty). */
export function metadataPage(
  auth: Authenticator | undefined,
  path: string,
  resource: string,
): { readonly paths: ReadonlySet<string>; readonly answer: () => Answer } | undefined {
  if (auth === undefined || auth.issuers.length === 0 || resource === "") return undefined;
  return {
    paths: new Set([ROOT, `${ROOT}${path}`, `${ROOT}${path}/meta`, new URL(metadataUrlOf(resource)).pathname]),
    answer: () => ({ status: 200, headers: HEADERS, body: JSON.stringify(auth.metadata(resource)) }),
  };
}
