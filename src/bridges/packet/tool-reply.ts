import { CONTENT, isJsonObject, type Json, type Reply } from "../../core/contract/index.ts";
import { isContent, wellFormed } from "../../core/contract/internal.ts";
import type { PacketError } from "./packet-error.ts";

/** What a capability gave, as the reply to a tool call: text as it is, else as JSON, objects as structured content too. */
export function toolReply(result: Json): Reply {
  // The author's own content blocks.
  if (isContent(result)) return { ok: { isError: false, ...result } };
  const text = typeof result === "string" ? result : wellFormed(JSON.stringify(result));
  return { ok: { [CONTENT]: [{ type: "text", text }], ...(isJsonObject(result) ? { structured: result } : {}), isError: false } };
}

/** What it answered that it could not do: the caller's mistake is an error of the request, all else a result to be read. */
export function toolFailure({ type, message, details }: PacketError): Reply {
  if (type === "validation_failed") return invalidParams(message);
  const structured = { error: { type, message, details } };
  return { ok: { [CONTENT]: [{ type: "text", text: `${type}: ${message}` }], structured, isError: true } };
}

const invalidParams = (capability_error: string): Reply => ({
  refused: { code: "INVALID_PARAMS", message: "Invalid params", data: { capability_error } },
});

export const NOTHING_THERE: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };
