import { type JsonObject, isJsonObject, type Json, isList } from "../../core/contract/index.ts";
import { setOwn } from "../../core/contract/internal.ts";
import type { Capability, OfferedTool } from "./capability.ts";
import { fieldSchema } from "./field-schema.ts";

/** Names the actor a call is for: an argument of every tool that is an actor's. */
export const ACTOR_ID = "actor_id";

const ACTOR_ID_SCHEMA: JsonObject = Object.freeze({
  type: "string",
  minLength: 1,
  maxLength: 256,
  description: "Which actor is meant. Left out: the caller's own.",
});

const made = new WeakMap<Capability, readonly OfferedTool[]>();

/**
 * A capability as MCP lists it: one tool of its name, or those it defines itself. Made once for each capability. Its
 * `inputSchema` is the declared `parameters`; only what `requires` names beyond them is added, its type guessed from its name,
 * and an actor's `actor_id`.
 */
export function toolsOf(capability: Capability): readonly OfferedTool[] {
  let tools = made.get(capability);
  if (tools === undefined) {
    const { does, id, intent } = capability;
    tools =
      does.how === "tools"
        ? does.tools
        : [{ name: id, description: intent === "" ? `PacketFlow capability: ${id}` : intent, inputSchema: inputSchemaOf(capability) }];
    made.set(capability, tools);
  }
  return tools;
}

function inputSchemaOf({ id, requires, parameters, does }: Capability): JsonObject {
  const schema = parameters === undefined ? guessed(requires, id) : completed(parameters, requires, id);
  return does.how === "actor" ? withActorId(schema) : schema;
}

function guessed(requires: readonly string[], id: string): JsonObject {
  const properties: Record<string, Json> = {};
  for (const field of requires) setOwn(properties, field, fieldSchema(field, id));
  return { type: "object", properties, ...(requires.length === 0 ? {} : { required: requires }) };
}

function withActorId(schema: JsonObject): JsonObject {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  if (Object.hasOwn(properties, ACTOR_ID)) return schema;
  return { ...schema, properties: { ...properties, [ACTOR_ID]: ACTOR_ID_SCHEMA } };
}

const COMPOSED = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf"];

/** What is put together from parts may declare a field in any of them. */
export const isComposed = (schema: JsonObject): boolean => COMPOSED.some((word) => Object.hasOwn(schema, word));

function completed(declared: JsonObject, requires: readonly string[], id: string): JsonObject {
  if (isComposed(declared)) return declared;
  const properties = isJsonObject(declared["properties"]) ? declared["properties"] : {};
  const required = isList(declared["required"]) ? declared["required"] : [];
  const undeclared = requires.filter((field) => !Object.hasOwn(properties, field));
  const unmarked = requires.filter((field) => !required.includes(field));
  if (undeclared.length === 0 && unmarked.length === 0) return declared;
  const all: Record<string, Json> = { ...properties };
  for (const field of undeclared) setOwn(all, field, fieldSchema(field, id));
  return { ...declared, properties: all, required: [...required, ...unmarked] };
}
