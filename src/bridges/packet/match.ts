import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type JsonObject, isJsonObject, type Json, TroupeError } from "../../core/contract/index.ts";
import { isStandard } from "../../core/schema/index.ts";
import { sameJson } from "../../mcp/source/index.ts";

/** What a payload must be like: parts of it, or a schema. */
export type Pattern = StandardSchemaV1 | JsonObject;

/** The payload as its handler gets it: as a schema made it, or with the parts a pattern names known. */
export type PayloadOf<P> = P extends StandardSchemaV1<unknown, infer T> ? T : P extends object ? JsonObject & P : JsonObject;

/** Undefined: it does not match. */
export type Matcher = (payload: JsonObject) => { readonly payload: unknown } | undefined;

/** Throws `BAD_DEFINITION` where a pattern can never match. */
export function matcher(pattern: object | undefined, where: string): Matcher {
  if (pattern === undefined) return (payload) => ({ payload });
  if (isStandard(pattern)) return bySchema(pattern, where);
  const parts = Object.entries(pattern);
  const schema = schemaIn(pattern);
  if (schema !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: \`match\` has a schema at ${schema}, within a part of the payload, where no payload can equal it: put one schema around the whole, as in match: z.looseObject({ … }).`,
    );
  if (!isJson(pattern))
    throw new TroupeError("BAD_DEFINITION", `${where}: \`match\` holds what no payload can: use JSON, or a schema for all else.`);
  if (parts.length === 0)
    throw new TroupeError("BAD_DEFINITION", `${where}: \`match\` names nothing. Leave it away for a handler that takes every payload.`);
  return (payload) =>
    parts.every(([name, part]) => Object.hasOwn(payload, name) && isLike(payload[name], part)) ? { payload } : undefined;
}

/** Where within a part of a payload a library's schema stands. */
function schemaIn(part: unknown): string | undefined {
  if (typeof part !== "object" || part === null) return undefined;
  for (const [name, inner] of Object.entries(part)) {
    if (isStandard(inner)) return name;
    const within = schemaIn(inner);
    if (within !== undefined) return `${name}.${within}`;
  }
  return undefined;
}

/** Objects by the parts named, all else as it is. */
function isLike(value: Json | undefined, part: unknown): boolean {
  if (!isJsonObject(part) || !isJsonObject(value)) return value !== undefined && sameJson(value, part);
  return Object.entries(part).every(([name, inner]) => Object.hasOwn(value, name) && isLike(value[name], inner));
}

function bySchema(schema: StandardSchemaV1, where: string): Matcher {
  return (payload) => {
    const result = schema["~standard"].validate(payload);
    if ("then" in result) {
      // Its own failure is nobody's news any more.
      result.then(undefined, () => undefined);
      throw new TroupeError(
        "BAD_DEFINITION",
        `${where}: its schema validates asynchronously, or a check in it throws of this payload. Which message a payload is, is known at once.`,
      );
    }
    return result.issues === undefined ? { payload: result.value } : undefined;
  };
}

function isJson(part: unknown): boolean {
  if (Array.isArray(part)) return part.every(isJson);
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object" || part === null) return part === null || typeof part === "string" || typeof part === "boolean";
  return Object.prototype.toString.call(part) === "[object Object]" && Object.values(part).every(isJson);
}
