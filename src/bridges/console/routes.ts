// Owns: how a route of the console's API is declared and found, and what its handler receives. Does not own: the routes themselves.

import type { Caller, CancelSignal, Json, JsonObject } from "../../core/contract/index.ts";
import type { ConsoleData } from "./data.ts";

/** A parameter in the query of a request. */
export interface QueryParameter {
  readonly description: string;
  /** JSON Schema. Default: a text of at most 512 characters. */
  readonly schema?: JsonObject;
}

/** The schema of a parameter that has no other. */
export const TEXT: JsonObject = { type: "string", maxLength: 512 };

/** The schema of an actor's id, and of a place that a list ends with: both may have a key of 256 bytes, percent-encoded. */
export const LONG_TEXT: JsonObject = { type: "string", maxLength: 8_192 };

/** One operation of the API. Its entry in the OpenAPI document is made of it. */
export interface ConsoleRoute {
  readonly verb: "GET" | "POST" | "DELETE";
  /** Below `/console/api`: `/actors/:kind/:key/state`. */
  readonly path: string;
  /** One sentence. */
  readonly summary: string;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  /** JSON Schema of the body of a POST. */
  readonly body?: JsonObject;
  /** The name of what it answers, among the shapes. */
  readonly answers: string;
  /** Answers with server-sent events: `progress`, then `done`; `GET /stream`: as its description says. */
  readonly streams?: true;
  /** Query and body have been checked by their schemas. Throws `RequestError`, and `TroupeError`, whose code decides the status. */
  handle(request: ConsoleRequest, data: ConsoleData): Promise<object | null>;
}

/** What the handler of a route receives. */
export interface ConsoleRequest {
  /** Those of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
  readonly caller: Caller;
  /** Aborted when the client has left. */
  readonly disconnected: CancelSignal;
  /** Only for routes that `streams`: whether the client reads what is sent. */
  readonly ready: boolean;
  /** Only for routes that `streams`: sends one server-sent event. False: the client does not read now, so it may be left out. */
  emit(event: string, data: Json | object): boolean;
}

export interface FoundRoute {
  readonly route: ConsoleRoute;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the route of a path. There are few, so they are tried in order. */
export const routeFinder = (routes: readonly ConsoleRoute[]) => {
  const compiled = routes.map((route) => ({ route, parts: route.path.split("/") }));
  return {
    /** Undefined: there is none. `verbs`: those of the path, where it has no route for this verb. */
    find(verb: string, path: string): FoundRoute | { readonly verbs: readonly string[] } | undefined {
      const parts = path.split("/");
      const verbs: string[] = [];
      for (const { route, parts: pattern } of compiled) {
        const params = match(pattern, parts);
        if (params === undefined) continue;
        if (route.verb === verb) return { route, params };
        verbs.push(route.verb);
      }
      return verbs.length > 0 ? { verbs } : undefined;
    },
  };
};

function match(pattern: readonly string[], parts: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, expected] of pattern.entries()) {
    const given = parts[at] ?? "";
    if (!expected.startsWith(":")) {
      if (expected !== given) return undefined;
      continue;
    }
    const value = decodePart(given);
    if (value === undefined || value === "") return undefined;
    params[expected.slice(1)] = value;
  }
  return params;
}

function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A request that the console itself refuses. */
export class RequestError extends Error {
  readonly status: number;
  readonly code: "UNAUTHENTICATED" | "SCOPE" | "NOT_FOUND" | "BAD_REQUEST" | "METHOD" | "NOT_AVAILABLE";

  constructor(status: number, code: RequestError["code"], message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
