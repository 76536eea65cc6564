import { TroupeError } from "../contract/index.ts";
import { hasUriSigns } from "../contract/internal.ts";

const EXPRESSION = /\{([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z0-9_%-][A-Za-z0-9_.%-]*$/;

/** A URI, or a template of RFC 6570 level 1. Throws `BAD_DEFINITION`. */
export function checkUri(uri: unknown, where: string): void {
  const bad = (why: string): TroupeError => new TroupeError("BAD_DEFINITION", `${where}: ${why}.`);
  if (typeof uri !== "string" || uri === "") throw bad("there is no URI: give uri, as in notes://{id}");
  const seen = new Set<string>();
  for (const [expression, name = ""] of uri.matchAll(EXPRESSION)) {
    if (!VARIABLE.test(name)) throw bad(`${expression} is more than RFC 6570 level 1: use {name}`);
    if (seen.has(name)) throw bad(`${expression} is there twice: give each variable a name of its own`);
    seen.add(name);
  }
  if (/[{}]/.test(uri.replaceAll(EXPRESSION, ""))) throw bad(`${uri} has a brace without its partner`);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uri)) throw bad(`${uri} is no URI: begin with a scheme, as in notes://${uri.slice(0, 40)}`);
  if (!hasUriSigns(uri.replaceAll(EXPRESSION, "")))
    throw bad(`${uri} has signs that no URI has: write them percent-encoded, a space as %20`);
}
