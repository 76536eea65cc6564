import type { Answer } from "../contract/index.ts";
import { type Fault, wireError } from "./errors.ts";
import { errorText, type RequestId } from "./json-rpc.ts";
import type { Era } from "./revision.ts";

/** An error as the answer to an exchange. */
export function faultAnswer(fault: Fault, era: Era, id: RequestId | null): Answer {
  const { status, headers } = wireError(fault, era);
  return { status, ...(headers === undefined ? undefined : { headers }), body: errorText(id, fault, era) };
}
