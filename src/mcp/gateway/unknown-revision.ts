import type { Answer, Exchange } from "../../core/contract/index.ts";
import { claimedRevision } from "./claimed-revision.ts";
import { faultAnswer } from "./fault-answer.ts";
import type { Batch, Incoming } from "./json-rpc.ts";
import { claimedVersion, unsupported } from "./modern/envelope.ts";
import type { Profile } from "./profile.ts";

/** The refusal of a message, outside of any session, that says it is of a revision there is not. Undefined: it is of none such. */
export function unknownRevision(profile: Profile, request: Exchange, incoming: Incoming | Batch): Answer | undefined {
  if (incoming.kind === "batch" || incoming.kind === "malformed") return undefined;
  if (request.header("mcp-session-id") !== undefined || (incoming.kind === "request" && incoming.method === "initialize")) return undefined;
  const params = incoming.kind === "response" ? undefined : incoming.params;
  const version = request.header("mcp-protocol-version")?.trim();
  const named = version ?? (params === undefined ? undefined : claimedVersion(params));
  // Of a header sent twice nobody knows which is meant: that is for whoever compares headers to say.
  if (named === undefined || named.includes(",") || claimedRevision(version, params) !== "unknown") return undefined;
  return faultAnswer(
    unsupported(named, profile.supported),
    "modern",
    incoming.kind === "notification" ? null : incoming.id,
    profile.faults,
  );
}
