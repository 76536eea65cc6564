// Owns: the validators and the JSON Schemas of a definition. Does not own: the compilers and dialects (core/schema).
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type JsonObject, TroupeError } from "../contract/index.ts";
import { messageOf, pointerStep, pointerSteps } from "../contract/internal.ts";
import {
  assertPlain,
  checkSchema,
  compilerFor,
  type Issue,
  issueOf,
  isStandard,
  takesMisfits,
  toJsonSchema as written,
  WRAPPED,
} from "../schema/index.ts";
import { toJson } from "./to-json.ts";

export type Checked = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Compiled once, with the definition. */
export type Check = (value: unknown) => Checked;

/** The arguments as the author gets them, or the issues for `invalid`. */
export function readArgs({ input }: { readonly input: Check | undefined }, args: unknown): Checked {
  return input === undefined ? { value: args } : input(args ?? {});
}

/** A validator from a Standard Schema or a plain JSON Schema; throws `BAD_DEFINITION`. */
export function compileCheck(schema: object, where: string): Check {
  if (isStandard(schema)) return standardCheck(schema, where);
  return jsonSchemaCheck(plainSchema(schema, where), where);
}

/**
 * A validator of a tool's arguments; clients see `clientSchema`. An author's own checks (zod's `refine`) are written for values that
 * fit it: if one throws on a value that does not, that is the caller's mistake.
 */
export function compileInput(schema: object, clientSchema: JsonObject, where: string): Check {
  const check = compileCheck(schema, where);
  if (!takesMisfits(schema)) return check;
  let fits: Check | undefined;
  return (value) => {
    try {
      return check(value);
    } catch (error) {
      fits ??= jsonSchemaCheck(clientSchema, where);
      const { issues } = fits(value);
      if (issues === undefined) throw error;
      return { issues };
    }
  };
}

/** A validator of a tool's result. JSON has no `undefined`: clients get null, and refuse it if `clientSchema` does not allow that. */
export function compileOutput(schema: object, clientSchema: JsonObject, where: string): Check {
  const check = compileCheck(schema, where);
  let fits: Check | undefined;
  return (value) => {
    const checked = check(value);
    if (checked.issues !== undefined || checked.value !== undefined) return checked;
    fits ??= jsonSchemaCheck(clientSchema, where);
    return fits(null).issues === undefined ? checked : { issues: [{ pointer: "", message: "it is undefined, which JSON does not have" }] };
  };
}

/** The JSON Schema that clients read; throws `BAD_DEFINITION` if the library cannot write one. */
export function toJsonSchema(schema: object, side: "input" | "output", where: string): JsonObject {
  return isStandard(schema) ? written(schema, side, where) : plainSchema(schema, where);
}

/** The same schema, which must describe an object: `type` is filled in if a union or a reference leaves it open. */
export function asObjectSchema(schema: JsonObject, where: string): JsonObject {
  if (schema["type"] === "object") return schema;
  if (schema["type"] === undefined) return { type: "object", ...schema };
  throw new TroupeError("BAD_DEFINITION", `${where} must be the schema of an object: a client sends arguments by name.`);
}

/**
 * A plain JSON Schema (2020-12, or an older dialect that it names) that is known to describe a `T`: typed arguments without a schema
 * library. Clients see it unchanged; it is compiled here (`BAD_DEFINITION`).
 *
 * @example
 * ```ts
 * import { actor, fromJsonSchema } from "troupe";
 *
 * export const counter = actor("counter", {
 *   description: "A counter.",
 *   state: fromJsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } }, required: ["n"] }),
 *   initial: () => ({ n: 0 }),
 *   tools: { add: { description: "Add one.", run: ({ state }) => (state.n += 1) } },
 * });
 * ```
 */
export function fromJsonSchema<T>(schema: JsonObject): StandardSchemaV1<T, T> & StandardJSONSchemaV1<T, T>;
export function fromJsonSchema(schema: JsonObject): StandardSchemaV1 & StandardJSONSchemaV1 {
  const check = jsonSchemaCheck(plainSchema(schema, "fromJsonSchema()"), "fromJsonSchema()");
  const validate = (value: unknown): StandardSchemaV1.Result<unknown> => {
    const checked = check(value);
    if (checked.issues === undefined) return { value: checked.value };
    return { issues: checked.issues.map(({ pointer, message }) => ({ message, path: pointerSteps(pointer) })) };
  };
  const convert = (): Record<string, unknown> => schema;
  return { "~standard": { version: 1, vendor: WRAPPED, validate, jsonSchema: { input: convert, output: convert } } };
}

function standardCheck(schema: StandardSchemaV1, where: string): Check {
  const { validate } = schema["~standard"];
  return (value) => {
    const result = validate(value);
    if (result instanceof Promise) {
      void result.catch(() => undefined);
      // If a check of the author's throws, a library may try again asynchronously, so the two cannot be distinguished here.
      throw new TroupeError(
        "BAD_DEFINITION",
        `${where} validates asynchronously, or a check in it throws of this value: a turn cannot wait. Check what waits in \`work\`, and let checks return false.`,
      );
    }
    return result.issues === undefined ? result : { issues: result.issues.map(issueOf) };
  };
}

/** A private copy, so that nothing can change it later. */
function plainSchema(schema: object, where: string): JsonObject {
  assertPlain(schema, where);
  const copy = toJson(schema, where, "BAD_DEFINITION");
  checkSchema(copy, where);
  return copy;
}

const OPTIONS: Options = { allErrors: true, useDefaults: true };

/** Compiles a plain JSON Schema. Defaults are filled into a copy of the value, never into the value itself. */
function jsonSchemaCheck(schema: JsonObject, where: string): Check {
  const compiler = compilerFor(schema, OPTIONS);
  let validate: ValidateFunction;
  try {
    validate = compiler.compile(schema);
  } catch (cause) {
    const why = messageOf(cause);
    throw new TroupeError("BAD_DEFINITION", `${where} is no JSON Schema that can be compiled: ${why}.`, { cause });
  }
  const fills = JSON.stringify(schema).includes('"default"');
  return (value) => {
    const candidate = fills ? structuredClone(value) : value;
    return validate(candidate) ? { value: candidate } : { issues: (validate.errors ?? []).map(ajvIssue) };
  };
}

function ajvIssue(error: ErrorObject): Issue {
  const missing: unknown = error.params["missingProperty"];
  if (error.keyword === "required" && typeof missing === "string")
    return { pointer: error.instancePath + pointerStep(missing), message: "is required" };
  const extra: unknown = error.params["additionalProperty"];
  if (typeof extra === "string") return { pointer: error.instancePath + pointerStep(extra), message: "is not known" };
  const allowed: unknown = error.params["allowedValues"];
  if (Array.isArray(allowed))
    return { pointer: error.instancePath, message: `must be one of ${allowed.map((one) => JSON.stringify(one)).join(", ")}` };
  return { pointer: error.instancePath, message: error.message ?? "does not fit" };
}
