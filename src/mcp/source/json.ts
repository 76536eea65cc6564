// Owns: values as JSON: checked against schemas, compared, copied. Does not own: the schemas (core/schema).

import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { type JsonObject, EngineError, isJsonObject, type Json, TroupeError } from "../../core/contract/index.ts";
import { DEEPEST, memoize, setOwn } from "../../core/contract/internal.ts";
import { compilerFor, describeIssues, isStandard, issueOf, listIssues, type Schema } from "../../core/schema/index.ts";

/** The value as the schema made it, or what is wrong with it in one bounded sentence. */
export type Checked = { readonly value: unknown } | Misfit;

/** `path` is a JSON Pointer; a Standard Schema has its paths in `issues` (`a.0.b`). */
export interface Misfit {
  readonly wrong: string;
  readonly path?: string;
  readonly issues?: readonly JsonObject[];
}

const validatorOf = memoize((schema: JsonObject): ValidateFunction => {
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

function describeError(error: ErrorObject | undefined): string {
  if (error === undefined) return "does not fit its schema";
  const where = error.instancePath.split("/").slice(1).join(".");
  const what = error.message ?? "does not fit";
  const allowed: unknown = error.params["allowedValues"];
  const among = Array.isArray(allowed) ? `: ${allowed.map((one) => JSON.stringify(one)).join(", ")}` : "";
  return `${where === "" ? "" : `${where} `}${what}${among}`.slice(0, 500);
}

/** Checks a value against a plain JSON Schema, which is compiled once. Fills no defaults. */
export function checkJson(schema: JsonObject, value: unknown): Checked {
  const validate = validatorOf(schema);
  if (validate(value)) return { value };
  const error = validate.errors?.[0];
  return { wrong: describeError(error), path: error?.instancePath ?? "" };
}

/**
 * Checks a value against either kind of schema. Returns the Standard Schema's own value, with its defaults and transforms. An author's
 * checks (zod's `refine`) expect values that fit its `jsonSchema`: if they throw for one that does not, the value is wrong.
 */
export async function check(schema: Schema, value: unknown, jsonSchema?: Json): Promise<Checked> {
  if (!isStandard(schema)) return checkJson(schema, value);
  let result: StandardSchemaV1.Result<unknown>;
  try {
    result = await schema["~standard"].validate(value);
  } catch (error) {
    const checked = isJsonObject(jsonSchema) ? checkJson(jsonSchema, value) : { value };
    if ("wrong" in checked) return checked;
    throw error;
  }
  if (result.issues === undefined) return { value: result.value };
  const issues = result.issues.map(issueOf);
  return { wrong: describeIssues(issues), issues: listIssues(issues) };
}

/** Whether they are equal as JSON, where the order of keys has no meaning. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
}

class NotJson {
  readonly path: readonly (string | number)[];
  readonly why: string;
  constructor(why: string, path: readonly (string | number)[] = []) {
    this.why = why;
    this.path = path;
  }
}

/**
 * The value as `JSON.stringify` writes it: with `toJSON`, without what is undefined. But what would silently become `{}` or a list of
 * numbers is refused. Throws `STATE_NOT_JSON`, naming the path.
 */
export function toJson(value: unknown, where: string): Json {
  if (typeof value === "string") return value;
  if (value === undefined) return null;
  let copy: Json | NotJson | undefined;
  try {
    copy = copied(value, 0);
  } catch (cause) {
    throw new EngineError("STATE_NOT_JSON", `${where} is not JSON: it cannot be read.`, { applied: "unknown", cause });
  }
  if (copy !== undefined && !(copy instanceof NotJson)) return copy;
  const { why, path } = copy ?? new NotJson(`is a ${typeof value} (return text, or plain values)`);
  const at = path.length === 0 ? "it" : `/${path.join("/").slice(0, 200)}`;
  throw new EngineError("STATE_NOT_JSON", `${where} is not JSON: ${at} ${why}.`, { applied: "unknown" });
}

/** Undefined: JSON omits it. */
function copied(value: unknown, depth: number): Json | NotJson | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return new NotJson("is a bigint (use its text)");
    case "object":
      if (value === null) return null;
      return depth >= DEEPEST ? new NotJson(`is deeper than ${DEEPEST} levels, or holds itself`) : copiedObject(value, depth);
    default:
      return undefined;
  }
}

function copiedObject(object: object, depth: number): Json | NotJson | undefined {
  if (Array.isArray(object)) return copiedList(object, depth);
  const prototype: unknown = Object.getPrototypeOf(object);
  const isPlain = prototype === Object.prototype || prototype === null;
  const why = isPlain ? undefined : lossOf(object);
  if (why !== undefined) return new NotJson(why);
  if ("toJSON" in object && typeof object.toJSON === "function") {
    const written: unknown = object.toJSON();
    return written === object ? new NotJson("gives itself for its JSON") : copied(written, depth + 1);
  }
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const made = copied(Reflect.get(object, key), depth + 1);
    if (made instanceof NotJson) return new NotJson(made.why, outer(key, made));
    if (made === undefined) continue;
    setOwn(copy, key, made);
  }
  return copy;
}

function copiedList(list: readonly unknown[], depth: number): Json | NotJson {
  const copy: Json[] = [];
  for (const item of list) {
    const made = copied(item, depth + 1);
    if (made instanceof NotJson) return new NotJson(made.why, outer(copy.length, made));
    copy.push(made ?? null);
  }
  return copy;
}

// The path into a value that holds itself has no end, so it is cut.
const outer = (step: string | number, { path }: NotJson): readonly (string | number)[] => [step, ...path.slice(0, 15)];

function lossOf(object: object): string | undefined {
  if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer)
    return "is bytes (return blob(bytes) of a resource, content([image(bytes, type)]) of a tool)";
  if (object instanceof Promise) return "is a promise (await it)";
  if (object instanceof Error) return "is an error (throw it, or return failure(…))";
  if (object instanceof Map || object instanceof Set) return `is a ${object.constructor.name} (use Object.fromEntries(…), or a list of it)`;
  return undefined;
}
