// Owns: schemas of libraries (Standard Schema): recognising them, and reporting the values they reject. Does not own: converting
// them to JSON Schema (to-json-schema.ts).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Bag, Json, Offer } from "../contract/index.ts";

/** Of a library (zod, ArkType, …): an object, or a function. */
export function isStandard(value: unknown): value is StandardSchemaV1 {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}

/**
 * Whether a schema may take what its JSON Schema does not show (`z.coerce`), and say in its author's words what it does not take: a
 * library's, and none that wraps a JSON Schema.
 */
export const takesMisfits = (schema: object): boolean => isStandard(schema) && schema["~standard"].vendor !== WRAPPED;

/** The vendor of a Standard Schema that is a JSON Schema and nothing else. */
export const WRAPPED = "json-schema";

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

// A library makes objects of its own for each value it does not take, and goes on: a body full of them would cost a hundred times its size.
const FEW = 1_000;

/** Whether arguments that do not fit the schema that clients are shown are the source's to judge: whether it takes them, and in what words it does not. */
export function judgesMisfits({ checksArguments }: Offer, args: Json): boolean {
  return checksArguments === true || (checksArguments === "misfits" && valuesIn(args, FEW) <= FEW);
}

/** How many values there are, no further than one more than `enough`. */
function valuesIn(value: Json, enough: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const member of Object.values(value)) {
    if (count > enough) break;
    count += valuesIn(member, enough - count);
  }
  return count;
}
