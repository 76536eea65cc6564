// Owns: which revision a message claims, and its refusal where there is none such. Does not own: the revisions (revision.ts).
import { type Answer, type Exchange, isBag, type Json } from "../../core/contract/index.ts";
import { claimedVersion, unsupported, VERSION_META } from "./modern/envelope.ts";
import { isLegacyRevision, isModernRevision, type Revision } from "./revision.ts";
import { faultAnswer } from "./fault-answers.ts";
import type { Batch, Incoming } from "./json-rpc.ts";
import type { Profile } from "./profile.ts";

/** The revision a message says it is of: in its header, else in its `_meta`. `unknown`: none there is; undefined: it does not say. */
export function claimedRevision(header: string | undefined, params: Json | undefined): Revision | "unknown" | undefined {
  const meta = isBag(params) ? params["_meta"] : undefined;
  const claim = header ?? (isBag(meta) ? meta[VERSION_META] : undefined);
  if (claim === undefined) return undefined;
  if (typeof claim !== "string") return "unknown";
  return isModernRevision(claim) || isLegacyRevision(claim) ? claim : "unknown";
}

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
