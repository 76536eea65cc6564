// Owns: JSON of packets: strict parsing within limits, and bounded copies of values. Does not own: the fields of a packet (read-packet.ts).
import { type Json, type JsonObject, isJsonObject, isList } from "../../core/contract/index.ts";
import { mayBeRounded, pointerStep, roundedInteger, tooManyValues } from "../../core/contract/internal.ts";
import { textOf, utf8Length } from "../../core/platform/index.ts";
import { DEFAULT_PACKET_LIMITS, PacketError, type PacketLimits } from "./packet.ts";

/** What is wrong with a packet, and where. */
export interface PacketIssue {
  /** JSON Pointer; empty: the packet as a whole. */
  readonly path: string;
  readonly message: string;
}

interface ParsedText {
  /** Absent: the text could not be parsed. If there is an issue too, use the value only to address the error. */
  readonly value?: Json;
  readonly issue?: PacketIssue;
}

/** Parses a text only if every JSON parser reads the same value from it. Never throws. */
export function parsePacketText(given: string | Uint8Array, limits: PacketLimits = DEFAULT_PACKET_LIMITS): ParsedText {
  if (tooLong(given, limits.bytes)) return rejected(`A packet has at most ${limits.bytes} bytes: send less, or in parts.`);
  const excess = tooManyValues(given, limits);
  if (excess !== undefined) return rejected(`${excess}: send less at once.`);
  const text = typeof given === "string" ? given : textOf(given);
  if (text === undefined || !text.isWellFormed()) return rejected("A packet is UTF-8: encode it as that, bytes as base64.");
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return rejected("A packet is one whole JSON value without a byte order mark: send what a JSON library writes.");
  }
  const check = new JsonCheck(limits.depth);
  const issue = check.firstIssue(value, 0);
  if (issue !== undefined) return { value, issue };
  const rounded = check.large.size === 0 ? undefined : roundedInteger(text, check.large);
  if (rounded !== undefined) {
    const message = `${rounded.digits.slice(0, 40)} is an integer that no double holds: send integers beyond ±9007199254740991 as text.`;
    return { value, issue: { path: pathOf(value, rounded.value) ?? "", message } };
  }
  // `JSON.parse` silently keeps the last of two members with one name.
  if (check.members === membersWritten(text)) return { value };
  return { value, issue: { path: "", message: "An object names a member twice, and readers differ in which counts: name it once." } };
}

const rejected = (message: string): ParsedText => ({ issue: { path: "", message } });

const tooLong = (given: string | Uint8Array, bytes: number): boolean =>
  given.length > bytes || (typeof given === "string" && !fitsBytes(given, bytes));

/** Whether the text has at most so many bytes of UTF-8. A UTF-16 unit takes at most three, so most texts need not be counted. */
export const fitsBytes = (text: string, bytes: number): boolean => text.length * 3 <= bytes || utf8Length(text) <= bytes;

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Counts the members of all objects in a valid JSON text, repeated names included. */
function membersWritten(text: string): number {
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === COLON) members += 1;
    else if (unit === QUOTE) at = closingQuote(text, at + 1);
  }
  return members;
}

function closingQuote(text: string, start: number): number {
  let at = start;
  for (let unit = text.charCodeAt(at); unit !== QUOTE; unit = text.charCodeAt(at)) at += unit === BACKSLASH ? 2 : 1;
  return at;
}

/** Whether the value is within the depth and can be written as JSON text unchanged. */
export const isSerialisable = (value: Json, depth: number): boolean => new JsonCheck(depth).firstIssue(value, 0) === undefined;

class JsonCheck {
  members = 0;
  /** Numbers that may have been rounded. */
  readonly large = new Set<number>();
  readonly #depth: number;

  constructor(depth: number) {
    this.#depth = depth;
  }

  firstIssue(value: Json, depth: number): PacketIssue | undefined {
    if (typeof value === "string") return value.isWellFormed() ? undefined : loneSurrogate();
    if (typeof value === "number") {
      if (mayBeRounded(value)) this.large.add(value);
      return Number.isFinite(value) ? undefined : { path: "", message: "A number is too large for a double: send it as text." };
    }
    if (typeof value !== "object" || value === null) return undefined;
    if (depth >= this.#depth) return { path: "", message: `A packet nests at most ${this.#depth} levels deep: flatten it.` };
    return isList(value) ? this.#items(value, depth + 1) : this.#fields(value, depth + 1);
  }

  #items(list: readonly Json[], depth: number): PacketIssue | undefined {
    for (let at = 0; at < list.length; at += 1) {
      const firstIssue = this.firstIssue(list[at] ?? null, depth);
      if (firstIssue !== undefined) return { ...firstIssue, path: `/${at}${firstIssue.path}` };
    }
    return undefined;
  }

  #fields(bag: JsonObject, depth: number): PacketIssue | undefined {
    for (const key of Object.keys(bag)) {
      this.members += 1;
      if (!key.isWellFormed()) return loneSurrogate();
      const firstIssue = this.firstIssue(bag[key] ?? null, depth);
      if (firstIssue !== undefined) return { ...firstIssue, path: pathSegment(key) + firstIssue.path };
    }
    return undefined;
  }
}

/** The path of the first occurrence of a number. */
function pathOf(value: Json, wanted: number): string | undefined {
  if (value === wanted) return "";
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const path = pathOf(inner ?? null, wanted);
    if (path !== undefined) return pathSegment(key) + path;
  }
  return undefined;
}

const loneSurrogate = (): PacketIssue => ({
  path: "",
  message: "Text with a lone surrogate is no Unicode: send whole characters, bytes as base64.",
});

/** Cut if long: the path is for a person, and is sent back to the client. */
const pathSegment = (key: string): string => pointerStep(key.slice(0, 100).toWellFormed());

/** Undefined: JSON cannot represent the value. */
export function jsonCopy(value: unknown): Json | undefined {
  const text = value === undefined ? undefined : JSON.stringify(value);
  if (text === undefined) return undefined;
  const copy: Json = JSON.parse(text);
  return copy;
}

/** A copy, so that a called capability cannot change its caller's payload, or the state that it is a part of. */
export function payloadCopy(payload: JsonObject): JsonObject {
  const copy = jsonCopy(payload);
  if (isJsonObject(copy)) return copy;
  throw new PacketError("validation_failed", "A payload is an object: name its fields.");
}

export interface JsonBounds {
  /** Size as JSON text, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** Nesting of lists and objects. */
  readonly maxDepth: number;
}

/** A copy as JSON, or a message that says which bound it exceeds. */
export function boundedJson(value: unknown, { maxBytes, maxDepth }: JsonBounds): { readonly json: Json } | { readonly tooMuch: string } {
  // Checked before writing: `JSON.stringify` recurses as deep as the value and would overflow the stack.
  if (isDeeper(value, maxDepth)) return { tooMuch: `is deeper than ${maxDepth} levels` };
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) return { json: null };
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) return { tooMuch: `is ${bytes} bytes as JSON, and ${maxBytes} are allowed` };
  const json: Json = JSON.parse(text);
  return { json };
}

function isDeeper(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      if (depth === maxDepth) return true;
      for (const inner of Object.values(one)) if (typeof inner === "object") next.push(inner);
    }
    level = next;
  }
  return false;
}
