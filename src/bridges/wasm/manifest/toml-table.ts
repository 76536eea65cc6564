// Owns: reading typed values of a TOML table, with the position of an invalid one.
import { TomlDate, type TomlTable, type TomlValue } from "smol-toml";
import { getOwn } from "../../../core/contract/internal.ts";
import { ManifestError, type TextPosition } from "./manifest.ts";

const MOST_TEXTS = 256;
const MOST_TABLES = 64;

/** A table of a manifest. Its methods return values of one type, or throw `ManifestError` with the position. */
export class ManifestTable {
  readonly #values: TomlTable;
  readonly #path: TomlPath;
  readonly #text: string;

  constructor(values: TomlTable, path: TomlPath, text: string) {
    this.#values = values;
    this.#path = path;
    this.#text = text;
  }

  keys(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** A string of at most `most` bytes. */
  string(key: string, maxBytes: number): string | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.error(key, `${key} is ${describeKind(value)}; write a text: ${key} = "…"`);
    return this.#checked(value, maxBytes, key, [key]);
  }

  boolean(key: string): boolean | undefined {
    const value = this.#value(key);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.error(key, `${key} is ${describeKind(value)}; write ${key} = true or ${key} = false.`);
  }

  integer(key: string, min: number, max: number | bigint): bigint | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    const n = typeof value === "bigint" ? value : typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : undefined;
    if (n === undefined || n < BigInt(min) || n > BigInt(max))
      throw this.error(key, `${key} is ${n === undefined ? describeKind(value) : n}; write a whole number from ${min} to ${max}.`);
    return n;
  }

  strings(key: string, maxBytes: number): readonly string[] | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    const expected = `write a list of texts: ${key} = ["…"]`;
    if (!Array.isArray(value)) throw this.error(key, `${key} is ${describeKind(value)}; ${expected}`);
    if (value.length > MOST_TEXTS) throw this.error(key, `${key} has ${value.length} entries, ${MOST_TEXTS} are the most.`);
    return value.map((each, n) => {
      if (typeof each !== "string") throw this.#errorAt([key, n], `${key} holds ${describeKind(each)}; ${expected}`);
      return this.#checked(each, maxBytes, key, [key, n]);
    });
  }

  table(key: string): ManifestTable | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    if (!isTable(value)) throw this.error(key, `${key} is ${describeKind(value)}; write a table, [${key}] or ${key} = {}.`);
    return new ManifestTable(value, [...this.#path, key], this.#text);
  }

  tables(key: string): readonly ManifestTable[] {
    const value = this.#value(key);
    if (value === undefined) return [];
    if (!Array.isArray(value) || !value.every(isTable))
      throw this.error(key, `${key} is ${describeKind(value)}; write each as a table of its own, [[${key}]].`);
    if (value.length > MOST_TABLES) throw this.error(key, `There are ${value.length} [[${key}]], ${MOST_TABLES} are the most.`);
    return value.map((each, n) => new ManifestTable(each, [...this.#path, key, n], this.#text));
  }

  /** An error at a key, or at its table if the key is missing. */
  error(key: string, message: string): ManifestError {
    return this.#errorAt([key], message);
  }

  #errorAt(below: TomlPath, message: string): ManifestError {
    return new ManifestError("BAD_MANIFEST", message, positionOf(this.#text, [...this.#path, ...below]));
  }

  #value(key: string): TomlValue | undefined {
    return getOwn(this.#values, key);
  }

  #checked(value: string, maxBytes: number, key: string, below: TomlPath): string {
    if (Buffer.byteLength(value) > maxBytes) throw this.#errorAt(below, `${key} is longer than ${maxBytes} bytes. Shorten it.`);
    if (value.includes("\0")) throw this.#errorAt(below, `${key} holds a NUL. Leave it away.`);
    return value;
  }
}

const isTable = (value: TomlValue): value is TomlTable =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof TomlDate);

function describeKind(value: TomlValue): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof TomlDate) return "a date";
  if (typeof value === "object") return "a table";
  if (typeof value === "string") return "a text";
  return typeof value === "boolean" ? "true or false" : "a number";
}

/** Keys and array indices. */
type TomlPath = readonly (string | number)[];

/**
 * The position of a key in TOML text that was parsed before: the parser returns values without positions. For a missing key,
 * the position of its table.
 */
function positionOf(text: string, path: TomlPath): TextPosition {
  const places = new PositionIndex(text).all();
  for (let length = path.length; length > 0; length -= 1) {
    const at = places.get(pathKey(path.slice(0, length)));
    if (at !== undefined) return lineAndColumn(text, at);
  }
  return { line: 1, column: 1 };
}

const pathKey = (path: TomlPath): string => JSON.stringify(path);

function lineAndColumn(text: string, at: number): TextPosition {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

const BARE = /[^\s=.[\]{},#"']+/y;
const SPACE = /(?:[ \t\r\n]|#[^\n]*)+/y;
/** Strings, the longest delimiters first. */
const STRINGS = [/"""(?:[^\\]|\\[^])*?"{3,5}/y, /'''[^]*?'{3,5}/y, /"(?:[^"\\\n]|\\.)*"/y, /'[^'\n]*'/y];

/** Scans valid TOML for the positions of keys. Other text gives fewer positions, but the scan ends. */
class PositionIndex {
  readonly #text: string;
  readonly #found = new Map<string, number>();
  readonly #tables = new Map<string, number>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  all(): ReadonlyMap<string, number> {
    let table: TomlPath = [];
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      const before = this.#at;
      if (this.#text[this.#at] === "[") table = this.#header();
      else this.#pair(table);
      if (this.#at === before) this.#at += 1;
    }
    return this.#found;
  }

  /** `[a.b]`, or `[[a.b]]`, which appends a table. Later keys belong to it. */
  #header(): TomlPath {
    const start = this.#at;
    const many = this.#text.startsWith("[[", start);
    this.#at += many ? 2 : 1;
    const keys = this.#keys();
    this.#at += many ? 2 : 1;
    const path: (string | number)[] = [];
    for (const [i, key] of keys.entries()) {
      path.push(key);
      const last = i === keys.length - 1;
      const n = this.#tables.get(pathKey(path));
      if (last && many) {
        this.#tables.set(pathKey(path), (n ?? -1) + 1);
        this.#record(path, start);
        path.push((n ?? -1) + 1);
      } else if (n !== undefined) path.push(n);
    }
    this.#record(path, start);
    return path;
  }

  #pair(table: TomlPath): void {
    const start = this.#at;
    const path = [...table, ...this.#keys()];
    this.#record(path, start);
    if (this.#text[this.#at] !== "=") return;
    this.#at += 1;
    this.#value(path);
  }

  #value(path: TomlPath): void {
    this.#skip();
    const opens = this.#text[this.#at];
    if (opens === "[" || opens === "{") this.#compound(path, opens === "[" ? "]" : "}");
    else if (!STRINGS.some((string) => this.#match(string) !== undefined)) this.#match(/[^,\]}#\n]+/y);
  }

  #compound(path: TomlPath, end: string): void {
    this.#at += 1;
    for (let n = 0; this.#at < this.#text.length; n += 1) {
      this.#skip();
      const before = this.#at;
      if (this.#text[this.#at] === end) break;
      if (end === "}") this.#pair(path);
      else {
        this.#record([...path, n], before);
        this.#value([...path, n]);
      }
      this.#skip();
      if (this.#text[this.#at] === "," || this.#at === before) this.#at += 1;
    }
    this.#at += 1;
  }

  #keys(): readonly string[] {
    const keys: string[] = [];
    for (;;) {
      this.#skip();
      const quoted = this.#match(STRINGS[2] ?? BARE) ?? this.#match(STRINGS[3] ?? BARE);
      const key = quoted === undefined ? this.#match(BARE) : quoted.slice(1, -1);
      if (key !== undefined) keys.push(key);
      this.#skip();
      if (key === undefined || this.#text[this.#at] !== ".") return keys;
      this.#at += 1;
    }
  }

  #skip(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }

  #record(path: TomlPath, at: number): void {
    const key = pathKey(path);
    if (!this.#found.has(key)) this.#found.set(key, at);
  }
}
