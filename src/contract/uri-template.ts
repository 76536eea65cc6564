import { TroupeError } from "./errors.ts";

const EXPRESSION = /\{([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z0-9_%-][A-Za-z0-9_.%-]*$/;
// RFC 3986, 2: clients that read URIs write another otherwise, which is then not found.
const SIGNS = /^(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/;

/**
 * The variables of a template of RFC 6570 level 1; of a URI none. `aside` is one that may come often and is not among them. Throws
 * `BAD_DEFINITION` for what is neither.
 */
export function templateVariables(uri: unknown, where: string, aside?: string): readonly string[] {
  const bad = (why: string): TroupeError => new TroupeError("BAD_DEFINITION", `${where}: ${why}.`);
  if (typeof uri !== "string" || uri === "") throw bad("there is no URI: give uri, as in notes://{id}");
  const names: string[] = [];
  for (const [expression, name = ""] of uri.matchAll(EXPRESSION)) {
    if (!VARIABLE.test(name)) throw bad(`${expression} is more than RFC 6570 level 1: use {name}`);
    if (names.includes(name)) throw bad(`${expression} is there twice: give each variable a name of its own`);
    if (name !== aside) names.push(name);
  }
  const literal = uri.replaceAll(EXPRESSION, "");
  if (/[{}]/.test(literal)) throw bad(`${uri} has a brace without its partner`);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uri)) throw bad(`${uri} is no URI: begin with a scheme, as in notes://${uri.slice(0, 40)}`);
  if (!SIGNS.test(literal)) throw bad(`${uri} has signs that no URI has: write them percent-encoded, a space as %20`);
  return names;
}
