import { type Bag, isBag, TroupeError } from "../contract/index.ts";

/** Choices are texts: of a number or an object no value would ever be among them, and its offer could not be called. Throws `BAD_DEFINITION`. */
export function choosable(names: readonly string[], properties: Bag, where: string): void {
  for (const name of names) {
    const type = typeOf(properties[name]);
    if (type === undefined || type.includes("string")) continue;
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: \`choices.${name}\` are texts, and the argument is ${type.join(" or ")}: make it text or a list of texts, or write its values into its schema.`,
    );
  }
}

/** The types of a value, of a list those of its items; undefined: the schema leaves it open. */
function typeOf(schema: unknown): readonly string[] | undefined {
  if (!isBag(schema)) return undefined;
  const { type } = schema;
  if (type === "array") return typeOf(schema["items"]);
  const types = Array.isArray(type) ? type : [type];
  return types.every((one) => typeof one === "string") ? types : undefined;
}
