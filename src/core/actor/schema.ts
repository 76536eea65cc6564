import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type Bag, TroupeError } from "../contract/index.ts";
import {
  assertPlain,
  checkSchema,
  type Issue,
  issueOf,
  isStandard,
  takesMisfits,
  toJsonSchema as written,
  WRAPPED,
} from "../schema/index.ts";
import { jsonSchemaCheck } from "./json-schema.ts";
import { plain } from "./plain.ts";

export type Checked = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Compiled once, at the definition. */
export type Check = (value: unknown) => Checked;

/** A validator out of a Standard Schema or a plain JSON Schema; throws `BAD_DEFINITION`. */
export function compileCheck(schema: object, where: string): Check {
  if (isStandard(schema)) return standardCheck(schema, where);
  return jsonSchemaCheck(plainSchema(schema, where), where);
}

/**
 * A validator of a tool's arguments, which clients are shown as `shown`. An author's own checks (zod's `refine`) are written for what
 * fits that: where they throw of what does not, it is their caller's mistake.
 */
export function compileInput(schema: object, shown: Bag, where: string): Check {
  const check = compileCheck(schema, where);
  if (!takesMisfits(schema)) return check;
  let fits: Check | undefined;
  return (value) => {
    try {
      return check(value);
    } catch (error) {
      fits ??= jsonSchemaCheck(shown, where);
      const { issues } = fits(value);
      if (issues === undefined) throw error;
      return { issues };
    }
  };
}

/** The JSON Schema a client reads; throws `BAD_DEFINITION` where the library cannot write one. */
export function toJsonSchema(schema: object, side: "input" | "output", where: string): Bag {
  return isStandard(schema) ? written(schema, side, where) : plainSchema(schema, where);
}

/** The same schema, which must be one of an object: `type` is filled in where a union or a reference leaves it open. */
export function asObjectSchema(schema: Bag, where: string): Bag {
  if (schema["type"] === "object") return schema;
  if (schema["type"] === undefined) return { type: "object", ...schema };
  throw new TroupeError("BAD_DEFINITION", `${where} must be the schema of an object: a client sends arguments by name.`);
}

/**
 * A plain JSON Schema (2020-12, or an older dialect that it names) that is known to describe a `T`: typed arguments without a
 * schema library. Shown to clients word for word, compiled here (`BAD_DEFINITION`).
 */
export function fromJsonSchema<T>(schema: Bag): StandardSchemaV1<T, T> & StandardJSONSchemaV1<T, T>;
export function fromJsonSchema(schema: Bag): StandardSchemaV1 & StandardJSONSchemaV1 {
  const check = jsonSchemaCheck(plainSchema(schema, "fromJsonSchema()"), "fromJsonSchema()");
  const validate = (value: unknown): StandardSchemaV1.Result<unknown> => {
    const checked = check(value);
    if (checked.issues === undefined) return { value: checked.value };
    return { issues: checked.issues.map(({ path, message }) => ({ message, path: path === "" ? [] : path.split(".") })) };
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
      // A library that was thrown at from a check of the author's tries again asynchronously, so the two look alike here.
      throw new TroupeError(
        "BAD_DEFINITION",
        `${where} validates asynchronously, or a check in it throws of this value: a turn cannot wait. Check what waits in \`work\`, and let checks return false.`,
      );
    }
    return result.issues === undefined ? result : { issues: result.issues.map(issueOf) };
  };
}

/** A copy of its own, that nothing can change. */
function plainSchema(schema: object, where: string): Bag {
  assertPlain(schema, where);
  const copy = plain(schema, where, "BAD_DEFINITION");
  checkSchema(copy, where);
  return copy;
}
