// Owns: checked access to the fields of a message. Does not own: which message has which fields (commands.ts, responses.ts).
import { isList, type Json } from "../../../core/contract/index.ts";
import { WireError, type WireValue } from "./wire-json.ts";

const MAX_NAME_LENGTH = 512;

export const isObject = (value: WireValue | undefined): value is ReadonlyMap<string, WireValue> => value instanceof Map;

/** The fields of a message or of a part of it. Unknown fields are ignored; errors name the invalid field. */
export class Fields {
  readonly #subject: string;
  readonly #fields: ReadonlyMap<string, WireValue>;

  constructor(subject: string, value: WireValue | undefined) {
    // Serde accepts the bare name of a variant without fields, and one client sends an empty object for it.
    if (value !== undefined && value !== null && !isObject(value)) throw new WireError(`${subject} must be an object.`);
    this.#subject = subject;
    this.#fields = isObject(value) ? value : new Map();
  }

  has(name: string): boolean {
    return (this.#fields.get(name) ?? null) !== null;
  }

  value(name: string): WireValue | undefined {
    return this.#fields.get(name);
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    if (typeof value !== "string") throw this.#invalid(name, "a string");
    return value;
  }

  textOrNull(name: string): string | null {
    return this.has(name) ? this.text(name) : null;
  }

  /** A non-empty text of bounded length. */
  id(name: string): string {
    const value = this.text(name);
    if (value === "" || value.length > MAX_NAME_LENGTH) throw this.#invalid(name, `an id of 1 to ${MAX_NAME_LENGTH} characters`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.#fields.get(name) ?? false;
    if (typeof value !== "boolean") throw this.#invalid(name, "true or false");
    return value;
  }

  /** A non-negative safe integer. */
  count(name: string): number {
    const value = this.#fields.get(name);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw this.#invalid(name, "a whole number");
    return value;
  }

  bytes(name: string): Uint8Array {
    const value = this.#fields.get(name);
    if (!(value instanceof Uint8Array)) throw this.#invalid(name, "a list of numbers of 0 to 255");
    return value;
  }

  bytesOrNull(name: string): Uint8Array | null {
    return this.has(name) ? this.bytes(name) : null;
  }

  list(name: string): readonly WireValue[] {
    const value = this.#fields.get(name);
    if (isList(value)) return value;
    if (value instanceof Uint8Array && value.length === 0) return [];
    throw this.#invalid(name, "a list");
  }

  #invalid(name: string, expected: string): WireError {
    return new WireError(`${this.#subject}.${name} must be ${expected}.`);
  }
}

/** Converts a value without a type of its own to JSON. */
export function toJson(value: WireValue | undefined): Json {
  if (value === undefined) return null;
  if (value instanceof Uint8Array) return Array.from(value);
  if (isList(value)) return value.map(toJson);
  if (isObject(value)) return Object.fromEntries(Array.from(value, ([name, field]) => [name, toJson(field)]));
  return value;
}

/** An enum's case and its content: `"Case"`, or `{"Case": …}`. */
export function caseOf(value: WireValue | undefined, subject: string): readonly [name: string, content: WireValue | undefined] {
  if (typeof value === "string") return [value, undefined];
  const [only, ...others] = isObject(value) ? Array.from(value) : [];
  if (only === undefined || others.length > 0) throw new WireError(`${subject} must be a name, or an object of one name.`);
  return only;
}
