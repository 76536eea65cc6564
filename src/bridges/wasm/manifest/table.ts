import { TomlDate, type TomlTable, type TomlValue } from "smol-toml";
import { ManifestError } from "./manifest-error.ts";
import { placeOf, type TomlPath } from "./place-of.ts";

const MOST_TEXTS = 256;
const MOST_TABLES = 64;

/** A table of a manifest, whose values are asked for by type. Throws `ManifestError` with the place. */
export class Table {
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

  /** Well-formed, and at most `most` bytes long. */
  string(key: string, most: number): string | undefined {
    const value = this.#at(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.wrong(key, `${key} is ${kindOf(value)}; write a text: ${key} = "…"`);
    return this.#checked(value, most, key, [key]);
  }

  flag(key: string): boolean | undefined {
    const value = this.#at(key);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.wrong(key, `${key} is ${kindOf(value)}; write ${key} = true or ${key} = false.`);
  }

  whole(key: string, least: number, most: number | bigint): bigint | undefined {
    const value = this.#at(key);
    if (value === undefined) return undefined;
    const n = typeof value === "bigint" ? value : typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : undefined;
    if (n === undefined || n < BigInt(least) || n > BigInt(most))
      throw this.wrong(key, `${key} is ${n === undefined ? kindOf(value) : n}; write a whole number from ${least} to ${most}.`);
    return n;
  }

  strings(key: string, most: number): readonly string[] | undefined {
    const value = this.#at(key);
    if (value === undefined) return undefined;
    const expected = `write a list of texts: ${key} = ["…"]`;
    if (!Array.isArray(value)) throw this.wrong(key, `${key} is ${kindOf(value)}; ${expected}`);
    if (value.length > MOST_TEXTS) throw this.wrong(key, `${key} has ${value.length} entries, ${MOST_TEXTS} are the most.`);
    return value.map((each, n) => {
      if (typeof each !== "string") throw this.#wrongAt([key, n], `${key} holds ${kindOf(each)}; ${expected}`);
      return this.#checked(each, most, key, [key, n]);
    });
  }

  table(key: string): Table | undefined {
    const value = this.#at(key);
    if (value === undefined) return undefined;
    if (!isTable(value)) throw this.wrong(key, `${key} is ${kindOf(value)}; write a table, [${key}] or ${key} = {}.`);
    return new Table(value, [...this.#path, key], this.#text);
  }

  tables(key: string): readonly Table[] {
    const value = this.#at(key);
    if (value === undefined) return [];
    if (!Array.isArray(value) || !value.every(isTable))
      throw this.wrong(key, `${key} is ${kindOf(value)}; write each as a table of its own, [[${key}]].`);
    if (value.length > MOST_TABLES) throw this.wrong(key, `There are ${value.length} [[${key}]], ${MOST_TABLES} are the most.`);
    return value.map((each, n) => new Table(each, [...this.#path, key, n], this.#text));
  }

  /** About a key, or where there is none, about its table. */
  wrong(key: string, message: string): ManifestError {
    return this.#wrongAt([key], message);
  }

  #wrongAt(below: TomlPath, message: string): ManifestError {
    return new ManifestError("BAD_MANIFEST", message, placeOf(this.#text, [...this.#path, ...below]));
  }

  #at(key: string): TomlValue | undefined {
    return Object.hasOwn(this.#values, key) ? this.#values[key] : undefined;
  }

  #checked(value: string, most: number, key: string, below: TomlPath): string {
    if (Buffer.byteLength(value) > most) throw this.#wrongAt(below, `${key} is longer than ${most} bytes. Shorten it.`);
    if (value.includes("\0")) throw this.#wrongAt(below, `${key} holds a NUL. Leave it away.`);
    return value;
  }
}

const isTable = (value: TomlValue): value is TomlTable =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof TomlDate);

function kindOf(value: TomlValue): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof TomlDate) return "a date";
  if (typeof value === "object") return "a table";
  if (typeof value === "string") return "a text";
  return typeof value === "boolean" ? "true or false" : "a number";
}
