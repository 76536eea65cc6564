import { TroupeError } from "../contract/index.ts";
import type { AnyDefinition, AnyMessage, AnyPrompt, AnyResource, AnyTool } from "./plan.ts";

// Types are gone when a module is served: a misspelled `owner` would leave an actor open, and say nothing.

type Words<T> = Readonly<Record<keyof T, true>>;

const OFFER = { title: true, when: true, choices: true, icons: true, meta: true } as const;
const ACTS = { run: true, view: true, work: true } as const;
const TOOL: Words<AnyTool> = {
  ...OFFER,
  ...ACTS,
  describe: true,
  input: true,
  output: true,
  annotations: true,
  secret: true,
  confirm: true,
};
const RESOURCE: Words<AnyResource> = {
  ...OFFER,
  name: true,
  uri: true,
  describe: true,
  mimeType: true,
  annotations: true,
  size: true,
  view: true,
};
const PROMPT: Words<AnyPrompt> = { ...OFFER, describe: true, input: true, arguments: true, view: true };
const MESSAGE: Words<AnyMessage> = { ...ACTS, input: true, replies: true, secret: true };
const DEFINITION: Words<AnyDefinition> = {
  describe: true,
  title: true,
  version: true,
  per: true,
  begins: true,
  state: true,
  initial: true,
  migrate: true,
  links: true,
  tools: true,
  resources: true,
  prompts: true,
  messages: true,
  persistence: true,
  owner: true,
  idleMs: true,
  expireMs: true,
  workMs: true,
  mailbox: true,
  maxStateBytes: true,
  restart: true,
};

const VALUES = {
  per: ["shared", "user", "handle", "link"],
  persistence: ["memory", "disk", "distributed"],
  owner: ["anyone", "starter"],
} as const;

/** Throws `BAD_DEFINITION` for a key nobody reads, a value nobody knows, and a tool or prompt without its `describe`. */
export function checkWords(kind: string, definition: AnyDefinition): void {
  known(kind, definition, DEFINITION);
  described(kind, definition);
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
      known(where, one, words);
      if (list === "tools" || list === "prompts") described(where, one);
    }
}

function known(where: string, given: object, words: Readonly<Record<string, true>>): void {
  const stray = Object.keys(given).find((key) => !Object.hasOwn(words, key));
  if (stray === undefined) return;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where}: ${JSON.stringify(stray)} means nothing here; known are ${Object.keys(words).join(", ")}.`,
  );
}

function described(where: string, given: object): void {
  if ("describe" in given && typeof given.describe === "string") return;
  throw new TroupeError("BAD_DEFINITION", `${where} needs \`describe\`: a sentence for people and models.`);
}
