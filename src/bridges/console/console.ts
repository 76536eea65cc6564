// Owns: the console's HTTP endpoints: the page, and its API behind the access check. Does not own: what the API's routes answer.

import { sameBytes, sha256Hex, utf8Of } from "../../core/platform/index.ts";
import {
  checkOptions,
  type OptionTable,
  type Answer,
  type HttpMount,
  isJsonObject,
  type Json,
  type JsonObject,
  type MountRequest,
  SqlError,
  TroupeError,
} from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { OperationError, StateMisfitError } from "../operate/index.ts";
import { ALL_ROUTES } from "./all-routes.ts";
import { documentsOf } from "./app-documents.ts";
import type { ConsoleAssets } from "./assets.ts";
import { checkBody, checkQuery } from "./check-input.ts";
import type { ConsoleData } from "./data.ts";
import { openApiRoute } from "./openapi.ts";
import { overviewOf } from "./overview.ts";
import { type FoundRoute, RequestError, routeFinder } from "./routes.ts";
import type { Failure } from "./shapes.ts";

/** What `consoleFor` takes. */
export interface ConsoleOptions extends ConsoleData {
  /** Default `/console`. */
  readonly path?: string;
  /** The page's files. Absent: there is only the API. */
  readonly assets?: ConsoleAssets;
  /**
   * Who may use it. `token`: callers that send it as a bearer token; for servers on loopback without authentication. Absent: callers whom
   * the server has authenticated, and who have the scope `troupe:operate`.
   */
  readonly token?: string;
}

const OPTIONS: OptionTable<ConsoleOptions> = {
  about: true,
  reader: true,
  running: true,
  operate: true,
  live: true,
  sql: true,
  settings: true,
  unserved: true,
  packets: true,
  guests: true,
  failures: true,
  disk: true,
  errorPage: true,
  edit: true,
  viewerToken: true,
  onFault: true,
  now: true,
  entropy: true,
  path: true,
  assets: true,
  token: true,
};

/** The scope that it needs where the server authenticates callers. */
const OPERATE = "troupe:operate";
const MAX_DEPTH = 64;

// Nothing is loaded from another host or sent to one; no inline scripts or styles. Only apps are framed, which have a policy of their own
// (app-documents.ts), and no page of another site frames this one.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Of every answer. */
const COMMON_HEADERS = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
const SAFE_HEADERS = { ...COMMON_HEADERS, "content-security-policy": POLICY, "x-frame-options": "DENY" };

/** Of the engine's refusals that are no conflict (409) with the state of an actor. */
const STATUS: Readonly<Record<string, number>> = {
  NO_ACTOR: 404,
  UNKNOWN_INDEX: 404,
  NOT_FOUND: 404,
  BAD_ID: 400,
  BAD_QUERY: 400,
  SQL_WRONG: 400,
  SQL_DENIED: 400,
  USAGE: 400,
};

/**
 * The console, to be mounted next to MCP: `serveHttp({ gateway, endpoints: consoleFor({ … }) })`. The page's own files need no token, and
 * have no data; nor do the documents of apps, whose addresses only the page knows.
 */
export function consoleFor(options: ConsoleOptions): readonly HttpMount[] {
  checkOptions("consoleFor", options, OPTIONS);
  const { path = "/console", assets, token } = options;
  if (options.running !== undefined) options.live?.serves(options.running);
  // It stores failures from now on, whether or not a page is opened.
  overviewOf(options);
  const finder = routeFinder([...ALL_ROUTES, openApiRoute(ALL_ROUTES, `${path}/api`, assets)]);
  const api: HttpMount = {
    path: `${path}/api`,
    verbs: ["GET", "POST", "DELETE"],
    open: token !== undefined,
    async handle(request) {
      try {
        refuseStranger(request, token);
        return await answerApi(finder, options, request, request.path.slice(path.length + "/api".length));
      } catch (error) {
        return failure(error, options);
      }
    },
  };
  if (assets === undefined) return [api];
  const apps: HttpMount = {
    path: `${path}/app`,
    verbs: ["GET"],
    open: true,
    handle: (request) => documentsOf(options).answer(request.path.slice(`${path}/app/`.length), COMMON_HEADERS),
  };
  const page: HttpMount = {
    path,
    verbs: ["GET"],
    open: true,
    handle: (request) => answerPage(assets, request.path.slice(path.length)),
  };
  return [api, apps, page];
}

const digest = (text: string): Uint8Array => utf8Of(sha256Hex(text));

/** Throws `UNAUTHENTICATED`, `SCOPE`. */
function refuseStranger(request: MountRequest, token: string | undefined): void {
  if (token === undefined) {
    if (request.caller.scopes.includes(OPERATE)) return;
    throw new RequestError(403, "SCOPE", `The console needs the scope ${OPERATE}: sign in with a key or token that has it.`);
  }
  const given = /^Bearer (.+)$/i.exec(request.header("authorization") ?? "")?.[1];
  // Digests of equal length, so that neither the token's length nor its beginning can be measured.
  if (given === undefined || !sameBytes(digest(given), digest(token)))
    throw new RequestError(
      401,
      "UNAUTHENTICATED",
      "Open the console with the link that the server printed: it has the token of this start.",
    );
}

type Finder = ReturnType<typeof routeFinder>;

async function answerApi(finder: Finder, data: ConsoleData, request: MountRequest, path: string): Promise<Answer> {
  const found = finder.find(request.verb, path === "" ? "/" : path);
  if (found === undefined)
    throw new RequestError(404, "NOT_FOUND", "There is nothing at this path: GET openapi.json, next to the other routes, lists them all.");
  if ("verbs" in found) throw new RequestError(405, "METHOD", `This path takes ${found.verbs.join(" and ")}.`);
  return await runRoute(found, data, request);
}

async function runRoute({ route, params }: FoundRoute, data: ConsoleData, request: MountRequest): Promise<Answer> {
  const body = route.verb === "POST" ? bodyOf(request) : {};
  const query = new URLSearchParams(request.query);
  checkQuery(route, query);
  checkBody(route, body);
  const channel = route.streams === true ? request.stream(SAFE_HEADERS) : undefined;
  const send = (event: string, value: object | Json): boolean => {
    channel?.send(JSON.stringify(value), undefined, undefined, event);
    return channel?.ready ?? false;
  };
  try {
    const answer = await route.handle(
      {
        params,
        query,
        body,
        caller: request.caller,
        disconnected: channel?.disconnected ?? request.disconnected,
        get ready() {
          return channel?.ready ?? false;
        },
        emit: send,
      },
      data,
    );
    if (channel === undefined)
      return { status: 200, headers: { ...SAFE_HEADERS, "cache-control": "no-store" }, body: JSON.stringify(answer) };
    if (answer !== null) send("done", answer);
  } catch (error) {
    if (channel === undefined) throw error;
    send("failed", describe(error, data));
  }
  channel.close();
  return { status: 200 };
}

/** Throws `BAD_REQUEST`. A media type that a form of another site cannot send. */
function bodyOf(request: MountRequest): JsonObject {
  if (!/^application\/json\b/i.test(request.header("content-type") ?? ""))
    throw new RequestError(400, "BAD_REQUEST", "Send the header Content-Type: application/json.");
  const text = new TextDecoder().decode(request.body ?? new Uint8Array());
  const value = text === "" ? {} : tryParseJson(text);
  if (!isJsonObject(value) || isDeep(value))
    throw new RequestError(400, "BAD_REQUEST", `The body must be a JSON object of at most ${MAX_DEPTH} levels.`);
  return value;
}

function isDeep(value: Json, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === MAX_DEPTH || Object.values(value).some((member) => isDeep(member, depth + 1));
}

function describe(error: unknown, { onFault }: ConsoleData): Failure {
  if (error instanceof TroupeError || error instanceof RequestError || error instanceof OperationError)
    return {
      error: {
        code: error.code === "USAGE" ? "BAD_REQUEST" : error.code,
        message: error.message,
        ...(error instanceof StateMisfitError && { misfits: error.misfits }),
        ...(error instanceof SqlError && error.at !== undefined && { at: error.at }),
      },
    };
  onFault?.(error);
  return { error: { code: "INTERNAL", message: "The console failed: the server's log says why." } };
}

function failure(error: unknown, data: ConsoleData): Answer {
  const isKnown = error instanceof TroupeError || error instanceof OperationError;
  const status = error instanceof RequestError ? error.status : isKnown ? (STATUS[error.code] ?? 409) : 500;
  return { status, headers: { ...SAFE_HEADERS, "cache-control": "no-store" }, body: JSON.stringify(describe(error, data)) };
}

function answerPage(assets: ConsoleAssets, path: string): Answer {
  const asset = assets.find(path);
  if (asset === undefined)
    return { status: 404, headers: { ...SAFE_HEADERS, "content-type": "text/plain; charset=utf-8" }, body: "There is no such file." };
  return {
    status: 200,
    headers: {
      ...SAFE_HEADERS,
      "content-type": asset.type,
      "cache-control": asset.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    },
    body: asset.body,
  };
}
