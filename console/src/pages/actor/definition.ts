// Owns: which members of a definition a revision of MCP has. Does not own: the gateway's own rule (src/mcp/gateway/list-pages.ts).
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import type { OfferShape } from "../../../../src/bridges/console/shapes.ts";

/** Member → the first revision that has it, and the last, where a later one does not. Revisions are dates: they compare as text. */
const MEMBERS: Readonly<Record<string, readonly [since: string, until?: string]>> = {
  title: ["2025-06-18"],
  outputSchema: ["2025-06-18"],
  icons: ["2025-11-25"],
  execution: ["2025-11-25", "2025-11-25"],
  _meta: ["2025-06-18"],
};

/** As a list of that revision has it. */
export function definitionIn(revision: string, { list, name, definition }: Pick<OfferShape, "list" | "name" | "definition">): JsonObject {
  const has = (member: string): boolean => {
    const [since, until] = MEMBERS[member] ?? (member === "annotations" && list === "tools" ? ["2025-03-26"] : ["2024-11-05"]);
    return since <= revision && (until === undefined || revision <= until);
  };
  const members = Object.entries({ ...(list === "resources" ? {} : { name }), ...definition });
  return Object.fromEntries(members.filter(([member]) => has(member)));
}
