// Owns: checks of options, of MCP definitions, and of messages that cannot be serialised. Does not own: JSON Schema
// (core/schema).

import type { ActorId, Message, Reply } from "./actor.ts";
import { EngineError, StoreError, TroupeError } from "./errors.ts";
import { type JsonObject, DEEPEST, isJsonObject, isTexts, getOwn } from "./json.ts";

/** A check, and the words that follow "has to be" in its error. */
export type OptionRule = readonly [words: string, fits: (value: unknown) => boolean];

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** An option's rule: a number above 0. */
export const ABOVE_ZERO: OptionRule = ["a number above 0", (value) => isNumber(value) && value > 0];
/** An option's rule: the most of something; `Infinity` is no limit. */
export const LIMIT: OptionRule = ["a number above 0, or Infinity", (value) => typeof value === "number" && value > 0];
/** An option's rule: a time in milliseconds. */
export const DURATION: OptionRule = ["a number of milliseconds, 0 or more", (value) => isNumber(value) && value >= 0];
/** An option's rule: a function. */
export const FUNCTION: OptionRule = ["a function", (value) => typeof value === "function"];
/** An option's rule: a list of texts. */
export const TEXTS: OptionRule = ["a list of texts", isTexts];
/** An option's rule: a rate limit, or false for none. */
export const RATE: OptionRule = [
  "{ perSecond, burst }, perSecond above 0 and burst at least 1, or false for no limit",
  (value) =>
    value === false ||
    (isJsonObject(value) && isNumber(value["perSecond"]) && value["perSecond"] > 0 && isNumber(value["burst"]) && value["burst"] >= 1),
];

/** What `actor()` makes, or a behaviour by hand. */
export const KINDS: OptionRule = [
  'a list of kinds, as actor("name", { … }) makes them',
  (value) => Array.isArray(value) && value.every((one) => isJsonObject(one) && typeof one["receive"] === "function"),
];

/** What `index()` makes. */
export const INDEXES: OptionRule = [
  "a list of indexes, as index(kind, { … }) makes them",
  (value) => Array.isArray(value) && value.every((one) => isJsonObject(one) && typeof one["includes"] === "function"),
];

/** An option's rule: one of these texts. */
export function oneOf(...names: readonly string[]): OptionRule {
  return [names.map((name) => JSON.stringify(name)).join(" or "), (value) => names.some((name) => name === value)];
}

/** Accepts an object of bounds with the same names as `known`. */
export function boundsOf(known: object): OptionRule {
  const names = Object.keys(known);
  return [
    `bounds, each a number of at least 0, from among ${names.join(", ")}`,
    (value) => isJsonObject(value) && Object.entries(value).every(([name, bound]) => names.includes(name) && isNumber(bound) && bound >= 0),
  ];
}

/** All options with their checks; `true`: checked where the option is used. */
export type OptionTable<O> = Readonly<Record<keyof O, OptionRule | true>>;

/**
 * Checks options at run time: plain JavaScript has no compiler that finds a misspelt name, and a server with a misspelt `auth` would
 * be open. Absent options pass. Throws `BAD_OPTION` with the first unknown option and the closest known name, or with the first
 * option of a wrong type. `ignored`: accepted and not used.
 */
export function checkOptions<O extends object>(
  of: string,
  options: O,
  table: OptionTable<NoInfer<O>>,
  ignored: readonly string[] = [],
): void {
  const rules = new Map<string, OptionRule | true>(Object.entries(table));
  for (const [name, value] of Object.entries(options)) {
    const rule = rules.get(name);
    if (rule === undefined && !ignored.includes(name)) throw unknown(of, name, [...rules.keys()]);
    if (value !== undefined && rule !== undefined && rule !== true) checkNeeded(name, value, rule);
  }
}

/** Checks one option that is required. */
export function checkNeeded(name: string, value: unknown, [words, fits]: OptionRule): void {
  if (!fits(value)) throw new TroupeError("BAD_OPTION", `${name} has to be ${words}.`);
}

/** Checks a limit or a position of a query. Throws `BAD_QUERY`. */
export function checkWholeNumber(name: string, value: unknown, least = 0): void {
  if (Number.isSafeInteger(value) && Number(value) >= least) return;
  throw new EngineError("BAD_QUERY", `\`${name}\` is a whole number${least === 0 ? " of 0 or more" : ""}.`);
}

/** Checks the limit of a list: a whole number, or `Infinity` for all. Throws `BAD_QUERY`. */
export function wholeLimit(limit: number): number {
  if (limit === Infinity) return Number.MAX_SAFE_INTEGER;
  checkWholeNumber("limit", limit);
  return limit;
}

function unknown(of: string, name: string, known: readonly string[]): TroupeError {
  return new TroupeError(
    "BAD_OPTION",
    `${of} has no option ${JSON.stringify(name)}${didYouMean(name, known)} There are ${known.join(", ")}.`,
  );
}

/** MCP clients reject a whole list or result if one member of one entry has a wrong type. These checks find it first. */
export const TEXT: OptionRule = ["text", (value) => typeof value === "string"];
export const OBJECT: OptionRule = ["an object", isJsonObject];
export const SIZE: OptionRule = ["a number of bytes", (value) => Number.isSafeInteger(value) && Number(value) >= 0];

const FLAG: OptionRule = ["a boolean", (value) => typeof value === "boolean"];
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const ROLE = oneOf("user", "assistant");

type Rules = Readonly<Record<string, OptionRule>>;

/** Describes the first present member that fails its rule; undefined: all pass. */
export function firstInvalidField(value: object, rules: Rules): string | undefined {
  for (const [name, [words, fits]] of Object.entries(rules)) {
    const member: unknown = Reflect.get(value, name);
    if (member !== undefined && !fits(member)) return `${name} has to be ${words}`;
  }
  return undefined;
}

const shape = (words: string, rules: Rules, needed = ""): OptionRule => [
  words,
  (value) => isJsonObject(value) && (needed === "" || needed in value) && firstInvalidField(value, rules) === undefined,
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

const ARGUMENTS: OptionRule = [
  "a list of { name, title?, description?, required? }: texts, required a boolean; their values are text",
  (value) => Array.isArray(value) && value.every((one) => ARGUMENT[1](one)),
];
const OF_ALL: Rules = { title: TEXT, icons: ICONS, meta: OBJECT };

/** What authors write of an offer and clients check, in the lists. */
export const OFFERED = {
  tools: { ...OF_ALL, annotations: HINTS },
  resources: { ...OF_ALL, mimeType: TEXT, size: SIZE, annotations: ANNOTATIONS },
  prompts: { ...OF_ALL, arguments: ARGUMENTS },
} as const;

/** As clients check it. Bytes that were encoded here pass without being decoded again. */
export function isBase64(value: unknown): value is string {
  if (typeof value !== "string") return false;
  if (value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)) return true;
  try {
    atob(value);
    return true;
  } catch {
    return false;
  }
}

const BASE64: OptionRule = ["text in base64", isBase64];

const CONTENTS: OptionRule = [
  "{ uri, mimeType?, text } or { uri, mimeType?, blob }, all texts, blob in base64",
  (value) =>
    isJsonObject(value) &&
    "uri" in value &&
    ("text" in value || "blob" in value) &&
    firstInvalidField(value, { uri: TEXT, mimeType: TEXT, text: TEXT, blob: BASE64, _meta: OBJECT }) === undefined,
];

const MADE_OF: Readonly<Record<string, Rules>> = {
  text: { text: TEXT },
  image: { data: BASE64, mimeType: TEXT },
  audio: { data: BASE64, mimeType: TEXT },
  resource: { resource: CONTENTS },
  resource_link: { uri: TEXT, name: TEXT },
};
const MAY_HAVE: Rules = { annotations: ANNOTATIONS, _meta: OBJECT };
const LINK_MAY_HAVE: Rules = { ...MAY_HAVE, title: TEXT, description: TEXT, mimeType: TEXT, size: SIZE, icons: ICONS };

/** Describes what is invalid in a content block, without quoting values; undefined: it is valid. */
export function invalidInBlock(block: JsonObject): string | undefined {
  const { type } = block;
  const needed = typeof type === "string" ? getOwn(MADE_OF, type) : undefined;
  if (needed === undefined) return `type has to be one of ${Object.keys(MADE_OF).join(", ")}`;
  for (const [name, [words]] of Object.entries(needed)) if (!(name in block)) return `${name} has to be ${words}`;
  return firstInvalidField(block, needed) ?? firstInvalidField(block, type === "resource_link" ? LINK_MAY_HAVE : MAY_HAVE);
}

/** A `TaskSupport`. */
export const TASK = oneOf("optional", "required");

/** Throws `BAD_DEFINITION`. */
export function checkTask(task: unknown, where: string): void {
  if (task !== undefined && !TASK[1](task)) throw new TroupeError("BAD_DEFINITION", `${where}: \`task\` is ${TASK[0]}, or absent.`);
}

const LONGEST = 64;

/** The known name closest to `name`, ignoring case, `_` and `-`. Undefined: none is similar. */
export function closestMatch(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST) return undefined;
  const given = plain(name);
  const [best] = known
    .map((one) => ({ one, off: distance(given, plain(one)) }))
    .filter(({ one, off }) => off <= Math.max(1, Math.floor(one.length / 3)))
    .toSorted((left, right) => left.off - right.off);
  return best?.one;
}

/** The end of a sentence about a name that is not known: asks for the closest one, or is only a full stop. */
export function didYouMean(name: string, known: readonly string[]): string {
  const meant = closestMatch(name, known);
  return meant === undefined ? "." : `, do you mean ${JSON.stringify(meant)}?`;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "");

/** The edit distance, with swapped neighbours counted as one edit (Damerau-Levenshtein). */
function distance(one: string, other: string): number {
  let [beforeLast, last]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row += 1) {
    const here = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const exchanged = (last?.[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      let steps = Math.min(exchanged, (last?.[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1);
      const areSwapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (areSwapped) steps = Math.min(steps, (beforeLast?.[column - 2] ?? 0) + 1);
      here.push(steps);
    }
    [beforeLast, last] = [last, here];
  }
  return last?.at(-1) ?? 0;
}

// Finds what is not JSON in a message. This runs only after something has failed, since walking each message would slow every call.

const BROUGHT = ["args", "start", "answers", "viewer", "policy", "trace"] as const;
/** Bounds the walk of values that share parts. */
const MOST_VALUES = 1_000_000;
const LONGEST_PATH = 200;
const HALF = "holds half a character (a lone surrogate): pass whole characters, bytes as base64";

type Brought = Partial<Pick<Message, (typeof BROUGHT)[number]>>;

interface Unfit {
  readonly path: string;
  readonly why: string;
}

/**
 * The refusal for a message that is not JSON, after a turn or view threw `error` for it. Undefined: the message is valid, or the error
 * did not come from the behaviour.
 */
export function invalidMessageReply(error: unknown, message: Brought): Extract<Reply, { refused: unknown }> | undefined {
  if (error instanceof StoreError || (error instanceof EngineError && error.code !== "STATE_NOT_JSON")) return undefined;
  const unfit = unfitIn(message);
  if (unfit === undefined) return undefined;
  const [, within] = /^args\.?(.*)$/s.exec(unfit.path) ?? [];
  const { path, why } = { ...unfit, path: within ?? unfit.path };
  const what = within === undefined ? "message" : "arguments";
  const reason = path === "" ? why : `${path}: ${why}`;
  return { refused: { code: "INVALID", message: `Invalid ${what}: ${reason}.`, data: { issues: [{ path, message: why }] } } };
}

/** The error for the sender of a message that cannot be serialised. Undefined: it can. */
export function unserialisableError(to: ActorId, message: Brought): EngineError | undefined {
  const unfit = unfitIn(message);
  return unfit && new EngineError("BAD_TURN", `A message to ${to} is no JSON: ${unfit.path} ${unfit.why}.`);
}

function unfitIn(message: Brought): Unfit | undefined {
  const left = { values: MOST_VALUES };
  for (const name of BROUGHT) {
    const unfit = find(message[name], name, 0, left);
    if (unfit !== undefined) return unfit.path.length > LONGEST_PATH ? { ...unfit, path: `${unfit.path.slice(0, LONGEST_PATH)}…` } : unfit;
  }
  return undefined;
}

// Values that JSON.stringify omits or converts (undefined, dates) do no harm.
function find(value: unknown, path: string, depth: number, left: { values: number }): Unfit | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : { path, why: HALF };
  if (typeof value === "bigint") return { path, why: "is a BigInt: pass its text" };
  if (typeof value !== "object" || value === null || (left.values -= 1) < 0) return undefined;
  if (depth > DEEPEST) return { path, why: "is nested too deep, or holds itself: pass less" };
  for (const [key, item] of Object.entries(value)) {
    const at = `${path}.${key.toWellFormed()}`;
    const unfit = key.isWellFormed() ? find(item, at, depth + 1, left) : { path: at, why: HALF };
    if (unfit !== undefined) return unfit;
  }
  return undefined;
}
