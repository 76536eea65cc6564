// Owns: the protocol's JSON, read and printed with bytes as lists of numbers. Does not own: what the fields mean (fields.ts).
import { isUtf8 } from "node:buffer";
import { isList } from "../../../core/contract/index.ts";
import { wellFormed } from "../../../core/contract/internal.ts";

/** The data does not follow the protocol. After an error of the framing the next frame cannot be found, so the connection must end. */
export class WireError extends Error {
  override readonly name = "WireError";
}

const COMMA = 44;
const COLON = 58;
const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const ZERO = 48;
/** Characters below this are control characters. */
const FIRST_PRINTABLE = 32;

/** The length of a printed list, such as `[1,20,255]`. */
export function byteListLength(bytes: Uint8Array): number {
  if (bytes.length === 0) return 2;
  let length = bytes.length + 1;
  for (const byte of bytes) length += byte > 99 ? 3 : byte > 9 ? 2 : 1;
  return length;
}

/** Bytes per printed piece. */
const PIECE_BYTES = 65_536;

/** Prints `[1,20,255]` in pieces. Written by hand, since byte lists are most of what the protocol sends. */
function printByteList(bytes: Uint8Array, write: (piece: Buffer) => void): void {
  for (let from = 0; from === 0 || from < bytes.length; from += PIECE_BYTES) {
    const piece = printList(bytes.subarray(from, from + PIECE_BYTES));
    if (from > 0) piece[0] = COMMA;
    write(from + PIECE_BYTES < bytes.length ? piece.subarray(0, -1) : piece);
  }
}

function printList(bytes: Uint8Array): Buffer {
  const text = Buffer.allocUnsafe(byteListLength(bytes));
  text[0] = OPEN_LIST;
  let at = 1;
  for (const byte of bytes) {
    if (byte > 99) {
      text[at++] = ZERO + Math.trunc(byte / 100);
      text[at++] = ZERO + (Math.trunc(byte / 10) % 10);
    } else if (byte > 9) text[at++] = ZERO + Math.trunc(byte / 10);
    text[at++] = ZERO + (byte % 10);
    text[at++] = COMMA;
  }
  text[bytes.length === 0 ? at : at - 1] = CLOSE_LIST;
  return text;
}

const isSpace = (code: number | undefined): boolean => code === 32 || code === 10 || code === 13 || code === 9;

/**
 * Reads a list of bytes that begins at `at`, after its bracket, and returns where it ends. Undefined if it holds anything but integers
 * from 0 to 255.
 */
function readByteList(text: Uint8Array, at: number): { readonly bytes: Uint8Array; readonly next: number } | undefined {
  let end = at;
  let commas = 0;
  for (; end < text.length; end += 1) {
    const code = text[end] ?? 0;
    if (code === COMMA) commas += 1;
    else if ((code < ZERO || code > ZERO + 9) && !isSpace(code)) break;
  }
  if (text[end] !== CLOSE_LIST) return undefined;
  const bytes = new Uint8Array(commas + 1);
  let count = 0;
  let from = at;
  while (from < end) {
    while (isSpace(text[from])) from += 1;
    const first = from;
    let value = 0;
    for (let code = text[from] ?? 0; code >= ZERO && code <= ZERO + 9; code = text[(from += 1)] ?? 0) {
      value = value * 10 + code - ZERO;
      if (from - first > 2) return undefined;
    }
    const digits = from - first;
    if (digits === 0 || value > 255 || (digits > 1 && text[first] === ZERO)) return undefined;
    bytes[count++] = value;
    while (isSpace(text[from])) from += 1;
    if (from === end) break;
    if (text[from] !== COMMA) return undefined;
    from += 1;
  }
  return count === commas + 1 ? { bytes, next: end + 1 } : undefined;
}

/** A value to print as JSON. Bytes become a list of numbers, as Rust's serde prints a `Vec<u8>`. Undefined fields are omitted. */
export type Printable =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Printable[]
  | { readonly [name: string]: Printable | undefined };

/** Compact JSON with keys in insertion order. Throws `WireError` if it is longer than `maxBytes`. */
export function printJson(value: Printable, maxBytes = Number.POSITIVE_INFINITY): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  printPieces(value, (piece) => {
    length += piece.length;
    if (length > maxBytes) throw new WireError(`This answer is longer than the ${maxBytes} bytes that can be sent at once: ask for less.`);
    pieces.push(piece);
  });
  return Buffer.concat(pieces);
}

/** Prints the same text piece by piece, so that it need not be in memory as a whole. */
export function printPieces(value: Printable, write: (piece: Buffer) => void): void {
  let text = "";

  const flush = (): void => {
    if (text !== "") write(Buffer.from(text));
    text = "";
  };

  const print = (one: Printable): void => {
    if (one instanceof Uint8Array) {
      flush();
      printByteList(one, write);
    } else if (typeof one === "bigint") {
      text += String(one);
    } else if (one === null || typeof one !== "object") {
      text += wellFormed(JSON.stringify(one));
    } else if (isList(one)) {
      text += "[";
      for (const [at, item] of one.entries()) {
        if (at > 0) text += ",";
        print(item);
      }
      text += "]";
    } else {
      let separator = "{";
      for (const [name, field] of Object.entries(one)) {
        if (field === undefined) continue;
        text += `${separator}${wellFormed(JSON.stringify(name))}:`;
        separator = ",";
        print(field);
      }
      text += separator === "{" ? "{}" : "}";
    }
  };

  print(value);
  flush();
}

export interface JsonLimits {
  /** Nesting of lists and objects. Default 32. */
  readonly depth: number;
  /** Values of one message; a list of bytes counts as one. Default 1,000,000 in answers, 100,000 in commands. */
  readonly values: number;
  /** Members of one object. Default 10,000. */
  readonly members: number;
}

/** JSON as received. A list of numbers from 0 to 255 is read as bytes, an empty one too; the field that reads it knows its type. */
export type WireValue = null | boolean | number | string | Uint8Array | readonly WireValue[] | ReadonlyMap<string, WireValue>;

/** Whether it ends a number or a literal. */
const endsToken = (code: number | undefined): boolean => code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT || isSpace(code);
const MAX_TOKEN_LENGTH = 64;

/**
 * Reads one JSON text. `JSON.parse` would make a number of every byte, and as many empty lists as fit in a frame. This reader makes
 * bytes at once, and bounds depth and the number of values. Throws `WireError`.
 */
export function readWireJson(text: Uint8Array, limits: JsonLimits): WireValue {
  if (!isUtf8(text)) throw new WireError("This is not UTF-8: send JSON.");
  return new JsonReader(text, limits).readDocument();
}

class JsonReader {
  readonly #text: Buffer;
  readonly #depth: number;
  readonly #members: number;
  #remainingValues: number;
  #at = 0;

  constructor(text: Uint8Array, limits: JsonLimits) {
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
    if (code === OPEN_OBJECT) return this.#object(depth);
    if (code === OPEN_LIST) return this.#list(depth);
    if (code === QUOTE) return this.#string();
    return this.#literal();
  }

  #object(depth: number): WireValue {
    const fields = new Map<string, WireValue>();
    this.#at += 1;
    if (this.#accept(CLOSE_OBJECT)) return fields;
    for (let members = 1; ; members += 1) {
      if (members > this.#members) throw new WireError(`An object may have ${this.#members} members: send less.`);
      this.#skip();
      const key = this.#string();
      if (!this.#accept(COLON)) throw this.#syntaxError();
      fields.set(key, this.#value(depth + 1));
      if (this.#accept(CLOSE_OBJECT)) return fields;
      if (!this.#accept(COMMA)) throw this.#syntaxError();
    }
  }

  #list(depth: number): WireValue {
    this.#at += 1;
    if (this.#accept(CLOSE_LIST)) return new Uint8Array(0);
    const read = readByteList(this.#text, this.#at);
    if (read !== undefined) {
      this.#at = read.next;
      return read.bytes;
    }
    const items: WireValue[] = [];
    for (;;) {
      items.push(this.#value(depth + 1));
      if (this.#accept(CLOSE_LIST)) return items;
      if (!this.#accept(COMMA)) throw this.#syntaxError();
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
    // Other text is valid UTF-8. Half a character cannot be part of a URI, and serde refuses it, too.
    if (!isPlain && !value.isWellFormed())
      throw new WireError(`The string at byte ${begin} holds half a character (a lone surrogate): send whole characters.`);
    this.#at = end + 1;
    return value;
  }

  #literal(): null | boolean | number {
    const begin = this.#at;
    let end = begin;
    while (end < this.#text.length && end - begin <= MAX_TOKEN_LENGTH && !endsToken(this.#text[end])) end += 1;
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
    while (isSpace(this.#text[this.#at])) this.#at += 1;
  }

  #syntaxError(): WireError {
    return new WireError(`This is not JSON: it stops making sense at byte ${this.#at}.`);
  }
}
