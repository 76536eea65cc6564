// Owns: JSON values (guards, own properties, freezing, canonical text), JSON text (parsing, sizes, counts, surrogates, rounded integers)
// and JSON Pointers (RFC 6901). Does not own: schemas (core/schema).

/** What a mailbox, a disk and a wire all carry alike. Bytes travel as base64 text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object with arbitrary keys. */
export type JsonObject = Readonly<Record<string, Json>>;

/** Deeply read-only: what an author reads of a state, and may give back as a result. */
export type Frozen<T> = T extends (...args: never) => unknown ? T : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/**
 * A JSON object, not an array.
 *
 * @example
 * ```ts
 * import { isJsonObject } from "troupe";
 *
 * isJsonObject({}); // true
 * isJsonObject([]); // false
 * ```
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `Array.isArray` with a read-only result instead of `any[]`. */
export function isList(value: Json | undefined): value is readonly Json[];
export function isList(value: unknown): value is readonly unknown[];
export function isList(value: unknown): boolean {
  return Array.isArray(value);
}

/** Parses JSON text. Undefined: there is no text, or it is not JSON. */
export function tryParseJson(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Text from a user's file, without the byte order mark that Windows tools put first (RFC 8259, 8.1 lets a reader skip it). */
export const stripBom = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text);

export const isTexts = (value: unknown): value is readonly string[] => isList(value) && value.every((one) => typeof one === "string");

/** The value of an own property; inherited ones are ignored. */
export const getOwn = <K extends string, T>(record: Readonly<Record<K, T>> | undefined, key: NoInfer<K>): T | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;

/** What is logged, as JSON: a line that JSON cannot hold must not fail the code that writes it, so text stands for the values that have none. */
export function loggable(data: Json): Json;
export function loggable(data: unknown): unknown {
  try {
    if (JSON.stringify(data) !== undefined) return data;
  } catch {
    // It has a bigint, a circle, or a `toJSON` that throws.
  }
  const met = new Set<object>();
  const writable = (_: string, value: unknown): unknown => {
    if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (met.has(value)) return "(see above)";
    met.add(value);
    return value;
  };
  try {
    return tryParseJson(JSON.stringify(data, writable)) ?? null;
  } catch {
    return "(cannot be read)";
  }
}

type KeyOf<T> = T extends unknown ? keyof T : never;

/** Which member of a union it is, by a key of its own: `key in value` would also find one that some code added to `Object.prototype`. */
export function hasOwn<T extends object, K extends KeyOf<T>>(value: T, key: K): value is Extract<T, Readonly<Record<K, unknown>>> {
  return Object.hasOwn(value, key);
}

/** Sets an own property whatever its name: a plain assignment to `__proto__` would change the prototype instead. */
export function setOwn<K extends PropertyKey, T>(target: Record<K, T>, key: K, value: T): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** The members that are not undefined, for types with `exactOptionalPropertyTypes`. */
export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> };
export function omitUndefined(members: Readonly<Record<string, unknown>>): object {
  const present: Record<string, unknown> = {};
  // Three times as fast as `Object.fromEntries`: calls come through here.
  for (const key of Object.keys(members)) if (members[key] !== undefined) setOwn(present, key, members[key]);
  return present;
}

/** JSON text that is the same for equal values, whatever the order of their keys. */
export function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const entries = Object.keys(value).toSorted();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join()}}`;
}

/** Deeper than a state or a message may be. Values below are not frozen; they are refused as too deep elsewhere. */
export const DEEPEST = 1_000;

/**
 * Freezes deeply, in place, and returns the same. It need not be JSON yet: cycles end, and what is neither a plain object nor a
 * list is left as it is.
 */
export function freezeDeep<T>(value: T): T {
  if (!isFreezable(value)) return value;
  Object.freeze(value);
  if (isDeep(value)) freezeInside(value, undefined, 0);
  return value;
}

// Checked first: V8 inlines a recursive function into its caller several times, which leaves no budget for other functions.
function isDeep(value: Inside): boolean {
  for (const key in value) if (typeof value[key] === "object" && value[key] !== null) return true;
  return false;
}

// An author's own frozen value may hold some that are not. `met` ends cycles among what is frozen, and most values need none.
function freezeInside(value: Inside, seen: Set<object> | undefined, depth: number): Set<object> | undefined {
  let met = seen;
  // Not its keys as a list: this runs for every turn, and JSON inherits none.
  for (const key in value) {
    const item = value[key];
    if (!isFreezable(item)) continue;
    if (Object.isFrozen(item)) {
      met ??= new Set();
      if (met.has(item)) continue;
      met.add(item);
    } else Object.freeze(item);
    if (depth < DEEPEST) met = freezeInside(item, met, depth + 1);
  }
  return met;
}

type Inside = Readonly<Record<string, unknown>>;

function isFreezable(value: unknown): value is Inside {
  if (typeof value !== "object" || value === null) return false;
  // Not the prototypes themselves, which are the whole process's.
  if (Array.isArray(value)) return value !== Array.prototype;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || (prototype === null && value !== Object.prototype);
}

/** The most bytes that a number, boolean or null takes in JSON. */
export const SHORT_BYTES = 25;

/** The most bytes that a text takes in JSON. */
export const textBytes = ({ length }: string): number => length * 6 + 2;

/** By how many bytes JSON grows at most by a text, a number, a boolean or null. Undefined: it is none of these, or no JSON. */
export function growthBy(value: unknown): number | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? SHORT_BYTES : undefined;
    case "string":
      return value.isWellFormed() ? textBytes(value) : undefined;
    case "boolean":
      return SHORT_BYTES;
    default:
      return value === null ? SHORT_BYTES : undefined;
  }
}

/** Bounds of one JSON message, checked before it is parsed. */
export interface ValueLimits {
  /** Values of any kind in the whole message. */
  readonly values: number;
  /** Members of one object, those with equal names included. */
  readonly members: number;
}

/** The defaults of every transport and protocol. */
export const VALUE_LIMITS: ValueLimits = { values: 100_000, members: 10_000 };

/** What a JSON text holds. Where counting stopped at a limit, the numbers are those reached by then. */
export interface ValueCounts {
  readonly values: number;
  /** Of the object with the most. */
  readonly members: number;
  /** Lists and objects without content, which take the most memory for their text. */
  readonly empty: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SPACE = 0x20;
const UNLIMITED: ValueLimits = { values: Infinity, members: Infinity };
const encoder = new TextEncoder();

/** 1 for the bytes outside of texts that count. A long message has millions of others. */
const MARKS = Uint8Array.from({ length: 256 }, (_, byte) =>
  [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE].includes(byte) ? 1 : 0,
);

/**
 * Counts without parsing, in one pass over the bytes, and no further than the limits. An object of many members costs far more
 * to parse, walk and copy than its bytes suggest, so a message has to be refused before anything else looks at it.
 */
export function countValues(message: Uint8Array | string, limits: ValueLimits = UNLIMITED): ValueCounts {
  const bytes = typeof message === "string" ? encoder.encode(message) : message;
  // Members counted so far of the objects around the one being read.
  const outer: number[] = [];
  let values = 1;
  let empty = 0;
  let members = 0;
  let most = 0;
  for (let at = nextMark(bytes, 0); at < bytes.length; at = nextMark(bytes, at + 1)) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at + 1);
    else if (byte === COMMA) values += 1;
    else if (byte === COLON) {
      members += 1;
      if (members > most) most = members;
    } else if (byte === OPEN_LIST || byte === OPEN) {
      values += 1;
      outer.push(members);
      members = 0;
    } else if (byte === CLOSE_LIST || byte === CLOSE) {
      // An opening bracket was counted for the first value behind it.
      if (isOpening(bytes, at - 1)) {
        values -= 1;
        empty += 1;
      }
      members = outer.pop() ?? 0;
    }
    if (values > limits.values || most > limits.members) break;
  }
  return { values, members: most, empty };
}

/** Which limit a JSON text exceeds, as the start of a sentence; undefined: none. */
export function tooManyValues(message: Uint8Array | string, limits: ValueLimits): string | undefined {
  // A value takes at least two bytes and a member five: what is short need not be read.
  if (message.length < 2 * limits.values && message.length < 5 * limits.members) return undefined;
  const { values, members } = countValues(message, limits);
  if (members > limits.members) return `An object may have ${limits.members} members`;
  return values > limits.values ? `A message may hold ${limits.values} values` : undefined;
}

/** The next byte that counts, or where the message ends. */
function nextMark(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && MARKS[bytes[at] ?? 0] === 0) at += 1;
  return at;
}

/** The closing quote of a text, or where the message ends. */
function endOfText(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Whether what precedes, apart from white space, opens a list or an object: it is empty. */
function isOpening(bytes: Uint8Array, before: number): boolean {
  let at = before;
  while ((bytes[at] ?? Infinity) <= SPACE) at -= 1;
  return bytes[at] === OPEN_LIST || bytes[at] === OPEN;
}

const ESCAPE_LENGTH = 6;
const LONE = "\ufffd";

/**
 * JSON text without unpaired surrogates, which strict parsers refuse (RFC 8259 section 8.2): each becomes U+FFFD. `JSON.stringify`
 * writes them as escapes, so a text without `\ud` has none and costs one search.
 */
export function wellFormed(text: string): string {
  const first = text.indexOf("\\ud");
  if (first === -1) return text;
  const repaired = withoutLone(text, first);
  return repaired === text ? text : withoutDuplicates(repaired);
}

function withoutLone(text: string, first: number): string {
  let repaired = "";
  let from = 0;
  for (let at = first; at !== -1; at = text.indexOf("\\ud", at)) {
    if (!isEscape(text, at)) {
      at += 1;
      continue;
    }
    if (isHalf(text, at, 0xd800)) {
      const next = at + ESCAPE_LENGTH;
      // A valid surrogate pair that was written as escapes.
      if (isHalf(text, at, 0xd800, 0xdbff) && text.startsWith("\\u", next) && isHalf(text, next, 0xdc00)) {
        at = next + ESCAPE_LENGTH;
        continue;
      }
      repaired += text.slice(from, at) + LONE;
      from = next;
    }
    at += ESCAPE_LENGTH;
  }
  return from === 0 ? text : repaired + text.slice(from);
}

/** False where the backslash is itself escaped: then the text only speaks of an escape. */
function isEscape(text: string, at: number): boolean {
  let before = at;
  while (before > 0 && text.charCodeAt(before - 1) === 0x5c) before -= 1;
  return (at - before) % 2 === 0;
}

function isHalf(text: string, at: number, from: number, to = 0xdfff): boolean {
  const unit = Number.parseInt(text.slice(at + 2, at + ESCAPE_LENGTH), 16);
  return unit >= from && unit <= to;
}

/** Two names that differed in broken characters only have become one. A piece of a message is no JSON, and has no names. */
function withoutDuplicates(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** One step, to be appended to a pointer. */
export const pointerStep = (key: string): string => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The keys of a pointer; none of the root. */
export const pointerSteps = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

/** A number between other values. Longer ones are Infinity. */
const WRITTEN = /(?<=[:,[\s])(-?\d{16,400})(?:\.0+)?(?=[,\]}\s])/g;

/** Whether a number that was read may have been written as another integer. */
export const mayBeRounded = (value: number): boolean => value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER;

/**
 * The first integer of a JSON text that was rounded to one of `values`. The digits that JavaScript writes for a double are not refused: they
 * mean that double to every client in JavaScript, and are written as the same digits again.
 */
export function roundedInteger(
  text: string,
  values: { readonly has: (value: number) => boolean },
): { readonly digits: string; readonly value: number } | undefined {
  for (const [, digits = ""] of text.matchAll(WRITTEN)) {
    const value = Number(digits);
    if (!values.has(value) || !Number.isFinite(value)) continue;
    if (BigInt(digits) !== BigInt(value) && digits !== String(value)) return { digits, value };
  }
  return undefined;
}

/** What is wrong with a JSON text of which reading rounds an integer, as a sentence. Undefined: nothing. Throws what `JSON.parse` throws. */
export function roundingIssue(text: string): string | undefined {
  if (!/\d{16}/.test(text)) return undefined;
  const large = new Set<number>();
  JSON.parse(text, (_, value: unknown) => {
    if (typeof value === "number" && mayBeRounded(value)) large.add(value);
    return value;
  });
  const rounded = roundedInteger(text, large);
  return rounded && `${rounded.digits.slice(0, 40)} is an integer that no double holds: send integers beyond ±9007199254740991 as text.`;
}
