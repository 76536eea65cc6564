import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, TroupeError } from "../contract/index.ts";
import { compilerFor } from "../schema/index.ts";
import type { Issue } from "../schema/index.ts";
import type { Check } from "./schema.ts";

const OPTIONS: Options = { allErrors: true, useDefaults: true };

/** Compiles a plain JSON Schema. Defaults are filled into a copy, never into what was passed. */
export function jsonSchemaCheck(schema: Bag, where: string): Check {
  const compiler = compilerFor(schema, OPTIONS);
  let validate: ValidateFunction;
  try {
    validate = compiler.compile(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TroupeError("BAD_DEFINITION", `${where} is no JSON Schema that can be compiled: ${why}.`, { cause });
  }
  const fills = JSON.stringify(schema).includes('"default"');
  return (value) => {
    const candidate = fills ? structuredClone(value) : value;
    return validate(candidate) ? { value: candidate } : { issues: (validate.errors ?? []).map(issueOf) };
  };
}

function issueOf(error: ErrorObject): Issue {
  const missing: unknown = error.params["missingProperty"];
  if (error.keyword === "required" && typeof missing === "string")
    return { path: dotted(`${error.instancePath}/${missing}`), message: "is required" };
  const extra: unknown = error.params["additionalProperty"];
  if (typeof extra === "string") return { path: dotted(`${error.instancePath}/${extra}`), message: "is not known" };
  const allowed: unknown = error.params["allowedValues"];
  if (Array.isArray(allowed))
    return { path: dotted(error.instancePath), message: `must be one of ${allowed.map((one) => JSON.stringify(one)).join(", ")}` };
  return { path: dotted(error.instancePath), message: error.message ?? "does not fit" };
}

function dotted(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
}
