import {
  type Bag,
  type Source,
  ABOVE_ZERO,
  boundsOf,
  checkOptions,
  FUNCTION,
  isBag,
  type OptionRule,
  type OptionTable,
} from "../../core/contract/index.ts";
import type { GatewayOptions } from "../gateway/index.ts";
import type { Middleware, OnError } from "./handler.ts";
import { type WebLimits, type WebOptions, HTTP_LIMITS } from "../transport/index.ts";
import { checkNeeded, ICONS, TEXT } from "../../core/contract/internal.ts";

type OfGateway = Omit<GatewayOptions, "source" | "info" | "instructions" | "sessionTtlMs" | "sharedSessions">;
type OfWeb = Pick<WebOptions, "path" | "auth" | "allowedHosts" | "allowedOrigins" | "sse" | "ready">;

/** Beside its name and version. What is not named here is the gateway's and the mounts' own. */
export interface ServerOptions extends OfGateway, OfWeb {
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  /** As MCP writes them: `{ src, mimeType?, sizes? }`. */
  readonly icons?: readonly Bag[];
  /** Text for the client's model. */
  readonly instructions?: string;
  /** Served beside the server's own registries: casts of actors, services, other servers' `source`. They stay their owners'. */
  readonly sources?: readonly Source[];
  /** Around every handler of the registries, the first outermost; not around `sources`. */
  readonly middleware?: readonly Middleware[];
  /** Hears what handlers threw that was no refusal, and whose time was up, with the run's id; the server's `log` has its name already. */
  readonly onError?: OnError;
  /** A handler is aborted after this long. Default 60,000. */
  readonly handlerMs?: number;
  /** A legacy session over HTTP ends after this long without a request. Default: `MCP_SESSION_TTL_MINUTES` (a positive whole number), else 60 minutes. */
  readonly sessionTtlMs?: number;
  /** Variables of the environment. Default: `process.env`, where there is one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Other processes may serve the same sessions from the same stores: a session's row is read for each of its requests. Default:
   * where `sessions` is given. `false` for a store that is this process's alone.
   */
  readonly sharedSessions?: boolean;
  /** Of `fetch` and `node`; `listen` has its own. */
  readonly webLimits?: Partial<WebLimits>;
}

const NAME: OptionRule = ["a text that is not empty", (value) => typeof value === "string" && value !== ""];

// `true` where the gateway or the doors look at it.
const OPTIONS: OptionTable<ServerOptions> = {
  title: TEXT,
  description: TEXT,
  websiteUrl: TEXT,
  icons: ICONS,
  instructions: TEXT,
  sources: [
    "a list of sources: actors are one by cast({ engine, kinds }), an AgenticService by fromAgenticService(…)",
    (value) => Array.isArray(value) && value.every((one) => isBag(one) && typeof one["act"] === "function"),
  ],
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
  posture: true,
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

/** Throws `DOOR_OPTION`. */
export function checkServer(name: unknown, version: unknown, options: ServerOptions): void {
  checkNeeded("name", name, NAME);
  checkNeeded("version", version, NAME);
  checkOptions("createServer", options, OPTIONS);
}
