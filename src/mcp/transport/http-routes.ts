import { type Answer, type Exchange, type Gateway, TroupeError, type HttpMount } from "../../core/contract/index.ts";
import { type Authenticator, metadataUrlOf } from "./auth/index.ts";
import type { Asked, HttpSse } from "./http-sse.ts";
import type { HttpExchange } from "./http-exchange.ts";

/** Whether work is taken; a text: it is not, and why, for whoever asks. */
export type Readiness = boolean | string;

const OK: Answer = { status: 200, body: '{"status":"ok"}' };
const unable = (status: string, why?: string): Answer => ({ status: 503, body: JSON.stringify({ status, why }) });

/** Of `/healthz`: it runs. */
export const healthAnswer = (closing: boolean): Answer => (closing ? unable("closing") : OK);

/** Of `/readyz`: it takes work. */
export const readyAnswer = (closing: boolean, ready: () => Readiness): Answer => {
  if (closing) return unable("closing");
  const takes = ready();
  if (takes === true) return OK;
  return unable("not ready", takes === false ? undefined : takes);
};

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

/** What is at a path. */
export interface Route extends Omit<Endpoint<HttpExchange>, "acceptsEither" | "bodiless"> {
  /** Asks for a token where the server does. */
  readonly guarded: boolean;
  /** Bodies must be JSON, and clients must read JSON and events. */
  readonly mcp: boolean;
  readonly acceptsEither?: boolean;
  readonly bodiless?: boolean;
}

export interface Routes {
  find(path: string): Route | undefined;
}

export interface RouteOptions {
  readonly gateway: Gateway;
  readonly path: string;
  readonly doors: readonly HttpMount[];
  readonly auth: Authenticator | undefined;
  /** The resource tokens are made for. */
  readonly resource: string;
  readonly closing: () => boolean;
  /** Work is taken; asked until closing. */
  readonly ready: () => Readiness;
  readonly sse: HttpSse | undefined;
}

const page = (answer: () => Answer): Route => ({
  verbs: ["GET", "HEAD"],
  guarded: false,
  mcp: false,
  posture: undefined,
  answer,
});

export function checkPath(path: string, what: string): void {
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(path) || path.split("/").some((part) => part === "." || part === "..")) {
    throw new TroupeError("DOOR_OPTION", `"${path}" cannot be ${what}: give a path such as /mcp, without a slash at its end.`);
  }
}

/** Where a request goes: the MCP endpoint and its variant, the well-known documents, then the doors mounted beside it. */
export function routes({ gateway, path, doors, auth, resource, closing, ready, sse }: RouteOptions): Routes {
  const exact = new Map<string, Route>();
  const place = (at: string, route: Route): void => {
    if (exact.has(at)) throw new TroupeError("DOOR_OPTION", `Two doors want ${at}: mount one of them elsewhere.`);
    exact.set(at, route);
  };
  for (const [at, endpoint] of endpoints({ gateway, path, routed: false, sse, asked: (exchange: HttpExchange) => exchange }))
    place(at, { guarded: true, mcp: true, ...endpoint });
  place(
    "/healthz",
    page(() => healthAnswer(closing())),
  );
  place(
    "/readyz",
    page(() => readyAnswer(closing(), ready)),
  );
  const metadata = metadataPage(auth, path, resource);
  if (metadata !== undefined) for (const at of metadata.paths) place(at, page(metadata.answer));

  const mounted = doors.map((door) => {
    checkPath(door.path, "a door's path");
    const route: Route = {
      verbs: door.verbs ?? ["GET", "POST"],
      guarded: door.open !== true,
      mcp: false,
      posture: undefined,
      answer: (exchange) => door.handle(exchange),
    };
    place(door.path, route);
    return { below: `${door.path}/`, route };
  });

  return {
    find: (at) => exact.get(at) ?? mounted.find(({ below }) => at.startsWith(below))?.route ?? exact.get(plainPath(at)),
  };
}
