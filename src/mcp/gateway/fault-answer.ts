import type { Answer } from "../../core/contract/index.ts";
import { type Fault, type Sayings, wireError } from "./errors.ts";
import { errorText, type RequestId } from "./json-rpc.ts";
import type { Era } from "./revision.ts";

/** An error as the answer to an exchange. */
export function faultAnswer(fault: Fault, era: Era, id: RequestId | null, sayings: Sayings): Answer {
  const { status, headers, bare, message } = wireError(fault, era, sayings);
  const body = bare ? JSON.stringify({ error: message }) : errorText(id, fault, era, sayings);
  return { status, ...(headers === undefined ? undefined : { headers }), body };
}
