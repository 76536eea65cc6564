// Owns: which properties a definition may have, and of what type. Does not own: compiling it (actions.ts).
import { TroupeError } from "../contract/index.ts";
import { didYouMean, firstInvalidField, getOwn, OFFERED } from "../contract/internal.ts";
import type { AnyReply, AnyDefinition, AnyLink, AnyMessage, AnyPrompt, AnyResource, AnyTool } from "./any-definition.ts";
import type { UndoOptions } from "./definition.ts";

// No types are left when a module is served: a misspelled `owner` would silently leave an actor open.

type PropertyType =
  | "text"
  | "a number"
  | "a boolean"
  | "a list"
  | "an object"
  | "a function"
  | "a schema"
  | "text or a function"
  | "text or an object or a function"
  | "an object or text"
  | "text or a list"
  | "a function or an object"
  | "text or a boolean";
type Properties<T> = Readonly<Record<keyof T, PropertyType>>;

const OFFER = {
  title: "text",
  allow: "text or a list",
  enabled: "a function",
  choices: "an object",
  icons: "a list",
  meta: "an object",
  scopes: "a list",
} as const;
const HANDLERS = { run: "a function", view: "a function", work: "a function" } as const;
const TOOL: Properties<AnyTool> = {
  ...OFFER,
  ...HANDLERS,
  description: "text",
  input: "a schema",
  output: "a schema",
  annotations: "an object",
  secret: "a list",
  undo: "text or a boolean",
  confirm: "text or a function",
  task: "text",
};
const RESOURCE: Properties<AnyResource> = {
  ...OFFER,
  name: "text",
  uri: "text",
  description: "text",
  mimeType: "text",
  annotations: "an object",
  size: "a number",
  listed: "a boolean",
  reads: "a list",
  view: "a function",
};
const PROMPT: Properties<AnyPrompt> = { ...OFFER, description: "text", input: "a schema", arguments: "a list", view: "a function" };
const MESSAGE: Properties<AnyMessage> = { ...HANDLERS, input: "a schema", output: "a schema", replies: "a boolean", secret: "a list" };
const LINK: Properties<AnyLink> = {
  allow: "text or a list",
  kind: "an object or text",
  kinds: "a list",
  enabled: "a function",
  to: "a function",
  by: "text",
  choices: "a function",
};
const ROLE: Properties<{ readonly holds: unknown; readonly reason: unknown }> = { holds: "a function", reason: "text or a boolean" };
const REPLY: Properties<AnyReply> = { of: "an object", input: "a schema", run: "a function", refused: "a function" };
const UNDO: Properties<UndoOptions> = { withinMs: "a number", tool: "text" };
const DEFINITION: Properties<AnyDefinition> = {
  description: "text",
  title: "text",
  version: "a number",
  per: "text",
  autoStart: "a boolean",
  state: "a schema",
  initial: "a function",
  migrate: "a function",
  undo: "an object",
  allow: "an object",
  links: "an object",
  tools: "an object",
  resources: "an object",
  prompts: "an object",
  messages: "an object",
  replies: "an object",
  persistence: "text",
  owner: "text",
  idleMs: "a number",
  expireMs: "a number",
  workMs: "a number",
  minEveryMs: "a number",
  mailbox: "a number",
  maxStateBytes: "a number",
  restart: "an object",
};

/** What other libraries, and `createServer`, call it. */
const ALIASES: Readonly<Record<string, string>> = {
  inputSchema: "input",
  parameters: "input",
  argsSchema: "input",
  outputSchema: "output",
  _meta: "meta",
  describe: "description",
  when: "enabled",
  available: "enabled",
  handler: "run",
  execute: "run",
  complete: "choices",
  uriTemplate: "uri",
};

const VALUES = {
  per: ["shared", "user", "handle", "link"],
  persistence: ["memory", "disk", "distributed"],
  owner: ["anyone", "starter"],
} as const;

/** Throws `BAD_DEFINITION` for an unknown property, a value of another type or not among those allowed, and a missing property. */
export function validateDefinition(kind: string, definition: Partial<AnyDefinition>): asserts definition is AnyDefinition {
  checkType(kind, "its definition", definition, "an object");
  checkProperties(kind, definition, DEFINITION);
  requireProperties(kind, definition, ["description"], "a sentence for people and models");
  for (const name of ["per", "persistence", "owner"] as const) {
    const value = definition[name];
    const allowed: readonly string[] = VALUES[name];
    if (value !== undefined && !allowed.includes(value))
      throw new TroupeError("BAD_DEFINITION", `${kind}: ${name} is one of ${allowed.join(", ")}, not ${JSON.stringify(value)}.`);
  }
  for (const [list, properties] of [
    ["tools", TOOL],
    ["resources", RESOURCE],
    ["prompts", PROMPT],
    ["messages", MESSAGE],
    ["replies", REPLY],
  ] as const)
    for (const [name, one] of Object.entries(definition[list] ?? {})) {
      const where = `${kind}: ${list}/${name}`;
      checkType(where, "", one, "an object");
      checkProperties(where, one, properties);
      if (list === "tools" || list === "prompts") requireProperties(where, one, ["description"], "a sentence for people and models");
      if (list === "resources") requireProperties(where, one, ["uri"], "as in door://{alias}/state");
      if (list === "replies") requireProperties(where, one, ["of", "run"], "the message whose reply it handles, and the turn it causes");
      if (list === "messages" || list === "replies") continue;
      const invalid = firstInvalidField(one, OFFERED[list]);
      if (invalid !== undefined) throw new TroupeError("BAD_DEFINITION", `${where}: ${invalid}.`);
      for (const [argument, choose] of Object.entries("choices" in one ? (one.choices ?? {}) : {}))
        checkFunction(where, `choices.${argument}`, choose);
    }
  if (definition.undo !== undefined) {
    checkProperties(`${kind}: undo`, definition.undo, UNDO);
    requireProperties(`${kind}: undo`, definition.undo, ["withinMs"], "how long a turn can be undone, in milliseconds");
  }
  for (const [name, role] of Object.entries(definition.allow ?? {})) checkRole(`${kind}: allow/${name}`, role);
  for (const [prefix, link] of Object.entries(definition.links ?? {})) {
    const where = `${kind}: links/${JSON.stringify(prefix)}`;
    checkType(where, "", link, "an object");
    checkProperties(where, link, LINK);
  }
}

function checkRole(where: string, role: unknown): void {
  checkType(where, "", role, "a function or an object");
  if (typeof role === "function") return checkSynchronous(where, "allow", role);
  if (typeof role !== "object" || role === null) return;
  checkProperties(where, role, ROLE);
  requireProperties(where, role, ["holds"], "the function that returns whether a caller has the role");
  const reason: unknown = Reflect.get(role, "reason");
  if (reason === true)
    throw new TroupeError("BAD_DEFINITION", `${where}: \`reason\` is a sentence, or false to hide what is for the role.`);
}

/** Throws `BAD_DEFINITION` for an unknown property or a value of another type. */
export function checkProperties<T extends object>(where: string, given: T, properties: Properties<T>): void {
  const types: Readonly<Record<string, PropertyType>> = properties;
  for (const [key, value] of Object.entries(given)) {
    const type = getOwn(types, key);
    if (type === undefined) {
      const alias = getOwn(ALIASES, key);
      const all = Object.keys(properties);
      const instead = didYouMean(alias !== undefined && all.includes(alias) ? alias : key, all);
      throw new TroupeError("BAD_DEFINITION", `${where}: ${JSON.stringify(key)} means nothing here${instead} There are ${all.join(", ")}.`);
    }
    if (value === undefined) continue;
    checkType(where, `\`${key}\``, value, type);
    if (key !== "work") checkSynchronous(where, key, value);
  }
}

function checkFunction(where: string, name: string, value: unknown): void {
  checkType(where, `\`${name}\``, value, "a function");
  checkSynchronous(where, name, value);
}

// An async function that hides behind another one is found at its first call.
function checkSynchronous(where: string, name: string, value: unknown): void {
  if (typeof value !== "function" || !/^\[object (?:Async|Generator)/.test(Object.prototype.toString.call(value))) return;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where}: \`${name}\` is an async function or a generator, and ${name} must return at once: move what waits to \`work\`.`,
  );
}

function checkType(where: string, what: string, value: unknown, type: PropertyType): void {
  const found = typeOf(value);
  // The schemas of some libraries are functions. Anything else that is no schema is refused where it is compiled.
  if (
    type === "a schema" ? (typeof value === "object" && value !== null) || typeof value === "function" : type.split(" or ").includes(found)
  )
    return;
  throw new TroupeError("BAD_DEFINITION", `${where}${what === "" ? "" : `: ${what}`} must be ${type}, not ${found}.`);
}

function typeOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Throws `BAD_DEFINITION` if one of these is missing. */
export function requireProperties(where: string, given: object, keys: readonly string[], what: string): void {
  if (keys.every((key) => Object.hasOwn(given, key) && Reflect.get(given, key) !== undefined)) return;
  throw new TroupeError("BAD_DEFINITION", `${where} needs ${keys.map((key) => `\`${key}\``).join(" and ")}: ${what}.`);
}
