// Owns: capabilities as MCP tools: their schemas, and the index of what MCP lists. Does not own: calling them (capability-source.ts).
import { type Catalogue, type Json, type JsonObject, type Offer, isJsonObject, isList } from "../../core/contract/index.ts";
import { memoize, setOwn } from "../../core/contract/internal.ts";
import type { Capability, OfferedTool } from "./capability.ts";

/** The capabilities that MCP lists and calls: all, or those of these ids. */
export type Expose = "all" | readonly string[];

/** A tool and the capability behind it. */
export interface IndexedTool {
  readonly capability: Capability;
  readonly tool: OfferedTool;
  /** The tool as MCP lists it. */
  readonly offer: Offer;
}

/** What MCP lists of the registered capabilities. */
export interface ToolIndex {
  readonly catalogue: Catalogue;
  readonly tools: ReadonlyMap<string, IndexedTool>;
  /** The listed capabilities by id. */
  readonly exposed: ReadonlyMap<string, Capability>;
  /** The content of `packetflow://capabilities`. */
  readonly listing: Json;
  /** Tools that cannot be called, since another one has their name: a message for each. */
  readonly collisions: readonly string[];
}

const RESOURCES: readonly Offer[] = [
  resource("capabilities", {
    uri: "packetflow://capabilities",
    description: "What can be asked for: each capability, what it needs and what it gives.",
  }),
  resource("capability_actors", { uri: "packetflow://actors", description: "The caller's actors that live now." }),
  resource("capability_actor", {
    uriTemplate: "packetflow://actor/{capability}/{id}",
    description: "One of them: its state, and how long it has been at it.",
  }),
];

function resource(name: string, definition: Offer["definition"]): Offer {
  return Object.freeze({ name, action: name, readOnly: true, definition: Object.freeze({ ...definition, mimeType: "application/json" }) });
}

export const actorUri = (capability: string, actor_id: string): string =>
  `packetflow://actor/${capability}/${encodeURIComponent(actor_id)}`;

// Memoised, since compiled schemas and written text are cached by the identity of an offer.
const indexedToolsOf = memoize((capability: Capability): readonly IndexedTool[] =>
  toolsOf(capability).map((tool) => ({ capability, tool, offer: offerOf(tool) })),
);

function offerOf({ name, description, inputSchema }: OfferedTool): Offer {
  const definition = Object.freeze({ description, inputSchema });
  return Object.freeze({ name, action: name, readOnly: false, checksArguments: true, definition });
}

/** `generate` false: only tools that capabilities define themselves. The first capability with a tool of a name gets the name. */
export function buildToolIndex(capabilities: readonly Capability[], expose: Expose, generate: boolean): ToolIndex {
  const wanted = expose === "all" ? undefined : new Set(expose);
  const exposed = new Map<string, Capability>();
  const tools = new Map<string, IndexedTool>();
  const collisions: string[] = [];
  for (const capability of capabilities) {
    if (wanted?.has(capability.id) === false) continue;
    exposed.set(capability.id, capability);
    if (!generate && capability.does.how !== "tools") continue;
    // MCP serves these actors directly.
    if (capability.does.how === "actor" && capability.does.own !== undefined) continue;
    for (const one of indexedToolsOf(capability)) {
      const { name } = one.tool;
      const other = tools.get(name);
      if (other === undefined) tools.set(name, one);
      else collisions.push(`${other.capability.id} and ${capability.id} both have a tool ${name}: name one otherwise`);
    }
  }
  const offers = Array.from(tools.values(), ({ offer }) => offer);
  let listing: Json | undefined;
  return {
    catalogue: { tools: offers, resources: RESOURCES, prompts: [] },
    tools,
    exposed,
    collisions,
    // Computed on demand: capabilities change more often than the list is read.
    get listing() {
      return (listing ??= { capabilities: Array.from(exposed.values(), (one) => capabilityListing(one, tools)) });
    },
  };
}

function capabilityListing(capability: Capability, tools: ReadonlyMap<string, IndexedTool>): Json {
  const { id, intent, requires, provides, does } = capability;
  const own = toolsOf(capability).filter(({ name }) => tools.get(name)?.capability === capability);
  return {
    id,
    intent,
    requires,
    provides,
    actor_enabled: does.how === "actor",
    mcp_enabled: own.length > 0,
    tools: own.map(({ name }) => name),
  };
}

/** The argument that names the actor, in every tool of an actor capability. */
export const ACTOR_ID = "actor_id";

const ACTOR_ID_SCHEMA: JsonObject = Object.freeze({
  type: "string",
  minLength: 1,
  maxLength: 256,
  description: "Which actor is meant. Left out: the caller's own.",
});

/**
 * The MCP tools of a capability: one of its name, or those it defines itself. Cached. The `inputSchema` is the declared `parameters`, plus
 * undeclared fields of `requires`, with types guessed from their names, plus an actor's `actor_id`.
 */
export const toolsOf = memoize((capability: Capability): readonly OfferedTool[] => {
  const { does, id, intent } = capability;
  if (does.how === "tools") return does.tools;
  return [{ name: id, description: intent === "" ? `PacketFlow capability: ${id}` : intent, inputSchema: inputSchemaOf(capability) }];
});

function inputSchemaOf({ id, requires, parameters, does }: Capability): JsonObject {
  const schema = parameters === undefined ? guessedSchema(requires, id) : completedSchema(parameters, requires, id);
  return does.how === "actor" ? withActorId(schema) : schema;
}

function guessedSchema(requires: readonly string[], id: string): JsonObject {
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

/** A composed schema may declare a field in any of its parts. */
export const isComposed = (schema: JsonObject): boolean => COMPOSED.some((word) => Object.hasOwn(schema, word));

function completedSchema(declared: JsonObject, requires: readonly string[], id: string): JsonObject {
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

// Words that end in s but are singular.
const SINGULAR = /(?:ss|us|is)$|^(?:alias|atlas|bias|canvas|gas|has|was|lens|news|means|series|species|chaos|dns|gps|sms|tls|https|aws)$/;
const MEASURES = /^(?:ms|millis|milliseconds|seconds|minutes|hours|days|weeks|months|years|bytes|pixels|percent)$/;
const TEXTS = /^(?:text|name|title|message|query|question|description|intent|subject|body|note|comment|address|path|prompt)$/;
const AMOUNT = /^(?:max|min|num|total)$/;

/**
 * Guesses the JSON Schema of a field from its name: `*_id` text, `*_count` an integer from 0, `*_enabled` a boolean, `*_list` and plurals
 * a list, `email` and `url` text of that format, `max_*` and measures (`timeout_ms`) a number, any other no type.
 * `user_id`, `user-id` and `userId` are equal.
 */
export function fieldSchema(field: string, capabilityId: string): JsonObject {
  const words = wordsOf(field);
  return { ...typeOf(words), description: `The ${words.join(" ")} that ${capabilityId} asks for.` };
}

function wordsOf(field: string): readonly string[] {
  const words = field
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  return words.length === 0 ? [field] : words;
}

function typeOf(words: readonly string[]): JsonObject {
  const last = words.at(-1) ?? "";
  if (last === "id") return { type: "string", minLength: 1 };
  if (last === "count") return { type: "integer", minimum: 0 };
  if (last === "enabled") return { type: "boolean" };
  if (last === "list") return { type: "array" };
  if (last === "email") return { type: "string", format: "email" };
  if (last === "url" || last === "uri") return { type: "string", format: "uri" };
  if (MEASURES.test(last) || (words.length > 1 && AMOUNT.test(words[0] ?? ""))) return { type: "number" };
  if (isPlural(last)) return { type: "array" };
  return TEXTS.test(last) ? { type: "string" } : {};
}

const isPlural = (word: string): boolean => word.length > 2 && word.endsWith("s") && !SINGULAR.test(word);
