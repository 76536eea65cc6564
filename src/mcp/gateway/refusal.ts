import type { Answer } from "../../core/contract/index.ts";
import { Fault, type FaultKind } from "./errors.ts";
import { faultAnswer } from "./fault-answer.ts";
import { errorText, type RequestId } from "./json-rpc.ts";

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
