import { loadAjv } from "../platform/index.ts";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, isBag, type Json, TroupeError } from "../contract/index.ts";
import { checkSchema } from "./schema-check.ts";

/** A Standard Schema (zod, ArkType, …) or a plain JSON Schema, which is kept word for word. */
export type Schema = StandardSchemaV1 | Bag;

function isStandard(schema: Schema): schema is StandardSchemaV1 {
  // Plain JavaScript may pass what is no object.
  return Object(schema) === schema && "~standard" in schema;
}

function isConvertible(schema: StandardSchemaV1): schema is StandardSchemaV1 & StandardJSONSchemaV1 {
  return "jsonSchema" in schema["~standard"];
}

/** The JSON Schema a client reads; throws `BAD_DEFINITION` where the library cannot write one. */
export function toJsonSchema(schema: Schema, side: "input" | "output", where: string): Bag {
  if (!isStandard(schema)) {
    checkSchema(schema, where);
    return schema;
  }
  try {
    if (isConvertible(schema)) {
      const text = JSON.stringify(schema["~standard"].jsonSchema[side]({ target: "draft-2020-12" }));
      const written: Json = JSON.parse(text);
      if (isBag(written)) {
        const { $schema: _dialect, ...rest } = written;
        return rest;
      }
    }
  } catch (cause) {
    throw new TroupeError("BAD_DEFINITION", `${where} cannot be written as JSON Schema: use types that JSON has, or pass a JSON Schema.`, {
      cause,
    });
  }
  throw new TroupeError("BAD_DEFINITION", `${where} has no JSON Schema: use a library that has (zod 4.2, ArkType), or pass a JSON Schema.`);
}

/** What is wrong with a value, in one bounded sentence, or the value as the schema made it. */
export type Checked =
  | { readonly value: unknown }
  /** `path`: where, as a JSON Pointer; of a Standard Schema absent. */
  | { readonly wrong: string; readonly path?: string };

const compiled = new WeakMap<object, ValidateFunction>();

function validatorOf(schema: Bag): ValidateFunction {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    const Ajv = loadAjv();
    // An instance of its own: one for all would keep every schema that was ever added, and their `$id`s would meet.
    const ajv = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false, logger: false });
    const { $schema: _dialect, ...rest } = schema;
    try {
      validate = ajv.compile(rest);
    } catch (cause) {
      throw new TroupeError(
        "BAD_DEFINITION",
        "A schema cannot be compiled: make it a JSON Schema of 2020-12 without references to elsewhere.",
        {
          cause,
        },
      );
    }
    compiled.set(schema, validate);
  }
  return validate;
}

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

/** Checks a value against either kind of schema; a Standard Schema's own value (defaults, transforms) is returned. */
export async function check(schema: Schema, value: unknown): Promise<Checked> {
  if (!isStandard(schema)) return checkJson(schema, value);
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { value: result.value };
  const said = result.issues.slice(0, 8).map((issue) => {
    const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return path === "" ? issue.message : `${path}: ${issue.message}`;
  });
  return { wrong: said.join("; ").slice(0, 500) };
}
