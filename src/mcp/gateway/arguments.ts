import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { type Bag, isBag, type Json, type Offer } from "../../core/contract/index.ts";
import { memoize, closestMatch } from "../../core/contract/internal.ts";
import { compilerFor, judgesMisfits } from "../../core/schema/index.ts";

/** What is wrong with a tool's arguments: a sentence, and of those that do not fit the schema each path (`a.0.b`). */
export interface Complaint {
  readonly message: string;
  readonly data?: { readonly issues: Json };
}

// Checking stops at the first mistake, so that nobody makes it long; of short arguments all mistakes are looked for once one was found.
const ALL_OF = 16_384;
const MOST_TOLD = 8;
const MOST_VALUES = 50;
const MOST_PATH = 300;

/** Text: there is nothing to check, or why nothing can be. */
function compiled({ definition }: Offer, options: Options): ValidateFunction | string {
  const schema = definition["inputSchema"];
  if (!isBag(schema)) return "";
  // Outside: that it cannot be loaded now is no fault of this schema.
  const compiler = compilerFor(schema, options);
  try {
    return compiler.compile(schema);
  } catch (error) {
    return `The input schema of this tool cannot be used (${error instanceof Error ? error.message.slice(0, 200) : "unknown reason"}); its author has to correct it.`;
  }
}

const checkOf = memoize((offer: Offer) => compiled(offer, {}));
const wholeCheckOf = memoize((offer: Offer) => compiled(offer, { allErrors: true }));

/** Checks arguments against the offer's own schema, compiled once per offer; undefined: they fit. */
export function complaintAbout(offer: Offer, args: Bag): Complaint | undefined {
  const check = checkOf(offer);
  if (typeof check === "string") return check === "" ? undefined : { message: check };
  if (check(args) || judgesMisfits(offer, args)) return undefined;
  const found = mistakes(offer, args, check).map(mistakeOf);
  const told = [...new Map(found.map((mistake) => [`${mistake.where} ${mistake.words}`, mistake])).values()].slice(0, MOST_TOLD);
  return {
    message: `Invalid arguments: ${told.map(({ where, words }) => `${where === "" ? "the arguments" : where} ${words}`).join("; ")}.`,
    data: { issues: told.map(({ path, words }) => ({ path, message: words })) },
  };
}

const MOST_UNKNOWN = 3;
/** To compare a name with more costs more than the hint is worth. */
const MOST_KNOWN = 200;

/**
 * What to add to a refusal of arguments: names that the tool's schema does not have, each with the one that was probably meant. A
 * misspelt argument would otherwise only be reported as missing. Empty where every name is known, or the schema takes any.
 */
export function unknownNames({ definition }: Offer, args: Bag): string {
  const schema = definition["inputSchema"];
  if (!isBag(schema) || !isBag(schema["properties"]) || isBag(schema["patternProperties"])) return "";
  const { additionalProperties } = schema;
  if (additionalProperties === true || isBag(additionalProperties)) return "";
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

function mistakes(offer: Offer, args: Bag, { errors }: ValidateFunction): readonly ErrorObject[] {
  if (JSON.stringify(args).length > ALL_OF) return errors ?? [];
  const check = wholeCheckOf(offer);
  if (typeof check !== "string") check(args);
  return (typeof check === "string" ? errors : check.errors) ?? [];
}

// For a model to read: all of them it has in the list.
function among(allowed: readonly unknown[]): string {
  const shown = allowed.slice(0, MOST_VALUES).map((value) => JSON.stringify(value));
  return allowed.length > MOST_VALUES ? `${shown.join(", ")} and ${allowed.length - MOST_VALUES} more` : shown.join(", ");
}

/** `where` holds what is wrong, `path` names it: they differ of what is missing or too much. */
interface Mistake {
  readonly where: string;
  readonly path: string;
  readonly words: string;
}

function mistakeOf({ instancePath, message, ...error }: ErrorObject): Mistake {
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
