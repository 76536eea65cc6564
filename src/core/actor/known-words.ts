import { TroupeError } from "../contract/index.ts";
import { closestMatch, getOwn } from "../contract/internal.ts";
import type { AnyDefinition, AnyMessage, AnyPrompt, AnyResource, AnyTool } from "./any-definition.ts";

// Types are gone when a module is served: a misspelled `owner` would leave an actor open, and say nothing.

type Shape = "text" | "a number" | "a boolean" | "a list" | "an object" | "a function" | "a schema" | "text or a function";
type Words<T> = Readonly<Record<keyof T, Shape>>;

const OFFER = { title: "text", when: "a function", choices: "an object", icons: "a list", meta: "an object", scopes: "a list" } as const;
const ACTS = { run: "a function", view: "a function", work: "a function" } as const;
const TOOL: Words<AnyTool> = {
  ...OFFER,
  ...ACTS,
  describe: "text",
  input: "a schema",
  output: "a schema",
  annotations: "an object",
  secret: "a list",
  confirm: "text or a function",
  task: "text",
};
const RESOURCE: Words<AnyResource> = {
  ...OFFER,
  name: "text",
  uri: "text",
  describe: "text",
  mimeType: "text",
  annotations: "an object",
  size: "a number",
  listed: "a boolean",
  reads: "a list",
  view: "a function",
};
const PROMPT: Words<AnyPrompt> = { ...OFFER, describe: "text", input: "a schema", arguments: "a list", view: "a function" };
const MESSAGE: Words<AnyMessage> = { ...ACTS, input: "a schema", output: "a schema", replies: "a boolean", secret: "a list" };
const LINK: Words<NonNullable<AnyDefinition["links"]>[string]> = { kinds: "a list", to: "a function" };
const DEFINITION: Words<AnyDefinition> = {
  describe: "text",
  title: "text",
  version: "a number",
  per: "text",
  begins: "a boolean",
  state: "a schema",
  initial: "a function",
  migrate: "a function",
  links: "an object",
  tools: "an object",
  resources: "an object",
  prompts: "an object",
  messages: "an object",
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

/** What other libraries call it, and `createServer`. */
const MEANT: Readonly<Record<string, string>> = {
  description: "describe",
  inputSchema: "input",
  parameters: "input",
  argsSchema: "input",
  outputSchema: "output",
  _meta: "meta",
  enabled: "when",
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

/**
 * Throws `BAD_DEFINITION` for a key nobody reads, a value that cannot be what its key wants or that nobody knows, and where
 * something is left out that must be said.
 */
export function checkWords(kind: string, definition: AnyDefinition): void {
  fits(kind, "its definition", definition, "an object");
  known(kind, definition, DEFINITION);
  needed(kind, definition, ["describe"], "a sentence for people and models");
  for (const name of ["per", "persistence", "owner"] as const) {
    const value = definition[name];
    const allowed: readonly string[] = VALUES[name];
    if (value !== undefined && !allowed.includes(value))
      throw new TroupeError("BAD_DEFINITION", `${kind}: ${name} is one of ${allowed.join(", ")}, not ${JSON.stringify(value)}.`);
  }
  for (const [list, words] of [
    ["tools", TOOL],
    ["resources", RESOURCE],
    ["prompts", PROMPT],
    ["messages", MESSAGE],
  ] as const)
    for (const [name, one] of Object.entries(definition[list] ?? {})) {
      const where = `${kind}: ${list}/${name}`;
      fits(where, "", one, "an object");
      known(where, one, words);
      if (list === "tools" || list === "prompts") needed(where, one, ["describe"], "a sentence for people and models");
      if (list === "resources") needed(where, one, ["uri"], "as in door://{alias}/state");
      if (list === "messages") continue;
      for (const [argument, choose] of Object.entries("choices" in one ? (one.choices ?? {}) : {}))
        fits(where, `\`choices.${argument}\``, choose, "a function");
    }
  for (const [prefix, link] of Object.entries(definition.links ?? {})) {
    const where = `${kind}: links/${JSON.stringify(prefix)}`;
    fits(where, "", link, "an object");
    known(where, link, LINK);
    needed(where, link, ["kinds", "to"], "the kinds it may lead to, and the function that says where it leads");
  }
}

function known<T extends object>(where: string, given: T, words: Words<T>): void {
  const shapes: Readonly<Record<string, Shape>> = words;
  for (const [key, value] of Object.entries(given)) {
    const shape = getOwn(shapes, key);
    if (shape === undefined) {
      const alias = getOwn(MEANT, key);
      const all = Object.keys(words);
      const meant = alias !== undefined && all.includes(alias) ? alias : closestMatch(key, all);
      const instead = meant === undefined ? "." : `, do you mean ${JSON.stringify(meant)}?`;
      throw new TroupeError("BAD_DEFINITION", `${where}: ${JSON.stringify(key)} means nothing here${instead} There are ${all.join(", ")}.`);
    }
    if (value !== undefined) fits(where, `\`${key}\``, value, shape);
  }
}

function fits(where: string, what: string, value: unknown, shape: Shape): void {
  const found = shapeOf(value);
  // Some libraries' schemas are functions; what is none is told where it is compiled.
  if (
    shape === "a schema"
      ? (typeof value === "object" && value !== null) || typeof value === "function"
      : shape.split(" or ").includes(found)
  )
    return;
  throw new TroupeError("BAD_DEFINITION", `${where}${what === "" ? "" : `: ${what}`} must be ${shape}, not ${found}.`);
}

function shapeOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function needed(where: string, given: object, keys: readonly string[], what: string): void {
  if (keys.every((key) => Object.hasOwn(given, key) && Reflect.get(given, key) !== undefined)) return;
  throw new TroupeError("BAD_DEFINITION", `${where} needs ${keys.map((key) => `\`${key}\``).join(" and ")}: ${what}.`);
}
