// Owns: the arguments of a tool checked against its schema. Does not own: those of prompts (offer-kinds.ts), completing one (completion.ts).
import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type JsonObject, isJsonObject, type Offer } from "../../core/contract/index.ts";
import { closestMatch, memoize } from "../../core/contract/internal.ts";
import { compilerFor, judgesMisfits } from "../../core/schema/index.ts";
import type { ValidationError } from "./errors.ts";

// Checking stops at the first issue, which bounds its time. Once there is one, short arguments are checked for all.
const SHORT_ARGUMENTS = 16_384;
const MOST_ISSUES = 8;
const MOST_VALUES = 50;
const MOST_PATH = 300;

/** Text: why the schema cannot be used; empty: there is none. */
function compiled({ definition }: Offer, options: Options): ValidateFunction | string {
  const schema = definition["inputSchema"];
  if (!isJsonObject(schema)) return "";
  // Outside of `try`: if the compiler cannot be loaded, that is not the schema's fault.
  const compiler = compilerFor(schema, options);
  try {
    return compiler.compile(schema);
  } catch (error) {
    return unusable(error instanceof Error ? error.message.slice(0, 200) : "unknown reason");
  }
}

const unusable = (why: string): string => `The input schema of this tool cannot be used (${why}); its author has to correct it.`;

const checkOf = memoize((offer: Offer) => compiled(offer, {}));
const wholeCheckOf = memoize((offer: Offer) => compiled(offer, { allErrors: true }));

/** Checks arguments against the offer's own schema, compiled once per offer. Undefined: they are valid. */
export function validateArguments(offer: Offer, args: JsonObject): ValidationError | undefined {
  const check = checkOf(offer);
  if (typeof check === "string") return check === "" ? undefined : { message: check };
  try {
    if (check(args) || judgesMisfits(offer, args)) return undefined;
  } catch (error) {
    // The stack is too short for a schema that leads back to itself; arguments are not that deep.
    if (error instanceof RangeError) return { message: unusable("it refers to itself without end") };
    throw error;
  }
  const found = errorsIn(offer, args, check).map(issueOf);
  const issues = [...new Map(found.map((issue) => [`${issue.where} ${issue.words}`, issue])).values()].slice(0, MOST_ISSUES);
  return {
    message: `Invalid arguments: ${issues.map(({ where, words }) => `${where === "" ? "the arguments" : where} ${words}`).join("; ")}.`,
    data: { issues: issues.map(({ path, words }) => ({ path, message: words })) },
  };
}

const MOST_UNKNOWN = 3;
/** Comparing a name with more costs more than the hint is worth. */
const MOST_KNOWN = 200;

/**
 * A hint to append to a refusal of arguments: names that the tool's schema does not have, each with the one that was probably meant. A
 * misspelt argument would otherwise only be reported as missing. Empty if every name is known, or the schema allows any.
 */
export function hintUnknownNames({ definition }: Offer, args: JsonObject): string {
  const schema = definition["inputSchema"];
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"]) || isJsonObject(schema["patternProperties"])) return "";
  const { additionalProperties } = schema;
  if (additionalProperties === true || isJsonObject(additionalProperties)) return "";
  const known = Object.keys(schema["properties"]);
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  if (unknown.length === 0 || known.length > MOST_KNOWN) return "";
  const named = unknown.slice(0, MOST_UNKNOWN).map((name) => {
    const meant = closestMatch(name, known);
    return `${JSON.stringify(name.slice(0, 100))}${meant === undefined ? "" : ` (did you mean ${JSON.stringify(meant)}?)`}`;
  });
  const more = unknown.length > named.length ? ` and ${unknown.length - named.length} more` : "";
  return ` This tool has no argument ${named.join(", ")}${more}.`;
}

function errorsIn(offer: Offer, args: JsonObject, { errors }: ValidateFunction): readonly ErrorObject[] {
  if (JSON.stringify(args).length > SHORT_ARGUMENTS) return errors ?? [];
  const check = wholeCheckOf(offer);
  if (typeof check !== "string") check(args);
  return (typeof check === "string" ? errors : check.errors) ?? [];
}

// A model reads this; it has all values in the list of tools.
function among(allowed: readonly unknown[]): string {
  const values = allowed.slice(0, MOST_VALUES).map((value) => JSON.stringify(value));
  return allowed.length > MOST_VALUES ? `${values.join(", ")} and ${allowed.length - MOST_VALUES} more` : values.join(", ");
}

/** `path` names the invalid value, `where` what contains it if it is missing or not allowed. */
interface Issue {
  readonly where: string;
  readonly path: string;
  readonly words: string;
}

function issueOf({ instancePath, message, ...error }: ErrorObject): Issue {
  const where = instancePath.slice(1, MOST_PATH).replaceAll("/", ".");
  const params: Record<string, unknown> = error.params;
  const { allowedValues, additionalProperty, missingProperty } = params;
  const within = (name: string): string => (where === "" ? name : `${where}.${name}`);
  if (Array.isArray(allowedValues)) return { where, path: where, words: `must be one of ${among(allowedValues)}` };
  if (typeof additionalProperty === "string") {
    const name = additionalProperty.slice(0, 100);
    return { where, path: within(name), words: `must not have ${JSON.stringify(name)}` };
  }
  return { where, path: typeof missingProperty === "string" ? within(missingProperty) : where, words: message ?? "do not fit" };
}
