import { TroupeError } from "../../core/contract/index.ts";
import type { Core } from "./core.ts";
import { Fault, failureData, faultOf, inLog } from "./errors.ts";

/**
 * Why an exchange was not answered by a method. Where a store failed before one was asked, it was that of the sessions: nothing
 * is wrong with the request, nothing was done, and its client does better to try again than to believe in an answer.
 */
export function exchangeFault({ settings }: Core, error: unknown): Fault {
  const away = error instanceof TroupeError && error.code.startsWith("STORE_");
  const fault = away
    ? new Fault("UNAVAILABLE", "The server's sessions are out of reach; try again in a moment.", {
        headers: { "retry-after": "1" },
        data: failureData(error),
      })
    : faultOf(error);
  if (away || fault.kind === "INTERNAL") settings.log("error", { event: "exchange-failed", ...inLog(error) });
  return fault;
}
