import { ABOVE_ZERO, boundsOf, checkOptions, FUNCTION, isBag, type OptionRule, type OptionTable } from "../../core/contract/index.ts";
import { checkNeeded, ICONS, TEXT } from "../../core/contract/internal.ts";
import { HTTP_LIMITS } from "../transport/index.ts";
import type { ServerOptions } from "./options.ts";

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
