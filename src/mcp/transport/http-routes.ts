// Owns: which paths there are, and the handler of each. Does not own: the checks before a handler is called (http-core.ts).
import { type Answer, type Gateway, type HttpMount, TroupeError } from "../../core/contract/index.ts";
import { normalizedPath } from "../../core/contract/internal.ts";
import { type Authenticator, metadataUrlOf } from "./auth/index.ts";
import type { HttpExchange } from "./http-core.ts";
import type { HttpSse } from "./deprecated-sse.ts";

/** A path's handler, and its rules. */
export interface Route {
  readonly verbs: readonly string[];
  /** Needs a token if the server has authentication. */
  readonly guarded: boolean;
  /** Bodies must be JSON, and clients must accept JSON and events. */
  readonly mcp: boolean;
  readonly posture: "meta" | undefined;
  /** A POST need accept one media type only. */
  readonly acceptsEither?: boolean;
  /** The answer to a POST has no body, whatever its client accepts. */
  readonly bodiless?: boolean;
  answer(exchange: HttpExchange): Answer | Promise<Answer>;
}

export interface Routes {
  find(path: string): Route | undefined;
}

/** Whether the server accepts requests; a text says why not. */
type Readiness = boolean | string;

export interface RouteOptions {
  readonly gateway: Gateway;
  /** Of the MCP endpoint. */
  readonly path: string;
  /** The application's router may strip the endpoint's path, so MCP is served at `/` too, and the first of two routes at one path wins. */
  readonly mounted: boolean;
  readonly endpoints: readonly HttpMount[];
  readonly auth: Authenticator | undefined;
  /** The resource tokens are made for; empty if it is not configured. */
  readonly resource: string;
  readonly closing: () => boolean;
  /** Not called while closing. */
  readonly ready: () => Readiness;
  /** The deprecated transport, if it is served. */
  readonly sse: HttpSse | undefined;
}

/** Throws `BAD_OPTION`. */
export function checkPath(path: string, what: string): void {
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(path) || path.split("/").some((part) => part === "." || part === "..")) {
    throw new TroupeError("BAD_OPTION", `"${path}" cannot be ${what}: give a path such as /mcp, without a slash at its end.`);
  }
}

/** Health pages, the MCP endpoints, the metadata for clients that need a token, then other mounted handlers. */
export function routes(options: RouteOptions): Routes {
  const { path, mounted, auth, resource, closing, ready } = options;
  const exact = new Map<string, Route>();
  const add = (at: string, route: Route, mayBeTaken = mounted): void => {
    if (!exact.has(at)) exact.set(at, route);
    else if (!mayBeTaken) throw new TroupeError("BAD_OPTION", `Two endpoints want ${at}: mount one of them elsewhere.`);
  };
  add(
    "/healthz",
    page(() => (closing() ? unavailable("closing") : OK)),
  );
  add(
    "/readyz",
    page(() => readiness(closing(), ready)),
  );
  for (const [at, route] of endpoints(options)) add(at, route);
  for (const at of metadataPaths(auth, path, resource)) {
    add(
      at,
      page(() => ({ status: 200, headers: METADATA_HEADERS, body: JSON.stringify(auth?.metadata(resource)) })),
    );
  }
  const prefixes = options.endpoints.map((endpoint) => {
    checkPath(endpoint.path, "an endpoint's path");
    const route: Route = {
      verbs: endpoint.verbs ?? ["GET", "POST"],
      guarded: endpoint.open !== true,
      mcp: false,
      posture: undefined,
      answer: (exchange) => endpoint.handle(exchange),
    };
    add(endpoint.path, route, false);
    return { prefix: `${endpoint.path}/`, route };
  });
  return {
    find: (at) => exact.get(at) ?? prefixes.find(({ prefix }) => at.startsWith(prefix))?.route ?? exact.get(normalizedPath(at)),
  };
}

/** The endpoint, its variant, and those of the deprecated transport. */
function endpoints({ gateway, path, mounted, sse }: RouteOptions): readonly (readonly [at: string, route: Route])[] {
  const streamable = (posture: "meta" | undefined): Route => ({
    verbs: ["POST", "GET", "DELETE"],
    guarded: true,
    mcp: true,
    posture,
    acceptsEither: gateway.acceptsEither === true,
    answer: (exchange) => gateway.exchange(exchange),
  });
  const [plain, meta] = [streamable(undefined), streamable("meta")];
  const all: [string, Route][] = [
    [path, plain],
    [`${path}/meta`, meta],
  ];
  if (mounted) all.push(["/", plain], ["/meta", meta]);
  if (sse === undefined) return all;
  const deprecated: Route = {
    verbs: ["GET", "POST"],
    guarded: true,
    mcp: true,
    posture: undefined,
    bodiless: true,
    answer: (exchange) => sse.answer(exchange, { path: exchange.clientPath, query: exchange.query }),
  };
  return [...all, [`${path}/sse`, deprecated], ["/sse", deprecated]];
}

const page = (answer: () => Answer): Route => ({ verbs: ["GET", "HEAD"], guarded: false, mcp: false, posture: undefined, answer });

const OK: Answer = { status: 200, body: '{"status":"ok"}' };
const unavailable = (status: string, why?: string): Answer => ({ status: 503, body: JSON.stringify({ status, why }) });

function readiness(closing: boolean, ready: () => Readiness): Answer {
  if (closing) return unavailable("closing");
  const takesWork = ready();
  if (takesWork === true) return OK;
  return unavailable("not ready", takesWork === false ? undefined : takesWork);
}

const METADATA_ROOT = "/.well-known/oauth-protected-resource";
const METADATA_HEADERS = { "cache-control": "public, max-age=300" };

/** Where clients find the authorization servers whose tokens are accepted (RFC 9728). None without an issuer, or if the server's address is not configured. */
function metadataPaths(auth: Authenticator | undefined, path: string, resource: string): ReadonlySet<string> {
  if (auth === undefined || auth.issuers.length === 0 || resource === "") return new Set();
  const named = new URL(metadataUrlOf(resource)).pathname;
  return new Set([METADATA_ROOT, `${METADATA_ROOT}${path}`, `${METADATA_ROOT}${path}/meta`, named]);
}
