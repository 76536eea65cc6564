// Owns: what a turn can ask the client: forms, its model, its folders, a confirmation. Does not own: when it asks (turn-context.ts).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  type ActorViewer,
  type JsonObject,
  isJsonObject,
  isList,
  type Json,
  type Message,
  type Reply,
  TroupeError,
} from "../contract/index.ts";
import { getOwn, isTexts, memoize } from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import { whereMade } from "./author-errors.ts";
import { refuse, refused } from "./replies.ts";
import { asObjectSchema, type Check, compileCheck, toJsonSchema } from "./schema.ts";

/** Something to ask the client in the middle of a call, and how to read its answer. */
export interface Question<T> {
  readonly request: { readonly method: string; readonly params: JsonObject };
  /** Refuses (`INVALID`) an answer that does not fit. */
  read(answer: Json): T;
}

// ── a form ──────────────────────────────────────────────────────────────────

/** How a person answered a form. */
export type Elicited<T> =
  | { readonly action: "accept"; readonly content: T }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

interface Form {
  readonly requested: JsonObject;
  readonly check: Check;
}

/**
 * A form for the person behind the client. MCP allows flat objects of text, numbers, booleans, enums of text and lists of those;
 * anything else throws `BAD_DEFINITION`. Without a schema, one checkbox: `content.yes`.
 *
 * @example
 * ```ts
 * import { actor, elicit } from "troupe";
 * import * as z from "zod";
 *
 * export const list = actor("list", {
 *   description: "A list of tasks.",
 *   state: z.object({ tasks: z.array(z.string()).default([]) }),
 *   tools: {
 *     clear: {
 *       description: "Remove all tasks.",
 *       run({ state, ask }) {
 *         const { answer } = ask({ answer: elicit("Remove all tasks?") });
 *         if (answer.action !== "accept" || !answer.content.yes) return "Nothing was removed.";
 *         state.tasks = [];
 *         return "All tasks are removed.";
 *       },
 *     },
 *   },
 * });
 * ```
 */
export function elicit(message: string): Question<Elicited<{ readonly yes: boolean }>>;
export function elicit<T>(message: string, schema: StandardSchemaV1<unknown, T>): Question<Elicited<T>>;
export function elicit(message: string, schema: object): Question<Elicited<JsonObject>>;
export function elicit(message: string, schema: object = YES): Question<Elicited<unknown>> {
  const form = formOf(schema);
  return {
    request: { method: "elicitation/create", params: { message, requestedSchema: form.requested } },
    read: (answer) => readForm(answer, form),
  };
}

const YES = { type: "object", properties: { yes: { type: "boolean", title: "Yes", default: false } }, required: ["yes"] };

const formOf = memoize((schema: object): Form => {
  const json = asObjectSchema(toJsonSchema(schema, "input", "elicit()"), "The schema of elicit()");
  const requested: Record<string, Json> = { type: "object", properties: formFields(json) };
  if (json["required"] !== undefined) requested["required"] = json["required"];
  return { requested, check: compileCheck(schema, "elicit()") };
});

function readForm(answer: Json, form: Form): Elicited<unknown> {
  const { action, content = {} } = isJsonObject(answer) ? answer : {};
  if (action === "decline" || action === "cancel") return { action };
  if (action !== "accept") return refuse("The answer is no elicitation result.", { code: "INVALID" });
  const checked = form.check(content);
  if (checked.issues !== undefined) return refuse(`The answer does not fit: ${describeIssues(checked.issues)}.`, { code: "INVALID" });
  return { action: "accept", content: checked.value };
}

/** The fields of a form, from the schema of its answer. Throws `BAD_DEFINITION` for a form that MCP does not allow: clients refuse it whole. */
function formFields(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties)) throw notAForm("", "it names no properties");
  for (const [name, property] of Object.entries(properties)) {
    const why = whyNoField(property);
    if (why !== undefined) throw notAForm(name, why);
  }
  return properties;
}

const FORMATS: readonly string[] = ["email", "uri", "date", "date-time"];

function whyNoField(property: Json): string | undefined {
  if (!isJsonObject(property)) return "it has no schema";
  const { type, format, items, oneOf } = property;
  switch (type) {
    case "string":
      if (format !== undefined && !(typeof format === "string" && FORMATS.includes(format)))
        return `its format is none of ${FORMATS.join(", ")}`;
      if (property["enum"] !== undefined && !isTexts(property["enum"])) return "its `enum` is no list of texts";
      return oneOf === undefined || isTitled(oneOf) ? undefined : "its `oneOf` is no list of { const, title }, both texts";
    case "number":
    case "integer":
      return property["enum"] === undefined ? undefined : "it is an enum of numbers";
    case "boolean":
      return undefined;
    case "array":
      return isJsonObject(items) && ((items["type"] === "string" && isTexts(items["enum"])) || isTitled(items["anyOf"]))
        ? undefined
        : "it is a list of something else than an enum of texts";
    case "object":
      return "it is an object";
    default:
      return type === undefined ? "it is a union, a reference, or has no type" : `its type is ${JSON.stringify(type).slice(0, 60)}`;
  }
}

function isTitled(value: Json | undefined): boolean {
  return (
    Array.isArray(value) &&
    value.every((item: Json) => isJsonObject(item) && typeof item["const"] === "string" && typeof item["title"] === "string")
  );
}

function notAForm(name: string, why: string): TroupeError {
  const where = name === "" ? "The schema of elicit()" : `The schema of elicit(), ${name}`;
  return whereMade(
    new TroupeError(
      "BAD_DEFINITION",
      `${where}: ${why}. A form is a flat object of text, numbers, booleans, enums of text and lists of those enums: ask for more in several fields, or several times.`,
    ),
  );
}

// ── a confirmation ──────────────────────────────────────────────────────────

const CONFIRM_KEY = "confirm";
const CONFIRM_FORM = { type: "object", properties: { confirm: { type: "boolean", title: "Confirm" } }, required: ["confirm"] };

/**
 * The key under which the client answers a question of that name. An actor that forwarded the call may have used the key for a question of
 * its own: the answer to that is null here.
 */
export function answerKey(name: string, { from, answers }: Message): string {
  let key = name;
  if (from === undefined) return key;
  while (getOwn(answers, key) === null) key = `forwarded ${key}`;
  return key;
}

/**
 * The key of the question of an action's `confirm`. The actor that forwarded the call may have a `confirm`, too, maybe not before the next
 * round, so the key is another one. An answer under `confirm` that the forwarding actor did not read is for this actor.
 */
export function confirmKey(message: Message): string {
  const isGiven = (getOwn(message.answers, CONFIRM_KEY) ?? null) !== null;
  return message.from === undefined || isGiven ? CONFIRM_KEY : answerKey(`forwarded ${CONFIRM_KEY}`, message);
}

/** The text of the question, or its function. A method's type compares parameters bivariantly, so every inferred definition is assignable. */
export type Confirm =
  | string
  | { ask(context: { readonly state: unknown; readonly args: unknown; readonly viewer: ActorViewer }): string | undefined }["ask"];

/** The question of an action's `confirm`, or the refusal (without a trace, C3) if the person did not confirm. Undefined: continue. */
export function unconfirmed(
  action: { readonly confirm: Confirm | undefined },
  state: object,
  args: unknown,
  viewer: ActorViewer,
  message: Message,
): Reply | undefined {
  // A client without elicitation has its own way to confirm a destructive tool.
  if (action.confirm === undefined || message.can?.includes("elicitation") !== true) return undefined;
  const text = typeof action.confirm === "string" ? action.confirm : action.confirm({ state, args, viewer });
  if (text === undefined) return undefined;
  const question = elicit(text, CONFIRM_FORM);
  const key = confirmKey(message);
  const answer = message.answers?.[key];
  if (answer === undefined) return { needs: { [key]: question.request } };
  const given = question.read(answer);
  if (given.action === "accept" && given.content["confirm"] === true) return undefined;
  return refused("NOT_CONFIRMED", "Not confirmed.");
}

// ── the client's model ──────────────────────────────────────────────────────

/** MCP's parameters of `sampling/createMessage`: these two, and whatever else the client's revision has. */
export type Sampling = JsonObject & { readonly messages: readonly JsonObject[]; readonly maxTokens: number };

type SamplingResult = JsonObject & {
  readonly role: "user" | "assistant";
  readonly model: string;
  readonly content: JsonObject | readonly JsonObject[];
  readonly stopReason?: string;
};

/** MCP's `CreateMessageResult`; `text` joins its text contents, one per line. */
export type Sampled = SamplingResult & { readonly text: string };

/**
 * Asks the client's model.
 *
 * @example
 * ```ts
 * import { actor, sample } from "troupe";
 * import * as z from "zod";
 *
 * export const notes = actor("notes", {
 *   description: "Notes.",
 *   state: z.object({ text: z.string().default("") }),
 *   tools: {
 *     summarize: {
 *       description: "Summarize the notes with the client's model.",
 *       run({ state, ask }) {
 *         const messages = [{ role: "user", content: { type: "text", text: `Summarize: ${state.text}` } }];
 *         const { summary } = ask({ summary: sample({ messages, maxTokens: 200 }) });
 *         return summary.text;
 *       },
 *     },
 *   },
 * });
 * ```
 */
export const sample = (params: Sampling): Question<Sampled> => ({
  request: { method: "sampling/createMessage", params },
  read(answer) {
    if (!isSamplingResult(answer)) return refuse("The answer is no sampling result.", { code: "INVALID" });
    return { ...answer, text: textOf(answer.content) };
  },
});

const isSamplingResult = (answer: Json): answer is SamplingResult =>
  isJsonObject(answer) &&
  (answer["role"] === "user" || answer["role"] === "assistant") &&
  typeof answer["model"] === "string" &&
  (isJsonObject(answer["content"]) || (isList(answer["content"]) && answer["content"].every(isJsonObject))) &&
  ["string", "undefined"].includes(typeof answer["stopReason"]);

const textOf = (content: JsonObject | readonly JsonObject[]): string =>
  [content]
    .flat()
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n");

// ── the client's folders ────────────────────────────────────────────────────

/** A folder the client works in. */
export type Root = JsonObject & { readonly uri: string; readonly name?: string };

/** MCP's `ListRootsResult`. */
export type Roots = JsonObject & { readonly roots: readonly Root[] };

/**
 * Asks which folders the client works in.
 *
 * @example
 * ```ts
 * import { actor, roots } from "troupe";
 * import * as z from "zod";
 *
 * export const project = actor("project", {
 *   description: "The project that the client works in.",
 *   state: z.object({ folder: z.string().default("") }),
 *   tools: {
 *     find: {
 *       description: "Note the client's first folder.",
 *       run({ state, ask }) {
 *         const { folders } = ask({ folders: roots() });
 *         state.folder = folders.roots[0]?.uri ?? "";
 *         return state.folder;
 *       },
 *     },
 *   },
 * });
 * ```
 */
export const roots = (): Question<Roots> => ({ request: { method: "roots/list", params: {} }, read: readRoots });

function readRoots(answer: Json): Roots {
  const list = isJsonObject(answer) ? answer["roots"] : undefined;
  if (!isJsonObject(answer) || !isList(list) || !list.every(isRoot)) return refuse("The answer is no list of roots.", { code: "INVALID" });
  return { ...answer, roots: list };
}

const isRoot = (root: Json): root is Root =>
  isJsonObject(root) && typeof root["uri"] === "string" && (root["name"] === undefined || typeof root["name"] === "string");
