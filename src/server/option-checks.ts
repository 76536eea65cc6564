import { ABOVE_ZERO, boundsOf, checkOptions, FUNCTION, isBag, type OptionRule } from "../contract/index.ts";
import { ICONS, TEXT } from "../contract/internal.ts";
import { HTTP_LIMITS } from "../transport/index.ts";
import type { ServerOptions } from "./options.ts";

const NAME: OptionRule = ["a text that is not empty", (value) => typeof value === "string" && value !== ""];

const RULES: Readonly<Record<string, OptionRule>> = {
  name: NAME,
  version: NAME,
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
  // What is undefined would be an option nobody gave: these two are needed.
  checkOptions({ ...options, name: name ?? null, version: version ?? null }, RULES);
}
