import type { Json } from "../../../core/contract/index.ts";
import { WireError } from "./wire-error.ts";
import type { WireValue } from "./wire-json.ts";

const LONGEST_NAME = 512;

export const isFields = (value: WireValue | undefined): value is ReadonlyMap<string, WireValue> => value instanceof Map;
const isItems = (value: WireValue | undefined): value is readonly WireValue[] => Array.isArray(value);

/** The fields of a message or of a part of it. Unknown fields are ignored; errors name the invalid field. */
export class Fields {
  readonly #of: string;
  readonly #fields: ReadonlyMap<string, WireValue>;

  constructor(of: string, value: WireValue | undefined) {
    // Serde accepts the bare name of a variant without fields, and one client sends an empty object for it.
    if (value !== undefined && value !== null && !isFields(value)) throw new WireError(`${of} must be an object.`);
    this.#of = of;
    this.#fields = isFields(value) ? value : new Map();
  }

  has(name: string): boolean {
    return (this.#fields.get(name) ?? null) !== null;
  }

  value(name: string): WireValue | undefined {
    return this.#fields.get(name);
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value !== "string") throw this.#wrong(name, "a string");
    return value;
  }

  textOrNull(name: string): string | null {
    return this.has(name) ? this.text(name) : null;
  }

  /** A non-empty text of bounded length. */
  id(name: string): string {
    const value = this.text(name);
    if (value === "" || value.length > LONGEST_NAME) throw this.#wrong(name, `an id of 1 to ${LONGEST_NAME} characters`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name) ?? false;
    if (typeof value !== "boolean") throw this.#wrong(name, "true or false");
    return value;
  }

  /** A non-negative safe integer. */
  count(name: string): number {
    const value = this.#fields.get(name);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw this.#wrong(name, "a whole number");
    return value;
  }

  bytes(name: string): Uint8Array {
    const value = this.#fields.get(name);
    if (!(value instanceof Uint8Array)) throw this.#wrong(name, "a list of numbers of 0 to 255");
    return value;
  }

  bytesOrNull(name: string): Uint8Array | null {
    return this.has(name) ? this.bytes(name) : null;
  }

  list(name: string): readonly WireValue[] {
    const value = this.#fields.get(name);
    if (isItems(value)) return value;
    if (value instanceof Uint8Array && value.length === 0) return [];
    throw this.#wrong(name, "a list");
  }

  #wrong(name: string, what: string): WireError {
    return new WireError(`${this.#of}.${name} must be ${what}.`);
  }
}

/** Converts a value without a type of its own to JSON. */
export function jsonOf(value: WireValue | undefined): Json {
  if (value === undefined) return null;
  if (value instanceof Uint8Array) return Array.from(value);
  if (isItems(value)) return value.map(jsonOf);
  if (isFields(value)) return Object.fromEntries(Array.from(value, ([name, field]) => [name, jsonOf(field)]));
  return value;
}

/** An enum's case and its content: `"Case"`, or `{"Case": …}`. */
export function caseOf(value: WireValue | undefined, of: string): readonly [name: string, content: WireValue | undefined] {
  if (typeof value === "string") return [value, undefined];
  const [only, ...others] = isFields(value) ? Array.from(value) : [];
  if (only === undefined || others.length > 0) throw new WireError(`${of} must be a name, or an object of one name.`);
  return only;
}
