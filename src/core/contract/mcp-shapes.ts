import { type Bag, isBag } from "./json.ts";
import { own } from "./own.ts";
import { oneOf, type OptionRule, TEXTS } from "./option-checks.ts";

/** What MCP's clients refuse a whole list or result over where one member of one entry is otherwise. */
export const TEXT: OptionRule = ["text", (value) => typeof value === "string"];
export const OBJECT: OptionRule = ["an object", isBag];
export const SIZE: OptionRule = ["a number of bytes", (value) => Number.isSafeInteger(value) && Number(value) >= 0];

const FLAG: OptionRule = ["a boolean", (value) => typeof value === "boolean"];
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const ROLE = oneOf("user", "assistant");

type Rules = Readonly<Record<string, OptionRule>>;

/** The first member that is there and does not fit, in words; undefined: all fit. */
export function misfit(value: object, rules: Rules): string | undefined {
  for (const [name, [words, fits]] of Object.entries(rules)) {
    const member: unknown = Reflect.get(value, name);
    if (member !== undefined && !fits(member)) return `${name} has to be ${words}`;
  }
  return undefined;
}

const shape = (words: string, rules: Rules, needed = ""): OptionRule => [
  words,
  (value) => isBag(value) && (needed === "" || needed in value) && misfit(value, rules) === undefined,
];

const ICON = shape("", { src: TEXT, mimeType: TEXT, sizes: TEXTS, theme: oneOf("light", "dark") }, "src");

export const ICONS: OptionRule = [
  "a list of { src, mimeType?, sizes?, theme? }: texts, sizes a list of them",
  (value) => Array.isArray(value) && value.every((one) => ICON[1](one)),
];

/** Of a tool. */
export const HINTS = shape(
  "hints as MCP has them: title as text; readOnlyHint, destructiveHint, idempotentHint, openWorldHint as booleans",
  {
    title: TEXT,
    readOnlyHint: FLAG,
    destructiveHint: FLAG,
    idempotentHint: FLAG,
    openWorldHint: FLAG,
  },
);

/** Of a resource, or a block. */
export const ANNOTATIONS = shape(
  'annotations as MCP has them: audience a list of "user" and "assistant", priority from 0 to 1, lastModified a time as 2026-01-31T12:00:00Z',
  {
    audience: ["", (value) => Array.isArray(value) && value.every((one) => ROLE[1](one))],
    priority: ["", (value) => typeof value === "number" && value >= 0 && value <= 1],
    lastModified: ["", (value) => typeof value === "string" && ISO.test(value) && !Number.isNaN(Date.parse(value))],
  },
);

/** Of a prompt. */
export const ARGUMENT = shape("", { name: TEXT, title: TEXT, description: TEXT, required: FLAG }, "name");

const CONTENTS: OptionRule = [
  "{ uri, mimeType?, text } or { uri, mimeType?, blob }, all texts",
  (value) =>
    isBag(value) &&
    "uri" in value &&
    ("text" in value || "blob" in value) &&
    misfit(value, { uri: TEXT, mimeType: TEXT, text: TEXT, blob: TEXT, _meta: OBJECT }) === undefined,
];

const MADE_OF: Readonly<Record<string, Rules>> = {
  text: { text: TEXT },
  image: { data: TEXT, mimeType: TEXT },
  audio: { data: TEXT, mimeType: TEXT },
  resource: { resource: CONTENTS },
  resource_link: { uri: TEXT, name: TEXT },
};
const MAY_HAVE: Rules = { annotations: ANNOTATIONS, _meta: OBJECT };
const LINK_MAY_HAVE: Rules = { ...MAY_HAVE, title: TEXT, description: TEXT, mimeType: TEXT, size: SIZE, icons: ICONS };

/** What of a content block no client can read; undefined: it is one. No value is quoted. */
export function wrongInBlock(block: Bag): string | undefined {
  const { type } = block;
  const needed = typeof type === "string" ? own(MADE_OF, type) : undefined;
  if (needed === undefined) return `type has to be one of ${Object.keys(MADE_OF).join(", ")}`;
  for (const [name, [words]] of Object.entries(needed)) if (!(name in block)) return `${name} has to be ${words}`;
  return misfit(block, needed) ?? misfit(block, type === "resource_link" ? LINK_MAY_HAVE : MAY_HAVE);
}
