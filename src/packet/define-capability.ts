import { TroupeError, type Bag, type Json } from "../contract/index.ts";
import type { Capability, Executes, ExecutionContext, OfferedTool, Offers } from "./capability.ts";
import { fieldSchema } from "./field-schema.ts";
import type { Effect } from "./effect.ts";

/** What every capability says of itself. */
export interface Described {
  readonly intent: string;
  /** Fields the payload must have. */
  readonly requires?: readonly string[];
  /** Fields the result has. */
  readonly provides?: readonly string[];
  readonly effects?: readonly Effect[];
  /** JSON Schema of the payload, as MCP shows it. Absent: inferred from `requires`. */
  readonly parameters?: Bag;
}

export interface CapabilityDefinition<R extends string> extends Described {
  readonly requires?: readonly R[];
  execute(payload: Payload<R>, context: ExecutionContext): Returned | Promise<Returned>;
}

/** The fields that are required are there, whatever they are. */
export type Payload<R extends string> = Bag & { readonly [N in R]: Json };

/** JSON at run time: it is checked when it is returned. */
export type Returned = string | number | boolean | null | undefined | void | object;

/** A function with a contract: no state, no chain. Throws `BAD_NAME`, `BAD_DEFINITION`. */
export function capability<const R extends string = never>(id: string, definition: CapabilityDefinition<R>): Capability {
  const execute = definition.execute.bind(definition);
  // Whoever runs it has seen that what it requires is there.
  const does: Executes = { how: "execute", execute: (payload: Payload<R>, context: ExecutionContext) => execute(payload, context) };
  return Object.freeze({ ...described(id, definition), does });
}

export interface ToolsDefinition extends Described {
  /** In the order they are listed. */
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** One function for all of them. */
  handleToolCall(name: string, parameters: Bag, context: ExecutionContext): Returned | Promise<Returned>;
}

export interface ToolDefinition {
  readonly description: string;
  /** The JSON Schema of each, by name; or names alone, whose types are guessed from them. */
  readonly parameters?: Readonly<Record<string, Bag>> | readonly string[];
  /** Names of these. */
  readonly required?: readonly string[];
}

/** Several tools, and no state. Throws `BAD_NAME`, `BAD_DEFINITION`. */
export function mcpCapability(id: string, definition: ToolsDefinition): Capability {
  const tools: readonly OfferedTool[] = Object.entries(definition.tools).map(([name, { description, parameters, required }]) => ({
    name: checkCapabilityId(name),
    description,
    inputSchema: {
      type: "object",
      properties: propertiesOf(name, parameters),
      ...(required === undefined ? {} : { required: [...required] }),
    },
  }));
  if (tools.length === 0) throw new TroupeError("BAD_DEFINITION", `${id} has no tools: name one, or use capability().`);
  const handle = definition.handleToolCall.bind(definition);
  const does: Offers = { how: "tools", tools, handle };
  return Object.freeze({ ...described(id, definition), does });
}

function propertiesOf(tool: string, parameters: ToolDefinition["parameters"] = {}): Bag {
  return isNames(parameters) ? Object.fromEntries(parameters.map((field) => [field, fieldSchema(field, tool)])) : parameters;
}

const isNames = (parameters: NonNullable<ToolDefinition["parameters"]>): parameters is readonly string[] => Array.isArray(parameters);

export function described(
  id: string,
  { intent, requires = [], provides = [], effects = [], parameters }: Described,
): Omit<Capability, "does"> {
  if (typeof intent !== "string" || intent.trim() === "")
    throw new TroupeError("BAD_DEFINITION", `${id} has no intent: say in a sentence what it does, since it is found by that.`);
  return {
    id: checkCapabilityId(id),
    intent,
    requires: Object.freeze([...requires]),
    provides: Object.freeze([...provides]),
    effects: Object.freeze([...effects]),
    ...(parameters === undefined ? {} : { parameters }),
  };
}

/** A name that every MCP client takes. */
function checkCapabilityId(id: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(id)) return id;
  throw new TroupeError(
    "BAD_NAME",
    `${JSON.stringify(id)} is no name for a capability: a letter, then letters, digits, _ and -, 64 in all.`,
  );
}
