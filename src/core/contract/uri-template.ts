import { TroupeError } from "./errors.ts";

/** In characters. A longer URI is nobody's: matching stays cheap whatever a client sends. */
export const MAX_URI = 4_096;

const EXPRESSION = /\{(\+?)([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z0-9_%-][A-Za-z0-9_.%-]*$/;
// RFC 3986, 2: clients that read URIs write another otherwise, which is then not found.
const SIGNS = /^(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/;

/**
 * The variables of a template of RFC 6570: `{id}` of level 1, and `{+path}`, which may hold slashes; of a URI none. `aside` is one
 * that may come often and is not among them. Throws `BAD_DEFINITION` for what is neither.
 */
export function templateVariables(uri: unknown, where: string, aside?: string): readonly string[] {
  const bad = (why: string): TroupeError => new TroupeError("BAD_DEFINITION", `${where}: ${why}.`);
  if (typeof uri !== "string" || uri === "") throw bad("there is no URI: give uri, as in notes://{id}");
  const names: string[] = [];
  for (const [expression, operator, name = ""] of uri.matchAll(EXPRESSION)) {
    if (!VARIABLE.test(name))
      throw bad(`${expression} is of RFC 6570 more than is read here: use {name}, or {+name} for what may hold slashes`);
    if (names.includes(name)) throw bad(`${expression} is there twice: give each variable a name of its own`);
    if (name !== aside || operator !== "") names.push(name);
  }
  const literal = uri.replaceAll(EXPRESSION, "");
  if (/[{}]/.test(literal)) throw bad(`${uri} has a brace without its partner`);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uri)) throw bad(`${uri} is no URI: begin with a scheme, as in notes://${uri.slice(0, 40)}`);
  if (!SIGNS.test(literal)) throw bad(`${uri} has signs that no URI has: write them percent-encoded, a space as %20`);
  return names;
}
