import { type Bag, isBag, type Json, TroupeError } from "../contract/index.ts";
import { isTexts } from "../contract/internal.ts";
import { whereMade } from "./bad-turn.ts";

const FORMATS: readonly string[] = ["email", "uri", "date", "date-time"];

/**
 * The fields of a form, out of the schema of its answer; throws `BAD_DEFINITION` where MCP allows no such form. A client would
 * refuse it whole, and be blamed for it.
 */
export function formFields(schema: Bag): Bag {
  const { properties } = schema;
  if (!isBag(properties)) throw unfit("", "it names no properties");
  for (const [name, property] of Object.entries(properties)) {
    const why = whyUnfit(property);
    if (why !== undefined) throw unfit(name, why);
  }
  return properties;
}

function whyUnfit(property: Json): string | undefined {
  if (!isBag(property)) return "it has no schema";
  const { type, format, items, oneOf } = property;
  switch (type) {
    case "string":
      if (format !== undefined && !(typeof format === "string" && FORMATS.includes(format)))
        return `its format is none of ${FORMATS.join(", ")}`;
      if (property["enum"] !== undefined && !isTexts(property["enum"])) return "its `enum` is no list of texts";
      return oneOf === undefined || isTitled(oneOf) ? undefined : "its `oneOf` is no list of { const, title }, both texts";
    case "number":
    case "integer":
      return property["enum"] === undefined ? undefined : "it is an enum of numbers";
    case "boolean":
      return undefined;
    case "array":
      return isBag(items) && ((items["type"] === "string" && isTexts(items["enum"])) || isTitled(items["anyOf"]))
        ? undefined
        : "it is a list of something else than an enum of texts";
    case "object":
      return "it is an object";
    default:
      return type === undefined ? "it is a union, a reference, or has no type" : `its type is ${JSON.stringify(type).slice(0, 60)}`;
  }
}

function isTitled(value: Json | undefined): boolean {
  return (
    Array.isArray(value) &&
    value.every((item: Json) => isBag(item) && typeof item["const"] === "string" && typeof item["title"] === "string")
  );
}

function unfit(name: string, why: string): TroupeError {
  const where = name === "" ? "The schema of elicit()" : `The schema of elicit(), ${name}`;
  return whereMade(
    new TroupeError(
      "BAD_DEFINITION",
      `${where}: ${why}. A form is a flat object of text, numbers, booleans, enums of text and lists of those enums: ask for more in several fields, or several times.`,
    ),
  );
}
