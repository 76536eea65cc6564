import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Bag } from "../contract/index.ts";

/** Where a value does not fit (`a.0.b`, "" for the value itself) and what was expected there. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

const MOST_SAID = 8;
const MOST_LISTED = 20;
const LONGEST = 300;

/** As a library tells it. */
export const issueOf = ({ path = [], message }: StandardSchemaV1.Issue): Issue => ({
  path: path.map((step) => String(typeof step === "object" ? step.key : step)).join("."),
  message,
});

/** One sentence for people and models, bounded in length. */
export function describeIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, MOST_SAID).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`).slice(0, LONGEST));
  const more = issues.length - shown.length;
  return shown.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** The same for programs: a path may be as long as its sender made a name. */
export const listIssues = (issues: readonly Issue[]): readonly Bag[] =>
  issues.slice(0, MOST_LISTED).map(({ path, message }) => ({ path: path.slice(0, LONGEST), message: message.slice(0, LONGEST) }));
