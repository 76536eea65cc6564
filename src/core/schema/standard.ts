// Owns: schemas of libraries (Standard Schema): recognising them, and reporting the values they reject. Does not own: converting
// them to JSON Schema (to-json-schema.ts).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, Json, Offer } from "../contract/index.ts";
import { pointerStep, pointerSteps } from "../contract/internal.ts";

/** Whether it is a schema of a library (zod, ArkType, …): an object or a function. */
export function isStandard(value: unknown): value is StandardSchemaV1 {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}

/**
 * Whether a schema may accept more than its JSON Schema says (`z.coerce`) and has messages of its author's: true for libraries' schemas
 * that do not wrap a JSON Schema.
 */
export const takesMisfits = (schema: object): boolean => isStandard(schema) && schema["~standard"].vendor !== WRAPPED;

/** The vendor of a Standard Schema that is a JSON Schema and nothing else. */
export const WRAPPED = "json-schema";

/** An invalid value, as a JSON Pointer, and what was expected there. */
export interface Issue {
  readonly pointer: string;
  readonly message: string;
}

const MAX_DESCRIBED = 8;
const MAX_LISTED = 20;
const MAX_LENGTH = 300;

/** Converts an issue of a library. */
export function issueOf({ path = [], message }: StandardSchemaV1.Issue): Issue {
  const steps = path.map((step) => pointerStep(String(typeof step === "object" ? step.key : step)));
  return { pointer: steps.join(""), message };
}

/** A pointer for people: `a.0.b`, "" for the root. */
export const dottedPath = (pointer: string): string => pointerSteps(pointer).join(".");

/** One sentence for people and models, bounded in length. */
export function describeIssues(issues: readonly Issue[]): string {
  const described = issues
    .slice(0, MAX_DESCRIBED)
    .map(({ pointer, message }) => (pointer === "" ? message : `${dottedPath(pointer)}: ${message}`).slice(0, MAX_LENGTH));
  const more = issues.length - described.length;
  return described.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** The issues as data, bounded too: a sender can make names, and so paths, arbitrarily long. */
export const listIssues = (issues: readonly Issue[]): readonly JsonObject[] =>
  issues
    .slice(0, MAX_LISTED)
    .map(({ pointer, message }) => ({ path: dottedPath(pointer).slice(0, MAX_LENGTH), message: message.slice(0, MAX_LENGTH) }));

// Libraries allocate objects for each invalid value and continue: a large body of them would take a hundred times its size.
const FEW = 1_000;

/** Whether the source, not the gateway, decides about arguments that do not match the published schema. */
export function judgesMisfits({ checksArguments }: Offer, args: Json): boolean {
  return checksArguments === true || (checksArguments === "misfits" && valuesIn(args, FEW) <= FEW);
}

/** Counts values, and stops above `enough`. */
function valuesIn(value: Json, enough: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const member of Object.values(value)) {
    if (count > enough) break;
    count += valuesIn(member, enough - count);
  }
  return count;
}
