import { ABOVE_ZERO, boundsOf, checkOptions, FUNCTION, isBag, type OptionRule } from "../contract/index.ts";
import { ICONS, TEXT } from "../contract/internal.ts";
import { checkNeeded, onlyOptions } from "../contract/internal.ts";
import { HTTP_LIMITS } from "../transport/index.ts";
import type { ServerOptions } from "./options.ts";

const NAME: OptionRule = ["a text that is not empty", (value) => typeof value === "string" && value !== ""];

const KNOWN: Readonly<Record<keyof ServerOptions, true>> = {
  title: true,
  description: true,
  websiteUrl: true,
  icons: true,
  instructions: true,
  sources: true,
  middleware: true,
  onError: true,
  handlerMs: true,
  path: true,
  auth: true,
  allowedHosts: true,
  allowedOrigins: true,
  sse: true,
  ready: true,
  webLimits: true,
  sessions: true,
  streams: true,
  sessionTtlMs: true,
  sharedSessions: true,
  env: true,
  peers: true,
  profile: true,
  unknownSession: true,
  extensions: true,
  cacheHints: true,
  posture: true,
  pageSize: true,
  rateLimit: true,
  limits: true,
  requestStateKey: true,
  receipts: true,
  clock: true,
  entropy: true,
  log: true,
};

const RULES: Readonly<Record<string, OptionRule>> = {
  title: TEXT,
  description: TEXT,
  websiteUrl: TEXT,
  icons: ICONS,
  instructions: TEXT,
  handlerMs: ABOVE_ZERO,
  onError: FUNCTION,
  middleware: ["a list of functions", (value) => Array.isArray(value) && value.every((one) => typeof one === "function")],
  sources: ["a list of sources", (value) => Array.isArray(value) && value.every((one) => isBag(one) && typeof one["act"] === "function")],
  sessionTtlMs: ABOVE_ZERO,
  webLimits: boundsOf(HTTP_LIMITS),
};

/** What the gateway and the doors do not check themselves. Throws `DOOR_OPTION`. */
export function checkServer(name: unknown, version: unknown, options: ServerOptions): void {
  checkNeeded("name", name, NAME);
  checkNeeded("version", version, NAME);
  onlyOptions("createServer", options, KNOWN);
  checkOptions(options, RULES);
}
