// Owns: what tools, resources and prompts differ in on the way of a request, and the check of a tool's arguments against its schema.
// Does not own: the order of the steps (dispatch.ts), completing an argument (completion.ts).
import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";
import { isJsonObject, isList, type Json, type JsonObject, type Offer, TroupeError } from "../../core/contract/index.ts";
import { closestMatch, MAX_URI, memoize } from "../../core/contract/internal.ts";
import { compilerFor, judgesMisfits } from "../../core/schema/index.ts";
import { type Call, type Members, type Refusal, REFUSED_META } from "./call.ts";
import { failureData, Fault, faultOf, type Reason, type ValidationError } from "./errors.ts";
import type { OfferIndex, Target } from "./find-offer.ts";
import { EMPTY, inexactIntegersIn, shortText } from "./json-rpc.ts";
import { promptMembers, resourceMembers, toolError, toolMembers } from "./result-shapes.ts";

/** How one of the three methods does each step. */
export interface OfferKind {
  /** Resolves what the call names. Throws if there is no such offer. */
  target(call: Call, offers: OfferIndex): Target;
  /** The error for an offer that does not exist for the viewer. */
  unknown(call: Call, target: Target): Fault;
  /** Returns, or throws, what is wrong with the arguments; undefined: nothing. */
  validate(call: Call, target: Target): ValidationError | undefined;
  /** The arguments for the source. */
  args(call: Call, target: Target): Json;
  encode(call: Call, target: Target, value: Json): string;
  /** What to append to a refusal of the arguments; may be empty. */
  hint(call: Call, target: Target): string;
  /** Answers a domain refusal other than `UNKNOWN`. */
  refuse(refusal: Refusal): Members;
  /** The source failed: returns an outcome that the caller can read, or throws. */
  fail(error: unknown, target: Target): Members;
}

function nameIn(call: Call): string {
  const { name: given } = call.params;
  const name = shortText(given, 256);
  if (name === undefined)
    throw new Fault(
      "PARAMS",
      `${call.method} needs a name: text of 1 to 256 characters.`,
      missingOr(given, call.method === "tools/call" ? "tool name" : "name"),
    );
  return name;
}

/** Why a name does not do: it is missing, or has the wrong shape. */
function missingOr(given: Json | undefined, about: string): { readonly reason: Reason; readonly about?: string } {
  return given === undefined || given === null || given === "" ? { reason: "name-missing", about } : { reason: "params-shape" };
}

function argumentsIn(call: Call): JsonObject {
  const args = call.params["arguments"];
  if (args === undefined || args === null) return EMPTY;
  if (!isJsonObject(args)) throw new Fault("PARAMS", "The arguments are an object.", { reason: "params-shape" });
  return args;
}

function refusalMeta({ code, data }: Refusal): JsonObject {
  return { [REFUSED_META]: { code, ...(data === undefined ? undefined : { data }) } };
}

// A prompt's arguments are text. Some clients send `true` or 3 as JSON values, whose text is clear.
function asText(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || typeof value === "number" ? String(value) : undefined;
}

function textsIn(args: JsonObject): JsonObject {
  return Object.values(args).every((value) => typeof value === "string")
    ? args
    : Object.fromEntries(Object.entries(args).map(([name, value]) => [name, asText(value) ?? ""]));
}

// Law 3: hidden and unknown answer alike.
const unknownTool = (name: string): Fault => new Fault("UNKNOWN_OFFER", `Unknown tool: ${name}`, { reason: "tool-unknown", about: name });
const unknownPrompt = (name: string): Fault =>
  new Fault("UNKNOWN_OFFER", `Unknown prompt: ${name}`, { reason: "prompt-unknown", about: name });
const noResource = (uri: string): Fault => new Fault("RESOURCE_NOT_FOUND", "Resource not found", { data: { uri }, about: uri });

export const tool: OfferKind = {
  target(call, offers) {
    const name = nameIn(call);
    argumentsIn(call);
    const target = offers.tools.get(name);
    if (target === undefined) throw unknownTool(name);
    return target;
  },
  unknown: (_call, { offer }) => unknownTool(offer.name),
  validate(call, { offer }) {
    const args = argumentsIn(call);
    call.checkArguments?.(offer, args);
    const inexact = inexactIntegersIn(args);
    if (inexact !== undefined || offer.checksArguments === true) return inexact;
    return validateArguments(offer, args);
  },
  args: (call) => argumentsIn(call),
  encode: (call, { offer }, value) => toolMembers(value, offer.definition, call.revision),
  hint: (call, { offer }) => hintUnknownNames(offer, argumentsIn(call)),
  refuse(refusal) {
    return { members: toolError(refusal.message), meta: refusalMeta(refusal) };
  },
  fail(error) {
    // The model that called can read why, and whether to try again. A fault of the server itself is a JSON-RPC error.
    const fault = faultOf(error);
    if (fault.kind !== "FAILED" || !(error instanceof TroupeError)) throw error;
    return { members: toolError(fault.message), meta: { [REFUSED_META]: failureData(error) } };
  },
};

export const prompt: OfferKind = {
  target(call, offers) {
    const name = nameIn(call);
    const target = offers.prompts.get(name);
    if (target === undefined) throw unknownPrompt(name);
    return target;
  },
  unknown: (_call, { offer }) => unknownPrompt(offer.name),
  validate(call, { offer }) {
    const args = argumentsIn(call);
    const wrong = Object.keys(args).find((key) => asText(args[key]) === undefined);
    if (wrong !== undefined) throw new Fault("PARAMS", `The argument ${wrong.slice(0, 100)} is text.`);
    const wanted = offer.definition["arguments"];
    for (const argument of isList(wanted) ? wanted : []) {
      if (
        isJsonObject(argument) &&
        argument["required"] === true &&
        typeof argument["name"] === "string" &&
        !Object.hasOwn(args, argument["name"])
      )
        throw new Fault("PARAMS", `The prompt ${offer.name} needs the argument ${argument["name"]}.`);
    }
    return undefined;
  },
  args: (call) => textsIn(argumentsIn(call)),
  encode: (call, { offer }, value) => promptMembers(value, offer.definition, call.revision),
  hint: () => "",
  refuse(refusal) {
    throw refused(refusal);
  },
  fail(error) {
    throw error;
  },
};

function uriIn(call: Call): string {
  const { uri: given } = call.params;
  const uri = shortText(given, MAX_URI);
  if (uri === undefined)
    throw new Fault("PARAMS", `${call.method} needs a uri: text of 1 to ${MAX_URI} characters.`, missingOr(given, "uri"));
  return uri;
}

export const resource: OfferKind = {
  target(call, offers) {
    const uri = uriIn(call);
    const target = offers.resource(uri);
    if (target === undefined) throw noResource(uri);
    return target;
  },
  unknown: (call) => noResource(uriIn(call)),
  validate: () => undefined,
  args: (_call, target) => target.args,
  encode: (call, { offer }, value) => resourceMembers(value, uriIn(call), offer.definition, call.revision),
  hint: () => "",
  refuse(refusal) {
    throw refused(refusal);
  },
  fail(error) {
    throw error;
  },
};

function refused(refusal: Refusal): Fault {
  const { code, message, data } = refusal;
  return new Fault(code === "INVALID" ? "PARAMS" : "REFUSED", message, { data: { code, ...(data === undefined ? undefined : { data }) } });
}

/** The same kind for dialects where a handler that throws or refuses gives an error with its message, and never a result. */
export function withHandlerErrors(kind: OfferKind): OfferKind {
  return {
    ...kind,
    refuse({ code, message }: Refusal) {
      throw code === "INVALID" ? new Fault("PARAMS", `Invalid params: ${message}`) : new Fault("HANDLER", message);
    },
    fail(error, { ref, offer }) {
      if (error instanceof TroupeError && error.code === "WORK_TIMEOUT")
        throw new Fault("HANDLER", `${kindOf(ref)} "${offer.name}" timed out`);
      // The message of a fault of the server itself is not for clients.
      throw error instanceof TroupeError && faultOf(error).kind === "FAILED" ? new Fault("HANDLER", messageOf(error)) : error;
    },
  };
}

const kindOf = (ref: string): string => ref.slice(0, ref.indexOf("/")).replace(/s$/, "");

/** The message of the handler, not of the error the source wrapped it in. */
function messageOf(error: TroupeError): string {
  return error.code === "CRASHED" && error.cause instanceof Error ? error.cause.message : error.message;
}

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
