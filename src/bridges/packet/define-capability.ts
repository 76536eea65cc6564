// Owns: `capability` and `mcpCapability`: capabilities without state, and the checks that all definitions share.
//   Does not own: capabilities that are actors (define-actor.ts).
import { type Json, type JsonObject, TroupeError, isJsonObject } from "../../core/contract/index.ts";
import { didYouMean } from "../../core/contract/internal.ts";
import { toJsonSchema } from "../../mcp/source/index.ts";
import type { Capability, Effect, Executes, ExecutionContext, OfferedTool, Offers } from "./capability.ts";
import { fieldSchema, isComposed } from "./mcp-tools.ts";

/** The description that every capability has. */
export interface Described {
  readonly intent: string;
  /** Fields the payload must have. */
  readonly requires?: readonly string[];
  /** Fields the result has. */
  readonly provides?: readonly string[];
  readonly effects?: readonly Effect[];
  /** JSON Schema of the payload, as MCP lists it. Absent: inferred from `requires`. */
  readonly parameters?: JsonObject;
}

export interface CapabilityDefinition<R extends string> extends Described {
  readonly requires?: readonly R[];
  execute(payload: Payload<R>, context: ExecutionContext): Returned | Promise<Returned>;
}

/** The required fields are present, with any value. */
export type Payload<R extends string> = JsonObject & { readonly [N in R]: Json };

/** Must be JSON; checked when it is returned. */
export type Returned = string | number | boolean | null | undefined | void | object;

/** A function with a contract: no state, no chain. Throws `BAD_NAME`, `BAD_DEFINITION`. */
export function capability<const R extends string = never>(id: string, definition: CapabilityDefinition<R>): Capability {
  allowOnlyKeys(id, definition, [...COMMON_KEYS, "execute"]);
  if (typeof definition.execute !== "function") throw badDefinition(`${id} does nothing: give \`execute(payload, context)\`.`);
  const execute = definition.execute.bind(definition);
  // The payload has been checked before it gets here.
  const does: Executes = { how: "execute", execute: (payload: Payload<R>, context: ExecutionContext) => execute(payload, context) };
  const description = checkedDescription(id, definition);
  checkCompilable(id, description.parameters);
  return Object.freeze({ ...description, does });
}

/** Each tool defines its own parameters, so the capability has no `requires`. */
export interface ToolsDefinition extends Omit<Described, "requires" | "parameters"> {
  /** In the order they are listed. */
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** Handles the calls of all tools. */
  handleToolCall(name: string, parameters: JsonObject, context: ExecutionContext): Returned | Promise<Returned>;
}

/** A tool of `mcpCapability`, as MCP clients see it. */
export interface ToolDefinition {
  readonly description: string;
  /** JSON Schema of an object, or of its properties by name; or only names, whose types are guessed. */
  readonly parameters?: JsonObject | readonly string[];
  /** Names of required parameters. */
  readonly required?: readonly string[];
}

/** Several tools, and no state. Throws `BAD_NAME`, `BAD_DEFINITION`. */
export function mcpCapability(id: string, definition: ToolsDefinition): Capability {
  for (const key of ["requires", "parameters"])
    if (Object.hasOwn(definition, key))
      throw badDefinition(
        `${id}: what a call must have is each tool's to say: give its \`parameters\` and \`required\`, not ${key} of all.`,
      );
  allowOnlyKeys(id, definition, ["intent", "provides", "effects", "tools", "handleToolCall"]);
  if (typeof definition.handleToolCall !== "function")
    throw badDefinition(`${id} has nothing that runs its tools: give \`handleToolCall(name, parameters, context)\`.`);
  const named = checkedEntries(id, "tools", definition.tools ?? {});
  for (const [name, tool] of named) allowOnlyKeys(`${id}: tools.${name}`, tool, ["description", "parameters", "required"]);
  const tools = Object.entries(definition.tools ?? {}).map(([name, tool]) => checkedTool(id, name, tool));
  if (tools.length === 0) throw badDefinition(`${id} has no tools: name one, or use capability().`);
  const handle = definition.handleToolCall.bind(definition);
  const does: Offers = { how: "tools", tools, handle };
  return Object.freeze({ ...checkedDescription(id, definition), does });
}

function checkedTool(id: string, name: string, { description, parameters, required }: ToolDefinition): OfferedTool {
  const where = `${id}: tools.${name}`;
  if (typeof description !== "string" || description.trim() === "")
    throw badDefinition(`${where} has no description: say in a sentence what it does, since models choose by that.`);
  if (parameters !== undefined && !(Array.isArray(parameters) ? isNonEmptyTexts(parameters) : isJsonObject(parameters)))
    throw badDefinition(
      `${where}: parameters is a JSON Schema of an object, its properties or a list of names, not ${preview(parameters)}.`,
    );
  if (required !== undefined && !isNonEmptyTexts(required))
    throw badDefinition(`${where}: required is a list of names of parameters, not ${preview(required)}.`);
  const inputSchema = checkedObjectSchema(where, inputSchemaFor(name, parameters, required));
  checkCompilable(where, inputSchema);
  const { properties } = inputSchema;
  const unknown =
    isJsonObject(properties) && !isComposed(inputSchema) ? required?.find((field) => !Object.hasOwn(properties, field)) : undefined;
  if (unknown !== undefined) throw badDefinition(`${where}: required names ${JSON.stringify(unknown)}, which is none of its parameters.`);
  return {
    name: checkCapabilityId(name),
    description,
    inputSchema,
    ...(parameters !== undefined && isNameList(parameters) && { guessed: true }),
  };
}

function inputSchemaFor(tool: string, parameters: ToolDefinition["parameters"] = {}, required: readonly string[] | undefined): JsonObject {
  const marked = required === undefined ? {} : { required: [...required] };
  if (isNameList(parameters))
    return { type: "object", properties: Object.fromEntries(parameters.map((field) => [field, fieldSchema(field, tool)])), ...marked };
  // The schema of a parameter named `type` is no text.
  const isWhole = parameters["type"] === "object" || isJsonObject(parameters["properties"]);
  return isWhole ? { ...parameters, ...marked } : { type: "object", properties: parameters, ...marked };
}

/** One invalid schema would make the whole list of tools unreadable to clients. */
function checkedObjectSchema(where: string, schema: JsonObject): JsonObject {
  const { properties = {} } = schema;
  const wrong = isJsonObject(properties)
    ? Object.entries(properties).find(([, field]) => !isJsonObject(field) && typeof field !== "boolean")
    : ["properties"];
  if (schema["type"] !== "object" || wrong !== undefined)
    throw badDefinition(
      `${where}: its parameters are no JSON Schema of an object${wrong === undefined ? "" : ` (see ${wrong[0] ?? ""})`}: { type: "object", properties: { … } }.`,
    );
  return schema;
}

const isNameList = (parameters: NonNullable<ToolDefinition["parameters"]>): parameters is readonly string[] => Array.isArray(parameters);

/** Compiles the schema at the definition, where its author sees the error, instead of at its first use. Throws `BAD_DEFINITION`. */
export function checkCompilable(where: string, parameters: JsonObject | undefined): void {
  if (parameters !== undefined) toJsonSchema(parameters, "input", `${where}: the schema of its parameters`);
}

export function checkedDescription(
  id: string,
  { intent, requires = [], provides = [], effects = [], parameters }: Described,
): Omit<Capability, "does"> {
  if (typeof intent !== "string" || intent.trim() === "")
    throw badDefinition(`${id} has no intent: say in a sentence what it does, since it is found by that.`);
  for (const [name, list] of Object.entries({ requires, provides }))
    if (!Array.isArray(list) || !list.every((field) => typeof field === "string"))
      throw badDefinition(`${id}: ${name} is a list of names of fields, ["user_id"].`);
  checkEffects(id, effects);
  return {
    id: checkCapabilityId(id),
    intent,
    requires: Object.freeze([...requires]),
    provides: Object.freeze([...provides]),
    effects: Object.freeze([...effects]),
    ...(parameters === undefined ? {} : { parameters: checkedObjectSchema(id, parameters) }),
  };
}

/** A name that every MCP client accepts. */
function checkCapabilityId(id: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(id)) return id;
  throw new TroupeError(
    "BAD_NAME",
    `${JSON.stringify(id)} is no name for a capability: a letter, then letters, digits, _ and -, 64 in all.`,
  );
}

// Served modules are not type-checked, so a misspelt key, such as `persistance`, would be ignored silently.

/** Keys of every capability's definition. */
export const COMMON_KEYS = ["intent", "requires", "provides", "effects", "parameters"] as const;
const AUDIT_LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warning", "error"]);

export const badDefinition = (sentence: string): TroupeError => new TroupeError("BAD_DEFINITION", sentence);

/** Throws `BAD_DEFINITION` if the value is not an object or has an unknown key. */
export function allowOnlyKeys(where: string, given: unknown, keys: readonly string[]): void {
  if (!isObject(given)) throw badDefinition(`${where} is no object: give { ${keys.join(", ")} }, those of them it needs.`);
  const unknown = Object.keys(given).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  throw badDefinition(`${where}: there is no ${JSON.stringify(unknown)}${didYouMean(unknown, keys)} There are ${keys.join(", ")}.`);
}

/** Throws `BAD_DEFINITION` for an unknown effect. */
function checkEffects(id: string, effects: unknown): void {
  const wrong: unknown = Array.isArray(effects) ? effects.find((one: unknown) => !isEffect(one)) : effects;
  if (wrong !== undefined || !Array.isArray(effects))
    throw badDefinition(`${id}: effects is a list of auditLog(level, name), counter(name) and histogram(name); ${preview(wrong)} is none.`);
}

function isEffect(one: unknown): boolean {
  if (!isJsonObject(one)) return false;
  const { effect, level, metric, name } = one;
  if (typeof name !== "string" || name === "") return false;
  return effect === "audit_log" ? AUDIT_LEVELS.has(level) : effect === "metric" && (metric === "counter" || metric === "histogram");
}

export function checkedEntries(id: string, key: string, given: unknown): readonly (readonly [string, unknown])[] {
  if (isObject(given) && !Array.isArray(given)) return Object.entries(given);
  throw badDefinition(`${id}: ${key} is an object, each of them under its name, not ${preview(given)}.`);
}

export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

export const isNonEmptyTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === "string" && one !== "");

export const preview = (value: unknown): string =>
  (typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value))).slice(0, 60);
