import { ABOVE_ZERO, boundsOf, checkOptions, FUNCTION, isBag, type OptionRule } from "../contract/index.ts";
import { HTTP_LIMITS } from "../transport/index.ts";
import type { ServerOptions } from "./options.ts";

const TEXT: OptionRule = ["a text that is not empty", (value) => typeof value === "string" && value !== ""];

const RULES: Readonly<Record<string, OptionRule>> = {
  name: TEXT,
  version: TEXT,
  handlerMs: ABOVE_ZERO,
  onError: FUNCTION,
  middleware: ["a list of functions", (value) => Array.isArray(value) && value.every((one) => typeof one === "function")],
  sources: ["a list of sources", (value) => Array.isArray(value) && value.every((one) => isBag(one) && typeof one["act"] === "function")],
  sessionTtlMs: ABOVE_ZERO,
  webLimits: boundsOf(HTTP_LIMITS),
};

/** What the gateway and the doors do not check themselves. Throws `DOOR_OPTION`. */
export function checkServer(name: string, version: string, options: ServerOptions): void {
  checkOptions({ ...options, name, version }, RULES);
}
