import type { Core } from "./core.ts";
import { type Fault, faultOf, inLog } from "./errors.ts";

/** Why a request has no result. What its client is told nothing about, the log says, wherever on its way it failed. */
export function requestFault({ settings }: Pick<Core, "settings">, method: string, error: unknown): Fault {
  const fault = faultOf(error);
  // What is a fault already was in the log when it was made one.
  if (fault.kind === "INTERNAL" && fault !== error) settings.log("error", { event: "request-failed", method, ...inLog(error) });
  return fault;
}
