// Owns: the options of `createServer`, and their check. Does not own: those that it passes on (mcp/gateway, mcp/transport).
import {
  type JsonObject,
  type Source,
  ABOVE_ZERO,
  boundsOf,
  checkOptions,
  FUNCTION,
  isJsonObject,
  type Log,
  type OptionRule,
  type OptionTable,
} from "../../core/contract/index.ts";
import type { GatewayOptions } from "../gateway/index.ts";
import type { Middleware, OnError } from "./handler.ts";
import { type WebLimits, type WebOptions, HTTP_LIMITS } from "../transport/index.ts";
import type { Names, NameStyle } from "../source/index.ts";
import { NAMES } from "../source/names.ts";
import { checkNeeded, ICONS, TEXT } from "../../core/contract/internal.ts";

type OfGateway = Omit<GatewayOptions, "source" | "info" | "instructions" | "sessionTtlMs" | "sharedSessions">;
type OfWeb = Pick<WebOptions, "path" | "auth" | "allowedHosts" | "allowedOrigins" | "sse" | "ready">;

/** Options besides name and version. Those not described here are options of the gateway and of `webHandler`. */
export interface ServerOptions extends OfGateway, OfWeb {
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  /** As in MCP: `{ src, mimeType?, sizes? }`. */
  readonly icons?: readonly JsonObject[];
  /** Text for the client's model. */
  readonly instructions?: string;
  /** Served together with the server's own registries: casts of actors, services, the `source` of other servers. The server does not close them. */
  readonly sources?: readonly Source[];
  /** Which names the server's own tools and prompts may have. Default `underscores`, which the APIs of models take; `dots` allows dots, and 128 characters. */
  readonly names?: NameStyle | Names;
  /** Wraps every handler of the registries, the first outermost; not those of `sources`. */
  readonly middleware?: readonly Middleware[];
  /**
   * Called with errors of handlers that are not refusals, timeouts included, and with the run's id. The server's `log` gets only their names.
   * Default: without `log`, standard error gets them in full.
   */
  readonly onError?: OnError;
  /** A handler is aborted after this many milliseconds. Default 55,000, since official clients give a call up after 60,000. */
  readonly handlerMs?: number;
  /** A legacy session over HTTP ends after this many milliseconds without a request. Default: `MCP_SESSION_TTL_MINUTES` (a positive whole number), else 60 minutes. */
  readonly sessionTtlMs?: number;
  /** Environment variables. Default: `process.env`, if it exists. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Other processes may serve the same sessions from the same stores, so a session is read for each of its requests. Default: true if
   * `sessions` is given. Use `false` for a store that only this process uses.
   */
  readonly sharedSessions?: boolean;
  /** Limits of `fetch` and `node`; `listen` has its own. */
  readonly webLimits?: Partial<WebLimits>;
}

/** The log of a server that was given none: its author must still see why a call failed. */
export const errorsToStandardError: Log = (level, data) => {
  if (level === "error" || level === "warning") console.error(level, data);
};

const NAME: OptionRule = ["a text that is not empty", (value) => typeof value === "string" && value !== ""];

// `true`: checked by the gateway or by the transports.
export const OPTIONS: OptionTable<ServerOptions> = {
  title: TEXT,
  description: TEXT,
  websiteUrl: TEXT,
  icons: ICONS,
  instructions: TEXT,
  sources: [
    "a list of sources: actors are one by cast({ engine, kinds }), an AgenticService by fromAgenticService(…)",
    (value) => Array.isArray(value) && value.every((one) => isJsonObject(one) && typeof one["act"] === "function"),
  ],
  names: NAMES,
  middleware: ["a list of functions", (value) => Array.isArray(value) && value.every((one) => typeof one === "function")],
  onError: FUNCTION,
  handlerMs: ABOVE_ZERO,
  path: true,
  auth: true,
  allowedHosts: true,
  allowedOrigins: true,
  sse: true,
  ready: true,
  webLimits: boundsOf(HTTP_LIMITS),
  sessions: true,
  streams: true,
  sessionTtlMs: ABOVE_ZERO,
  tasks: true,
  taskStore: true,
  taskTtlMs: true,
  sharedSessions: true,
  env: true,
  peers: true,
  profile: true,
  unknownSession: true,
  extensions: true,
  cacheHints: true,
  serverInfoInResults: true,
  listMode: true,
  pageSize: true,
  rateLimit: true,
  limits: true,
  requestStateKey: true,
  receipts: true,
  clock: true,
  entropy: true,
  log: true,
  observer: true,
};

/** Throws `BAD_OPTION`. */
export function checkServer(name: unknown, version: unknown, options: ServerOptions): void {
  checkNeeded("name", name, NAME);
  checkNeeded("version", version, NAME);
  checkOptions("createServer", options, OPTIONS);
}
