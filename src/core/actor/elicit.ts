import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Bag, isBag, type Json } from "../contract/index.ts";
import { memoize } from "../contract/internal.ts";
import { formFields } from "./form-fields.ts";
import { refuse } from "./refuse.ts";
import { describeIssues } from "../schema/index.ts";
import { asObjectSchema, type Check, compileCheck, toJsonSchema } from "./schema.ts";

/** Something to ask the client in the middle of a call, and how to read its answer. */
export interface Question<T> {
  readonly request: { readonly method: string; readonly params: Bag };
  /** Refuses (`INVALID`) an answer that does not fit. */
  read(answer: Json): T;
}

/** How a person answered a form. */
export type Elicited<T> =
  | { readonly action: "accept"; readonly content: T }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

interface Form {
  readonly requested: Bag;
  readonly check: Check;
}

/**
 * A form for the person behind the client. MCP allows flat objects of text, numbers, booleans, enums of text and lists of those;
 * anything else throws `BAD_DEFINITION`. Without a schema, one box to tick: `content.yes`.
 */
export function elicit(message: string): Question<Elicited<{ readonly yes: boolean }>>;
export function elicit<T>(message: string, schema: StandardSchemaV1<unknown, T>): Question<Elicited<T>>;
export function elicit(message: string, schema: object): Question<Elicited<Bag>>;
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
  const { action, content = {} } = isBag(answer) ? answer : {};
  if (action === "decline" || action === "cancel") return { action };
  if (action !== "accept") return refuse("The answer is no elicitation result.", { code: "INVALID" });
  const checked = form.check(content);
  if (checked.issues !== undefined) return refuse(`The answer does not fit: ${describeIssues(checked.issues)}.`, { code: "INVALID" });
  return { action: "accept", content: checked.value };
}
