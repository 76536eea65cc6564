import { createRequire } from "node:module";
import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, type Json, TroupeError } from "../contract/index.ts";
import type { Check, Issue } from "./schema.ts";

let shared: Ajv2020 | undefined;

// Loaded when the first plain JSON Schema appears: authors who use a schema library never pay its 30 ms.
function compiler(): Ajv2020 {
  if (shared === undefined) {
    const load: { readonly Ajv2020: typeof Ajv2020 } = createRequire(import.meta.url)("ajv/dist/2020.js");
    shared = new load.Ajv2020({
      strict: false,
      allErrors: true,
      useDefaults: true,
      validateFormats: false,
      addUsedSchema: false,
      meta: false,
      validateSchema: false,
    });
  }
  return shared;
}

/** Compiles a plain JSON Schema (2020-12). Defaults are filled into a copy, never into what was passed. */
export function jsonSchemaCheck(schema: Bag, where: string): Check {
  let validate: ValidateFunction;
  try {
    validate = compiler().compile(withoutDialect(schema));
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

// A named dialect would be looked up as a meta schema; the keywords are what counts.
function withoutDialect(schema: Bag): Bag {
  if (schema["$schema"] === undefined) return schema;
  const rest: Record<string, Json> = { ...schema };
  delete rest["$schema"];
  return rest;
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
