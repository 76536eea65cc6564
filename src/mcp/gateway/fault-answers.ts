// Owns: errors as answers: of an exchange, of a request, and what a transport itself refuses. Does not own: the kinds of faults and
// their numbers (errors.ts).
import { type Answer, TroupeError } from "../../core/contract/index.ts";
import type { Core } from "./core.ts";
import { failureData, Fault, type FaultKind, faultOf, inLog, type Sayings, wireError } from "./errors.ts";
import { errorText, type RequestId } from "./json-rpc.ts";
import type { Era } from "./revision.ts";

/** An error as the answer to an exchange. */
export function faultAnswer(fault: Fault, era: Era, id: RequestId | null, sayings: Sayings): Answer {
  const { status, headers, bare, message } = wireError(fault, era, sayings);
  const body = bare ? JSON.stringify({ error: message }) : errorText(id, fault, era, sayings);
  return { status, ...(headers === undefined ? undefined : { headers }), body };
}

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

/** Why a request has no result. What its client is told nothing about, the log says, wherever on its way it failed. */
export function requestFault({ settings }: Pick<Core, "settings">, method: string, error: unknown): Fault {
  const fault = faultOf(error);
  // What is a fault already was in the log when it was made one.
  if (fault.kind === "INTERNAL" && fault !== error) settings.log("error", { event: "request-failed", method, ...inLog(error) });
  return fault;
}

/** What a door itself refuses over HTTP, before there is a message to speak of: its status, and a JSON-RPC error without an id. */
export function refusal(kind: FaultKind, message: string, headers?: Readonly<Record<string, string>>): Answer {
  // What HEADERS means is new in the modern era; all other numbers are the same in both.
  return faultAnswer(
    new Fault(kind, message, headers === undefined ? undefined : { headers }),
    kind === "HEADERS" ? "modern" : "legacy",
    null,
    {},
  );
}

/** The same on a stream: one line. */
export const refusalText = (kind: FaultKind, message: string, id: RequestId | null = null): string =>
  errorText(id, new Fault(kind, message), "legacy", {});
