import type { StandardSchemaV1 } from "@standard-schema/spec";

/** Of a library (zod, ArkType, …): an object, or a function. */
export function isStandard(value: unknown): value is StandardSchemaV1 {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}

/**
 * Whether a schema may take what its JSON Schema does not show (`z.coerce`), and say in its author's words what it does not take: a
 * library's, and none that wraps a JSON Schema.
 */
export const takesMisfits = (schema: object): boolean => isStandard(schema) && schema["~standard"].vendor !== WRAPPED;

/** The vendor of a Standard Schema that is a JSON Schema and nothing else. */
export const WRAPPED = "json-schema";
