// Owns: the values that a guest's event recorded, their limits, and their form in Theater's events. Does not own: which event holds which
// value (host-functions.ts, actor-events.ts).
import { type ContentStore, isJsonObject, isList, type Json, type JsonObject } from "../../../core/contract/index.ts";
import { loadValue, MissingContent, type WitValue } from "../../wasm/index.ts";
import type { Printable } from "../wire/wire-json.ts";

// Limits of the data in Theater's events: as lists of numbers in lists of numbers, bytes take up to forty times as much.

/** A state, which each event repeats. */
export const MAX_STATE_BYTES = 16_384;
/** A parameter, a host call's argument or result, or a reply. */
export const MAX_VALUE_BYTES = 65_536;
/** All values that one event of ours refers to. */
const MAX_EVENT_BYTES = 1_048_576;

/** Rust's form of WIT names such as `event-type`. */
const snakeCase = (name: string): string => name.replaceAll("-", "_");

/** A WIT value in the form in which serde prints its Rust counterpart. */
export function printWit(value: WitValue): Printable {
  if (value === undefined) return null;
  if (typeof value !== "object" || value instanceof Uint8Array) return value;
  if (isList(value)) return value.map(printWit);
  return Object.fromEntries(Object.entries<WitValue>(value).map(([name, part]) => [snakeCase(name), printWit(part)]));
}

const NO_BYTES = new Uint8Array(0);

// A record may be of another version, or its content collected: such a value is projected as empty.
export const textOf = (value: WitValue): string => (typeof value === "string" ? value : "");
export const bytesOf = (value: WitValue): Uint8Array => (value instanceof Uint8Array ? value : NO_BYTES);
export const bytesOrNull = (value: WitValue): Uint8Array | null => (value instanceof Uint8Array ? value : null);
export const booleanOf = (value: WitValue): boolean => value === true;
export const numberOf = (value: WitValue): number | bigint => (typeof value === "number" || typeof value === "bigint" ? value : 0);
export const itemsOf = (value: WitValue): readonly WitValue[] => (isList(value) ? value : []);
export const fieldOf = (value: WitValue, name: string): WitValue =>
  typeof value === "object" && !(value instanceof Uint8Array) && !isList(value) && Object.hasOwn(value, name) ? value[name] : undefined;

const lengthOf = ({ length }: JsonObject): number => (typeof length === "number" ? length : Infinity);

/**
 * The values that one event's record holds, within the limits. What is omitted depends only on the lengths in the record and their
 * order, not on what the content store still has, since hashes depend on it.
 */
export class RecordedValues {
  readonly #get: ContentStore["get"];
  #remainingBytes = MAX_EVENT_BYTES;
  #omitted: string[] = [];

  constructor(get: ContentStore["get"]) {
    this.#get = get;
  }

  /** Undefined if its content was collected, it is omitted, or it is not a recorded value. */
  async value(recorded: Json | undefined): Promise<WitValue> {
    if (recorded === undefined) return undefined;
    try {
      return await loadValue(await this.#resolve(recorded), this.#get);
    } catch (error) {
      if (error instanceof MissingContent || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async values(recorded: readonly Json[]): Promise<readonly WitValue[]> {
    const values: WitValue[] = [];
    for (const one of recorded) values.push(await this.value(one));
    return values;
  }

  /** One content with many host calls, or why it is omitted. */
  async calls(reference: JsonObject): Promise<readonly Json[] | string> {
    const { digest } = reference;
    if (typeof digest !== "string") return "that are not kept";
    if (!this.#fits(digest, reference, MAX_EVENT_BYTES)) return `that are left out: ${digest} of ${lengthOf(reference)} bytes`;
    const calls = await this.#json(digest);
    return isList(calls) ? calls : "that are no longer kept";
  }

  /** What was omitted since the last note, for a description. */
  note(): string | undefined {
    const [first, ...more] = this.#omitted;
    this.#omitted = [];
    return first === undefined ? undefined : `left out: ${first}${more.length === 0 ? "" : `, and ${more.length} more`}`;
  }

  /** Loads a value that is stored as one content, which may refer to others. */
  async #resolve(recorded: Json): Promise<Json> {
    const reference = isJsonObject(recorded) ? recorded["kept"] : undefined;
    const digest = isJsonObject(reference) ? reference["digest"] : undefined;
    if (!isJsonObject(reference) || typeof digest !== "string") return this.#withoutOmitted(recorded);
    if (!this.#fits(digest, reference)) return null;
    const whole = await this.#json(digest);
    return whole === undefined ? null : this.#withoutOmitted(whole);
  }

  /** Replaces what is omitted by null. */
  #withoutOmitted(recorded: Json): Json {
    if (isList(recorded)) return recorded.map((one) => this.#withoutOmitted(one));
    if (!isJsonObject(recorded)) return recorded;
    const { digest } = recorded;
    if (typeof digest === "string") return this.#fits(digest, recorded) ? recorded : null;
    if (isJsonObject(recorded["record"])) return { record: this.#fields(recorded["record"]) };
    return "ok" in recorded || "err" in recorded ? this.#fields(recorded) : recorded;
  }

  #fields(bag: JsonObject): Json {
    return Object.fromEntries(Object.entries(bag).map(([name, one]) => [name, this.#withoutOmitted(one)]));
  }

  #fits(digest: string, reference: JsonObject, maxBytes = MAX_VALUE_BYTES): boolean {
    const length = lengthOf(reference);
    if (length <= maxBytes && length <= this.#remainingBytes) {
      this.#remainingBytes -= length;
      return true;
    }
    this.#omitted.push(`${digest} of ${length} bytes`);
    return false;
  }

  async #json(digest: string): Promise<Json | undefined> {
    const bytes = await this.#get(digest);
    if (bytes === undefined) return undefined;
    const json: Json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    return json;
  }
}
