import { TroupeError } from "../contract/index.ts";
import { hasUriSigns } from "../contract/internal.ts";

const EXPRESSION = /\{([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z0-9_]+$/;

/** The variables of a resource's template that arrive as arguments; `{alias}` is the cast's. Throws `BAD_DEFINITION` beyond RFC 6570 level 1. */
export function variablesOf(template: string, where: string): readonly string[] {
  const names: string[] = [];
  for (const [expression, name = ""] of template.matchAll(EXPRESSION)) {
    if (!VARIABLE.test(name))
      throw new TroupeError(
        "BAD_DEFINITION",
        `${where}: ${expression} is more than RFC 6570 level 1: use {name}, of letters, digits and _.`,
      );
    if (name !== "alias" && !names.includes(name)) names.push(name);
  }
  if (/[{}]/.test(template.replaceAll(EXPRESSION, "")))
    throw new TroupeError("BAD_DEFINITION", `${where}: ${template} has a brace without its partner.`);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(template))
    throw new TroupeError("BAD_DEFINITION", `${where}: ${template} is no URI: begin with a scheme, as in door://{alias}/state.`);
  if (!hasUriSigns(template.replaceAll(EXPRESSION, "")))
    throw new TroupeError("BAD_DEFINITION", `${where}: ${template} has signs that no URI has: write them percent-encoded, a space as %20.`);
  return names;
}
