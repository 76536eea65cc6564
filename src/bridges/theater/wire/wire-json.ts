import { isUtf8 } from "node:buffer";
import { readByteList } from "./byte-lists.ts";
import { WireError } from "./wire-error.ts";
import type { WireLimits } from "./wire-limits.ts";

/** JSON as received. A list of numbers from 0 to 255 is read as bytes, an empty one too; the field that reads it knows its type. */
export type WireValue = null | boolean | number | string | Uint8Array | readonly WireValue[] | ReadonlyMap<string, WireValue>;

const WHITESPACE = new Set([32, 10, 13, 9]);
const QUOTE = 34;
/** Characters below this are control characters. */
const FIRST_PRINTABLE = 32;
const BACKSLASH = 92;
/** Characters that end a number or a literal. */
const TOKEN_ENDS = new Set([...WHITESPACE, 44, 93, 125]);
const MAX_TOKEN_LENGTH = 64;

/**
 * Reads one JSON text. `JSON.parse` would make a number of every byte, and as many empty lists as fit in a frame. This reader makes
 * bytes at once, and bounds depth and the number of values. Throws `WireError`.
 */
export function readWireJson(text: Uint8Array, limits: Pick<WireLimits, "depth" | "values" | "members">): WireValue {
  if (!isUtf8(text)) throw new WireError("This is not UTF-8: send JSON.");
  return new JsonReader(text, limits).readDocument();
}

class JsonReader {
  readonly #text: Buffer;
  readonly #depth: number;
  readonly #members: number;
  #remainingValues: number;
  #at = 0;

  constructor(text: Uint8Array, limits: Pick<WireLimits, "depth" | "values" | "members">) {
    this.#text = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    this.#depth = limits.depth;
    this.#members = limits.members;
    this.#remainingValues = limits.values;
  }

  readDocument(): WireValue {
    const value = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#syntaxError();
    return value;
  }

  #value(depth: number): WireValue {
    if (depth > this.#depth) throw new WireError(`Lists and objects may stand in each other ${this.#depth} deep, no deeper.`);
    if ((this.#remainingValues -= 1) < 0) throw new WireError("This message holds more values than are taken at once: send less.");
    this.#skip();
    const code = this.#text[this.#at];
    if (code === 123) return this.#object(depth);
    if (code === 91) return this.#list(depth);
    if (code === QUOTE) return this.#string();
    return this.#literal();
  }

  #object(depth: number): WireValue {
    const fields = new Map<string, WireValue>();
    this.#at += 1;
    if (this.#accept(125)) return fields;
    for (let members = 1; ; members += 1) {
      if (members > this.#members) throw new WireError(`An object may have ${this.#members} members: send less.`);
      this.#skip();
      const key = this.#string();
      if (!this.#accept(58)) throw this.#syntaxError();
      fields.set(key, this.#value(depth + 1));
      if (this.#accept(125)) return fields;
      if (!this.#accept(44)) throw this.#syntaxError();
    }
  }

  #list(depth: number): WireValue {
    this.#at += 1;
    if (this.#accept(93)) return new Uint8Array(0);
    const read = readByteList(this.#text, this.#at);
    if (read !== undefined) {
      this.#at = read.next;
      return read.bytes;
    }
    const items: WireValue[] = [];
    for (;;) {
      items.push(this.#value(depth + 1));
      if (this.#accept(93)) return items;
      if (!this.#accept(44)) throw this.#syntaxError();
    }
  }

  #string(): string {
    const text = this.#text;
    const begin = this.#at;
    if (text[begin] !== QUOTE) throw this.#syntaxError();
    let end = begin + 1;
    let isPlain = true;
    for (let byte = text[end]; byte !== QUOTE; byte = text[end]) {
      if (byte === undefined) throw this.#syntaxError();
      // An escape takes two bytes, so an escaped quote does not end the string.
      end += byte === BACKSLASH ? 2 : 1;
      isPlain &&= byte !== BACKSLASH && byte >= FIRST_PRINTABLE;
    }
    // Most strings have no escapes and need no parser.
    const value = isPlain ? text.toString("utf8", begin + 1, end) : this.#parse(begin, end + 1);
    if (typeof value !== "string") throw this.#syntaxError();
    this.#at = end + 1;
    return value;
  }

  #literal(): null | boolean | number {
    const begin = this.#at;
    let end = begin;
    while (end < this.#text.length && end - begin <= MAX_TOKEN_LENGTH && !TOKEN_ENDS.has(this.#text[end] ?? 0)) end += 1;
    const value = this.#parse(begin, end);
    if (value !== null && typeof value !== "boolean" && typeof value !== "number") throw this.#syntaxError();
    this.#at = end;
    return value;
  }

  #parse(begin: number, end: number): unknown {
    try {
      return JSON.parse(this.#text.toString("utf8", begin, end));
    } catch {
      throw this.#syntaxError();
    }
  }

  #accept(code: number): boolean {
    this.#skip();
    if (this.#text[this.#at] !== code) return false;
    this.#at += 1;
    return true;
  }

  #skip(): void {
    while (WHITESPACE.has(this.#text[this.#at] ?? 0)) this.#at += 1;
  }

  #syntaxError(): WireError {
    return new WireError(`This is not JSON: it stops making sense at byte ${this.#at}.`);
  }
}
