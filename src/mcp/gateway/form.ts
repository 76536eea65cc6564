import { isBag, isList, type Json } from "../../core/contract/index.ts";
import { Fault } from "./errors.ts";
import { has, type Revision } from "./revision.ts";

/** A form's schema as that revision has it. Throws `CAPABILITY` where it has no such form: its clients would refuse the whole. */
export function shapeForm(schema: Json, revision: Revision): Json {
  if (has(revision, "choices") || !isBag(schema) || !isBag(schema["properties"])) return schema;
  const fields = Object.entries(schema["properties"]).map(([name, field]) => [name, shapeField(name, field, revision)] as const);
  return { ...schema, properties: Object.fromEntries(fields) };
}

function shapeField(name: string, field: Json, revision: Revision): Json {
  if (!isBag(field)) return field;
  if (field["type"] === "array")
    throw new Fault("CAPABILITY", `This asks for a list (${name.slice(0, 100)}), and ${revision} has no form for one: use a newer client.`);
  const { oneOf, ...rest } = field;
  if (!isList(oneOf)) return field;
  const titled = oneOf.filter(isBag);
  return { ...rest, enum: titled.map((one) => one["const"] ?? null), enumNames: titled.map((one) => one["title"] ?? null) };
}
