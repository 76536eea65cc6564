import { isBag, type Json } from "../../core/contract/index.ts";
import { VERSION_META } from "./modern/envelope.ts";
import { isLegacyRevision, isModernRevision, type Revision } from "./revision.ts";

/** The revision a message says it is of: in its header, else in its `_meta`. `unknown`: none there is; undefined: it does not say. */
export function claimedRevision(header: string | undefined, params: Json | undefined): Revision | "unknown" | undefined {
  const meta = isBag(params) ? params["_meta"] : undefined;
  const claim = header ?? (isBag(meta) ? meta[VERSION_META] : undefined);
  if (claim === undefined) return undefined;
  if (typeof claim !== "string") return "unknown";
  return isModernRevision(claim) || isLegacyRevision(claim) ? claim : "unknown";
}
