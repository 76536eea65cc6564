import { TroupeError, type Answer, type Gateway, type HttpMount } from "../contract/index.ts";
import { type Authenticator, metadataUrlOf } from "./auth/index.ts";
import { healthAnswer, readyAnswer } from "./http-health.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpSse } from "./http-sse.ts";

/** What is at a path. */
export interface Route {
  readonly verbs: readonly string[];
  /** Asks for a token where the server does. */
  readonly guarded: boolean;
  /** Bodies must be JSON, and clients must read JSON and events. */
  readonly mcp: boolean;
  readonly posture: "meta" | undefined;
  /** Of MCP: a POST need accept one media type only. */
  readonly acceptsEither?: boolean;
  /** Of MCP: the answer to a POST has no body, whatever its client accepts. */
  readonly bodiless?: boolean;
  answer(exchange: HttpExchange): Answer | Promise<Answer>;
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
  readonly ready: () => boolean;
  readonly sse: HttpSse | undefined;
}

/** Where the deprecated transport is. */
export const ssePaths = (path: string): readonly string[] => [`${path}/sse`, "/sse"];

const JSON_CACHE = { "cache-control": "public, max-age=300" };

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
  const mcp = (posture: "meta" | undefined): Route => ({
    verbs: ["POST", "GET", "DELETE"],
    guarded: true,
    mcp: true,
    posture,
    acceptsEither: gateway.acceptsEither === true,
    answer: (exchange) => gateway.exchange(exchange),
  });
  place(path, mcp(undefined));
  place(`${path}/meta`, mcp("meta"));
  if (sse !== undefined)
    for (const at of ssePaths(path))
      place(at, {
        verbs: ["GET", "POST"],
        guarded: true,
        mcp: true,
        posture: undefined,
        bodiless: true,
        answer: (one) => sse.answer(one, one),
      });
  place(
    "/healthz",
    page(() => healthAnswer(closing())),
  );
  place(
    "/readyz",
    page(() => readyAnswer(closing(), ready)),
  );
  if (auth !== undefined && auth.issuers.length > 0) {
    const document = page(() => ({ status: 200, headers: JSON_CACHE, body: JSON.stringify(auth.metadata(resource)) }));
    const root = "/.well-known/oauth-protected-resource";
    for (const at of new Set([root, `${root}${path}`, `${root}${path}/meta`, new URL(metadataUrlOf(resource)).pathname]))
      place(at, document);
  }

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
    find: (at) => exact.get(at) ?? mounted.find(({ below }) => at.startsWith(below))?.route,
  };
}
