import { TroupeError, type Answer, type Gateway, type HttpMount } from "../../core/contract/index.ts";
import type { Authenticator } from "./auth/index.ts";
import { type Endpoint, endpoints, metadataPage, plainPath } from "./http-endpoints.ts";
import { healthAnswer, type Readiness, readyAnswer } from "./http-health.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpSse } from "./http-sse.ts";

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
