import type { StandardSchemaV1 } from "@standard-schema/spec";

/** Of a library (zod, ArkType, …): an object, or a function. */
export function isStandard(value: unknown): value is StandardSchemaV1 {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}

/** Where in a value an issue is: `a.0.b`, "" for the value itself. */
export const pathOf = ({ path = [] }: StandardSchemaV1.Issue): string =>
  path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
