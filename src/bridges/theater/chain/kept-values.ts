import { type JsonObject, type ContentStore, isJsonObject, isList, type Json } from "../../../core/contract/index.ts";
import { MissingContent, loadValue, type WitValue } from "../../wasm/index.ts";
import { EVENT_BYTES, VALUE_BYTES } from "./told-lengths.ts";

const lengthOf = ({ length }: JsonObject): number => (typeof length === "number" ? length : Infinity);

/**
 * What one event's record kept, as far as it is told. What is left out follows from the lengths in the record alone, in its order,
 * whatever the content store still has: hashes depend on it.
 */
export class KeptValues {
  readonly #get: ContentStore["get"];
  #left = EVENT_BYTES;
  #out: string[] = [];

  constructor(get: ContentStore["get"]) {
    this.#get = get;
  }

  /** Undefined where its content was collected, is left out, or is no kept value. */
  async value(kept: Json | undefined): Promise<WitValue> {
    if (kept === undefined) return undefined;
    try {
      return await loadValue(await this.#within(kept), this.#get);
    } catch (error) {
      if (error instanceof MissingContent || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async values(kept: readonly Json[]): Promise<readonly WitValue[]> {
    const values: WitValue[] = [];
    for (const one of kept) values.push(await this.value(one));
    return values;
  }

  /** A piece of many host calls, or why it is not told. */
  async calls(apart: JsonObject): Promise<readonly Json[] | string> {
    const { digest } = apart;
    if (typeof digest !== "string") return "that are not kept";
    if (!this.#takes(digest, apart, EVENT_BYTES)) return `that are left out: ${digest} of ${lengthOf(apart)} bytes`;
    const calls = await this.#json(digest);
    return isList(calls) ? calls : "that are no longer kept";
  }

  /** What was left out since the last time, for a description; undefined: nothing. */
  note(): string | undefined {
    const [first, ...more] = this.#out;
    this.#out = [];
    return first === undefined ? undefined : `left out: ${first}${more.length === 0 ? "" : `, and ${more.length} more`}`;
  }

  /** A value that is kept as a whole has others kept apart within. */
  async #within(kept: Json): Promise<Json> {
    const apart = isJsonObject(kept) ? kept["kept"] : undefined;
    const digest = isJsonObject(apart) ? apart["digest"] : undefined;
    if (!isJsonObject(apart) || typeof digest !== "string") return this.#told(kept);
    if (!this.#takes(digest, apart)) return null;
    const whole = await this.#json(digest);
    return whole === undefined ? null : this.#told(whole);
  }

  /** Null in the place of what is left out. */
  #told(kept: Json): Json {
    if (isList(kept)) return kept.map((one) => this.#told(one));
    if (!isJsonObject(kept)) return kept;
    const { digest } = kept;
    if (typeof digest === "string") return this.#takes(digest, kept) ? kept : null;
    if (isJsonObject(kept["record"])) return { record: this.#fields(kept["record"]) };
    return "ok" in kept || "err" in kept ? this.#fields(kept) : kept;
  }

  #fields(bag: JsonObject): Json {
    return Object.fromEntries(Object.entries(bag).map(([name, one]) => [name, this.#told(one)]));
  }

  #takes(digest: string, apart: JsonObject, most = VALUE_BYTES): boolean {
    const length = lengthOf(apart);
    if (length <= most && length <= this.#left) {
      this.#left -= length;
      return true;
    }
    this.#out.push(`${digest} of ${length} bytes`);
    return false;
  }

  async #json(digest: string): Promise<Json | undefined> {
    const bytes = await this.#get(digest);
    if (bytes === undefined) return undefined;
    const json: Json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    return json;
  }
}
