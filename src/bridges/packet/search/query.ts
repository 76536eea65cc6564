import { EngineError } from "../../../core/contract/index.ts";
import { ftsQuery, type SearchTerm, searchTerms } from "../../../core/contract/internal.ts";
import { PacketError } from "../packet-error.ts";

/** What a user searches for: as SQLite's FTS5 gets it, and as a match is shown. */
export interface Query {
  readonly match: string;
  readonly terms: readonly SearchTerm[];
}

/** Throws `PacketError` (`validation_failed`), which says what to write instead. */
export function readQuery(query: string): Query {
  try {
    const terms = searchTerms(query);
    return { match: `{text} : (${ftsQuery(terms)})`, terms };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const { message } = error;
    throw new PacketError("validation_failed", message, { issues: [{ path: "/query", message }] });
  }
}
