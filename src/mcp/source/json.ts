// Owns: JSON checked against schemas, and compared. Does not own: the schemas (core/schema).

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, isBag, type Json, TroupeError } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import { compilerFor, describeIssues, isStandard, issueOf, listIssues, type Schema } from "../../core/schema/index.ts";

/** What is wrong with a value, in one bounded sentence, or the value as the schema made it. */
export type Checked = { readonly value: unknown } | Misfit;

/** `path`: where, as a JSON Pointer; of a Standard Schema `issues` says it (`a.0.b`). */
export interface Misfit {
  readonly wrong: string;
  readonly path?: string;
  readonly issues?: readonly Bag[];
}

const validatorOf = memoize((schema: Bag): ValidateFunction => {
  const compiler = compilerFor(schema);
  try {
    return compiler.compile(schema);
  } catch (cause) {
    throw new TroupeError(
      "BAD_DEFINITION",
      "A schema cannot be compiled: make it a JSON Schema of 2020-12 without references to elsewhere.",
      {
        cause,
      },
    );
  }
});

function sayError(error: ErrorObject | undefined): string {
  if (error === undefined) return "does not fit its schema";
  const where = error.instancePath.split("/").slice(1).join(".");
  const what = error.message ?? "does not fit";
  const allowed: unknown = error.params["allowedValues"];
  const among = Array.isArray(allowed) ? `: ${allowed.map((one) => JSON.stringify(one)).join(", ")}` : "";
  return `${where === "" ? "" : `${where} `}${what}${among}`.slice(0, 500);
}

/** Checks a value against a plain JSON Schema, compiled on first use and kept with the schema. Fills no defaults. */
export function checkJson(schema: Bag, value: unknown): Checked {
  const validate = validatorOf(schema);
  if (validate(value)) return { value };
  const error = validate.errors?.[0];
  return { wrong: sayError(error), path: error?.instancePath ?? "" };
}

/**
 * Checks a value against either kind of schema; a Standard Schema's own value (defaults, transforms) is returned. An author's own
 * checks (zod's `refine`) are written for what fits its JSON Schema, `shown`: where they throw of what does not, that is no fault.
 */
export async function check(schema: Schema, value: unknown, shown?: Json): Promise<Checked> {
  if (!isStandard(schema)) return checkJson(schema, value);
  let result: StandardSchemaV1.Result<unknown>;
  try {
    result = await schema["~standard"].validate(value);
  } catch (error) {
    const checked = isBag(shown) ? checkJson(shown, value) : { value };
    if ("wrong" in checked) return checked;
    throw error;
  }
  if (result.issues === undefined) return { value: result.value };
  const issues = result.issues.map(issueOf);
  return { wrong: describeIssues(issues), issues: listIssues(issues) };
}

/** Equal as JSON: the order of an object's keys means nothing. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isBag(a) || !isBag(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
}
