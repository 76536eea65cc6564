// Owns: converting schemas of libraries to JSON Schema. Does not own: checking what an author wrote as JSON Schema (check-schema.ts).

import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type JsonObject, isJsonObject, type Json, TroupeError } from "../contract/index.ts";
import { getOwn, messageOf } from "../contract/internal.ts";
import { checkSchema, checkWhole } from "./check-schema.ts";
import { isStandard } from "./standard.ts";

/** A Standard Schema (zod, ArkType, …) or a plain JSON Schema, which is used unchanged. */
export type Schema = StandardSchemaV1 | JsonObject;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** The JSON Schema a client reads; throws `BAD_DEFINITION` where the library cannot write one. */
export function toJsonSchema(schema: Schema, side: "input" | "output", where: string): JsonObject {
  if (isStandard(schema)) return converted(schema, side, where);
  checkSchema(schema, where);
  return schema;
}

function converted(schema: StandardSchemaV1, side: "input" | "output", where: string): JsonObject {
  const { vendor } = schema["~standard"];
  if (!isConvertible(schema)) {
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: this ${vendor} schema has no JSON Schema (no \`~standard.jsonSchema\`). Pass a schema of a library that has (zod 4.2 or newer, ArkType), or a plain JSON Schema object.`,
    );
  }
  let written: Json;
  try {
    written = JSON.parse(JSON.stringify(schema["~standard"].jsonSchema[side]({ target: "draft-2020-12" })));
    if (!isJsonObject(written)) throw new TypeError("it is no object");
  } catch (cause) {
    const why = messageOf(cause);
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: this ${vendor} schema cannot be written as JSON Schema (${why}). Use types that JSON has, or pass a plain JSON Schema object.`,
      { cause },
    );
  }
  checkWhole(written, where);
  const { $schema: dialect, ...rest } = written;
  // 2020-12 is what a reader assumes; any other dialect must be named.
  return dialect === undefined || dialect === DIALECT ? withoutRootReference(rest) : { $schema: dialect, ...rest };
}

const DEFS = "#/$defs/";

/**
 * Libraries put a named or recursive schema behind a reference. At the root that hides `properties`, from which servers and clients take
 * arguments, choices and forms; some clients then show a model a tool without arguments.
 */
function withoutRootReference(schema: JsonObject): JsonObject {
  const { $ref, $defs, ...siblings } = schema;
  if (typeof $ref !== "string" || !$ref.startsWith(DEFS) || !isJsonObject($defs)) return schema;
  const name = $ref.slice(DEFS.length);
  const named = getOwn($defs, name);
  // A definition that has references or names of its own, or keywords of its siblings, would mean something else at the root.
  if (
    !isJsonObject(named) ||
    Object.keys(named).some((key) => key.startsWith("$") || (Object.hasOwn(siblings, key) && key !== "description"))
  )
    return schema;
  const { [name]: _, ...others } = $defs;
  const recurs = JSON.stringify([named, others]).includes(JSON.stringify($ref));
  const remaining = recurs ? $defs : others;
  return { ...named, ...siblings, ...(Object.keys(remaining).length === 0 ? {} : { $defs: remaining }) };
}

function isConvertible(schema: StandardSchemaV1): schema is StandardSchemaV1 & StandardJSONSchemaV1 {
  const standard: object = schema["~standard"];
  return "jsonSchema" in standard && typeof standard.jsonSchema === "object" && standard.jsonSchema !== null;
}
