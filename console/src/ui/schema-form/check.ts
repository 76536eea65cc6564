// Owns: whether a value fits a JSON Schema, and what is wrong by path, in words for people. Does not own: the server's own check, which
// decides.
import { Validator } from "@cfworker/json-schema";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";

/** Path (JSON Pointer) → what is wrong there. */
export type Mistakes = ReadonlyMap<string, string>;

export const NO_MISTAKES: Mistakes = new Map();

// These say only that something inside does not fit, which has a message of its own.
const AROUND = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties", "patternProperties", "not", "if"]);

/** What is wrong with the value. A schema that cannot be read finds nothing: the server checks again. */
export function check(schema: JsonObject, value: Json): Mistakes {
  let found;
  try {
    found = new Validator(schema, "2020-12", false).validate(value).errors;
  } catch {
    return NO_MISTAKES;
  }
  const mistakes = new Map<string, string>();
  const unlikely = unlikelyVariants(found.map(({ keywordLocation }) => keywordLocation));
  for (const { keyword, keywordLocation, instanceLocation, error } of found) {
    if (AROUND.has(keyword) || unlikely.some((prefix) => keywordLocation.startsWith(prefix))) continue;
    const at = decode(instanceLocation);
    const missing = keyword === "required" ? /"(.*)"/s.exec(error)?.[1] : undefined;
    const path = missing === undefined ? at : `${at}/${missing.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    // What is deeper was found after what is around it, and says more.
    if (!mistakes.has(path) || keyword !== "oneOf") mistakes.set(path, mistakes.get(path) ?? inWords(keyword, error));
  }
  const paths = [...mistakes.keys()];
  for (const [path, text] of mistakes) if (text === ALTERNATIVES && paths.some((one) => one.startsWith(`${path}/`))) mistakes.delete(path);
  return mistakes;
}

const decode = (location: string): string => {
  try {
    return decodeURIComponent(location.replace(/^#/, ""));
  } catch {
    return location.replace(/^#/, "");
  }
};

/** Of alternatives that all fail, only the mistakes of the one that fits best are of use. */
function unlikelyVariants(locations: readonly string[]): readonly string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const location of locations)
    for (const { index, 0: part } of location.matchAll(/\/(?:oneOf|anyOf)\/\d+(?=\/)/g)) {
      const whole = location.slice(0, index + part.length);
      const group = location.slice(0, index + part.lastIndexOf("/"));
      const own = counts.get(group) ?? new Map<string, number>();
      // A constant that does not match means that another variant was meant.
      own.set(whole, (own.get(whole) ?? 0) + (location.endsWith("/const") ? 10 : 1));
      counts.set(group, own);
    }
  return [...counts.values()].flatMap((own) => {
    const [best] = [...own].toSorted(([, one], [, other]) => one - other)[0] ?? [];
    return [...own.keys()].filter((whole) => whole !== best).map((whole) => `${whole}/`);
  });
}

const ALTERNATIVES = "It fits none of the alternatives.";

function inWords(keyword: string, error: string): string {
  if (keyword === "required") return "Required.";
  if (keyword === "oneOf" || keyword === "anyOf") return ALTERNATIVES;
  if (keyword === "false") return "This member is not allowed here.";
  if (keyword === "minLength" && error.includes("(0 < 1)")) return "It must not be empty.";
  const expected = keyword === "type" ? /Expected (.*)\.$/.exec(error)?.[1] : undefined;
  if (expected !== undefined) return `It must be of the type ${expected.replaceAll('"', "")}.`;
  return error.replace(/^Instance /, "It ").replace("does not match any of", "must be one of");
}
