// Owns: the questions to a client in the middle of a call, in the shape of its revision, and the check of its answers. Does not own: sending
// the question (legacy/session-request.ts through legacy/client-requests.ts, modern/modern-request.ts, task.ts).
import { type JsonObject, isJsonObject, isList, type Json } from "../../core/contract/index.ts";
import { capabilityNeeded, EXTENSION, isExtensionMethod } from "../../core/contract/internal.ts";
import { type Call, type Members, type Refusal, REFUSED_META } from "./call.ts";
import { Fault, InternalError } from "./errors.ts";
import { shortText } from "./json-rpc.ts";
import { toolError } from "./result-shapes.ts";
import { eraOf, has, type Revision } from "./revision.ts";

/** The methods of the questions to a client in the middle of a call. */
export type AskMethod = "elicitation/create" | "sampling/createMessage" | "roots/list" | ExtensionMethod;
type ExtensionMethod = `${string}.${string}/${string}/${string}`;

export interface Question {
  readonly method: AskMethod;
  readonly params: JsonObject;
  /** The capability that the client needs for it. */
  readonly needs: string;
}

/** Reads the questions of a call: key → `{method, params}`. Throws `InternalError` for anything else. */
export function questionsOf(needs: JsonObject): ReadonlyMap<string, Question> {
  return new Map(
    Object.entries(needs).map(([key, request]) => {
      if (!isJsonObject(request) || !isAskMethod(request["method"])) throw new InternalError(noQuestion(key, request));
      const params = isJsonObject(request["params"]) ? request["params"] : {};
      return [key, { method: request["method"], params, needs: capabilityNeeded(request["method"], params) }];
    }),
  );
}

/** The capabilities that these questions need and the client did not declare. */
export const unmet = (questions: ReadonlyMap<string, Question>, can: readonly string[]): readonly string[] =>
  [...new Set(Array.from(questions.values(), ({ needs }) => needs))].filter((one) => !can.includes(one));

function noQuestion(key: string, request: Json | undefined): string {
  const method = isJsonObject(request) ? JSON.stringify(request["method"])?.slice(0, 100) : undefined;
  return `The question ${JSON.stringify(key.slice(0, 100))} is no request that can be sent to a client: its method is ${method ?? "missing"}, not elicitation/create, sampling/createMessage, roots/list, or an extension's own.`;
}

export function isAskMethod(method: Json | undefined): method is AskMethod {
  return typeof method === "string" && (isCoreMethod(method) || isExtensionMethod(method));
}

function isCoreMethod(method: string): boolean {
  return method === "elicitation/create" || method === "sampling/createMessage" || method === "roots/list";
}

/** The params in the shape of that revision. Throws `CAPABILITY` if it has no such question. */
export function shapeQuestion({ method, params }: Question, revision: Revision, newId: () => string): JsonObject {
  if (method !== "elicitation/create") return params;
  const { mode, elicitationId, requestedSchema, ...others } = params;
  const rest: JsonObject = requestedSchema === undefined ? others : { ...others, requestedSchema: shapeForm(requestedSchema, revision) };
  const shaped: Record<string, Json> = has(revision, "elicitationModes") && mode !== undefined ? { mode, ...rest } : { ...rest };
  if (mode === "url" && has(revision, "elicitationIds")) shaped["elicitationId"] = elicitationId ?? newId();
  return shaped;
}

/**
 * Checks the shape and size of a client's answer before an actor sees it. Throws `PARAMS`. Without a method (a retry that carries no
 * state) any of the three shapes is accepted.
 */
export function checkAnswer(key: string, answer: Json, method: AskMethod | undefined, maxLength: number): Json {
  const fits =
    method === undefined
      ? CHECKS.some(([, check]) => isJsonObject(answer) && check(answer))
      : isJsonObject(answer) && (isExtensionMethod(method) || CHECKS.some(([of, check]) => of === method && check(answer)));
  if (!fits) throw new Fault("PARAMS", `The answer ${key.slice(0, 100)} is not the result of ${method ?? "a request a server can make"}.`);
  if (JSON.stringify(answer).length > maxLength)
    throw new Fault("PARAMS", `The answer ${key.slice(0, 100)} is longer than ${maxLength} characters.`);
  return answer;
}

const CHECKS: readonly (readonly [AskMethod, (answer: JsonObject) => boolean])[] = [
  ["elicitation/create", isElicitResult],
  ["sampling/createMessage", isSample],
  ["roots/list", isRoots],
];

function isElicitResult({ action, content }: JsonObject): boolean {
  if (action === "decline" || action === "cancel") return true;
  if (action !== "accept") return false;
  return content === undefined || content === null || (isJsonObject(content) && Object.values(content).every(isFieldValue));
}

function isFieldValue(value: Json): boolean {
  return isList(value) ? value.every((one) => typeof one === "string") : value === null || typeof value !== "object";
}

function isSample({ role, content, model }: JsonObject): boolean {
  return (
    (role === "user" || role === "assistant") &&
    typeof model === "string" &&
    (isJsonObject(content) || (isList(content) && content.every(isJsonObject)))
  );
}

function isRoots({ roots }: JsonObject): boolean {
  return isList(roots) && roots.length <= 1_000 && roots.every((root) => isJsonObject(root) && typeof root["uri"] === "string");
}

/** A form's schema in the shape of that revision. Throws `CAPABILITY` if it has no such form, since its clients would refuse all of it. */
function shapeForm(schema: Json, revision: Revision): Json {
  if (has(revision, "choices") || !isJsonObject(schema) || !isJsonObject(schema["properties"])) return schema;
  const fields = Object.entries(schema["properties"]).map(([name, field]) => [name, shapeField(name, field, revision)] as const);
  return { ...schema, properties: Object.fromEntries(fields) };
}

function shapeField(name: string, field: Json, revision: Revision): Json {
  if (!isJsonObject(field)) return field;
  if (field["type"] === "array")
    throw new Fault("CAPABILITY", `This asks for a list (${name.slice(0, 100)}), and ${revision} has no form for one: use a newer client.`);
  const { oneOf, ...rest } = field;
  if (!isList(oneOf)) return field;
  const titled = oneOf.filter(isJsonObject);
  return { ...rest, enum: titled.map((one) => one["const"] ?? null), enumNames: titled.map((one) => one["title"] ?? null) };
}

/**
 * Reports in a tool's result that its client did not declare the capabilities to answer. Throws `CAPABILITY` where the error can carry
 * what is missing.
 */
export function cannotAsk(call: Call, missing: readonly string[]): Members {
  const message = `This needs a client that accepts questions (${missing.join(", ")}), and this one did not declare it.`;
  if (call.method !== "tools/call" || eraOf(call.revision) === "modern")
    throw new Fault("CAPABILITY", message, { data: { requiredCapabilities: capabilities(missing) } });
  return { members: toolError(message), meta: { [REFUSED_META]: { code: "CAPABILITY" } } };
}

// An author may refuse with this code; it has the same effect as a question that the client cannot answer.
export const CANNOT_ASK = "CANNOT_ASK";

const MOST_NAMED = 64;

export function capabilitiesIn({ data }: Refusal): readonly string[] {
  const named =
    isJsonObject(data) && isList(data["capabilities"]) ? data["capabilities"] : [isJsonObject(data) ? (data["capability"] ?? null) : null];
  const known = named.slice(0, MOST_NAMED).flatMap((one) => shortText(one, 256) ?? []);
  return known.length === 0 ? ["elicitation"] : known;
}

function capabilities(missing: readonly string[]): JsonObject {
  const extensions = missing.filter((one) => one.startsWith(EXTENSION)).map((one) => [one.slice(EXTENSION.length), {}] as const);
  const own = missing.filter((one) => !one.startsWith(EXTENSION)).map(nested);
  return { ...Object.fromEntries(own), ...(extensions.length === 0 ? undefined : { extensions: Object.fromEntries(extensions) }) };
}

function nested(one: string): readonly [string, JsonObject] {
  const [name = "", part] = one.split(".");
  return [name, part === undefined ? {} : { [part]: {} }];
}
