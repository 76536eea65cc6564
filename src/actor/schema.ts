import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type Bag, isBag, type Json, TroupeError } from "../contract/index.ts";
import { jsonSchemaCheck } from "./json-schema.ts";
import { plain } from "./plain.ts";

/** Where a value does not fit (`a.0.b`, "" for the value itself) and what was expected there. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export type Checked = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Compiled once, at the definition. */
export type Check = (value: unknown) => Checked;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const ISSUES_SHOWN = 8;
const ISSUE_LENGTH = 300;

/** A validator out of a Standard Schema or a plain JSON Schema; throws `BAD_DEFINITION`. */
export function compileCheck(schema: object, where: string): Check {
  if (isStandard(schema)) return standardCheck(schema, where);
  return jsonSchemaCheck(plainSchema(schema, where), where);
}

/** The JSON Schema a client reads, in the dialect 2020-12; throws `BAD_DEFINITION` where the library has no conversion. */
export function toJsonSchema(schema: object, side: "input" | "output", where: string): Bag {
  if (!isStandard(schema)) return plainSchema(schema, where);
  const { vendor } = schema["~standard"];
  if (!isConvertible(schema)) {
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: this ${vendor} schema has no JSON Schema (no \`~standard.jsonSchema\`). Pass a schema of a library that has (zod 4.2 or newer, ArkType), or a plain JSON Schema object.`,
    );
  }
  let converted: unknown;
  try {
    converted = schema["~standard"].jsonSchema[side]({ target: "draft-2020-12" });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: this ${vendor} schema cannot be written as JSON Schema (${why}). Use types that JSON has, or pass a plain JSON Schema object.`,
      { cause },
    );
  }
  const { $schema: dialect, ...rest } = bag(converted, where);
  // 2020-12 is what a reader assumes; any other dialect must be said.
  return dialect === undefined || dialect === DIALECT ? rest : { $schema: dialect, ...rest };
}

/** The same schema, which must be one of an object: `type` is filled in where a union or a reference leaves it open. */
export function asObjectSchema(schema: Bag, where: string): Bag {
  if (schema["type"] === "object") return schema;
  if (schema["type"] === undefined) return { type: "object", ...schema };
  throw new TroupeError("BAD_DEFINITION", `${where} must be the schema of an object: a client sends arguments by name.`);
}

/** One sentence for people and models, bounded in length. */
export function describeIssues(issues: readonly Issue[]): string {
  const shown = issues
    .slice(0, ISSUES_SHOWN)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`).slice(0, ISSUE_LENGTH));
  const more = issues.length - shown.length;
  return shown.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/**
 * A plain JSON Schema (2020-12) that is known to describe a `T`: typed arguments without a
 * schema library. Shown to clients word for word, compiled here (`BAD_DEFINITION`).
 */
export function fromJsonSchema<T>(schema: Bag): StandardSchemaV1<T, T> & StandardJSONSchemaV1<T, T>;
export function fromJsonSchema(schema: Bag): StandardSchemaV1 & StandardJSONSchemaV1 {
  const check = jsonSchemaCheck(schema, "fromJsonSchema()");
  const validate = (value: unknown): StandardSchemaV1.Result<unknown> => {
    const checked = check(value);
    if (checked.issues === undefined) return { value: checked.value };
    return { issues: checked.issues.map(({ path, message }) => ({ message, path: path === "" ? [] : path.split(".") })) };
  };
  const convert = (): Record<string, unknown> => schema;
  return { "~standard": { version: 1, vendor: "json-schema", validate, jsonSchema: { input: convert, output: convert } } };
}

function standardCheck(schema: StandardSchemaV1, where: string): Check {
  const { validate } = schema["~standard"];
  return (value) => {
    const result = validate(value);
    if (result instanceof Promise) {
      void result.catch(() => undefined);
      throw new TroupeError("BAD_DEFINITION", `${where} validates asynchronously: a turn cannot wait. Check what waits in \`work\`.`);
    }
    return result.issues === undefined ? result : { issues: result.issues.map(issueOf) };
  };
}

function issueOf(issue: StandardSchemaV1.Issue): Issue {
  const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return { path, message: issue.message };
}

function isStandard(schema: object): schema is StandardSchemaV1 {
  return "~standard" in schema;
}

function isConvertible(schema: StandardSchemaV1): schema is StandardSchemaV1 & StandardJSONSchemaV1 {
  const standard: object = schema["~standard"];
  return "jsonSchema" in standard && typeof standard.jsonSchema === "object" && standard.jsonSchema !== null;
}

function plainSchema(schema: object, where: string): Bag {
  if (typeof schema === "function") throw new TroupeError("BAD_DEFINITION", `${where} is a function: pass a schema.`);
  // As the official SDK's first version takes them.
  if (Object.values(schema).some((one) => typeof one === "object" && one !== null && isStandard(one)))
    throw new TroupeError("BAD_DEFINITION", `${where} is a record of schemas: pass one schema, z.object({ … }) around it.`);
  return bag(schema, where);
}

function bag(value: unknown, where: string): Bag {
  const copy: Json = plain(value, where, "BAD_DEFINITION");
  if (isBag(copy)) return copy;
  throw new TroupeError("BAD_DEFINITION", `${where} is no schema: pass a Standard Schema (zod, ArkType, …) or a JSON Schema object.`);
}
